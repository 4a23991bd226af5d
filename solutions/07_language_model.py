# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07 · A language model: what comes next?
#
# Take any text and hide what follows. Guess the next word, look, and be more or less surprised. A language model does
# nothing else, millions of times, and what it needs to know for that turns out to be a lot. In this notebook you make
# one: text becomes tokens, tokens become batches, layers become less and less surprised, and in the end they write.
#
# **You will be able to**
# - cut text into tokens by merging frequent pairs of bytes;
# - turn a stream of tokens into batches in which each token is a question once;
# - measure a language model so that the number means something, and say what it depends on;
# - train one within a minute on your own machine, and see it beat what counting can do;
# - let it write, and turn the three knobs that decide how;
# - say what is pretrained, what is a task, and what goes over from one to the other.
#
# **Time** about three and a half hours. **Before this** 02_masks, 03_positions and 05_parameters.

# %%
import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder import check, progress
from helpers import checkpoints, counting, decoding, finetune, layers, lm, models, parameters, positions, training
from helpers.figures import fine_tuning
from helpers.figures import language_model as figures
from helpers.text import bpe, imdb, sentences, tokenizer

# %% [markdown]
# ## 1 · Text is numbers already
#
# Every text on your disk is a row of bytes, numbers from 0 to 255, and UTF-8 says which letter they spell:

# %%
for text in ("film", "café", "日本"):
    print(text, list(text.encode()))

# %% [markdown]
# So one could give a model bytes. No text would be unknown to it, and the vocabulary would be tiny. But a review would
# be well over a thousand steps long, and attention pays for length with its square. Whole words make short texts, and a
# vocabulary that is never complete: there is always a name, a typo, a word nobody wrote before.
#
# **Byte-pair encoding** goes between the two (Sennrich et al. 2016, §3.2). Start with bytes. Find the two neighbours
# that stand side by side most often, and make a new token of them. Do it again, and again.

# %% [markdown]
# {{card tokens.most_frequent_pair}}


# %% tags=["exercise:tokens.most_frequent_pair"]
def most_frequent_pair(ids):
    """The pair that stands side by side most often in a list of ids; of equals, the one met first."""
    ### BEGIN SOLUTION
    counts = {}
    for i in range(len(ids) - 1):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return max(counts, key=counts.get)
    ### END SOLUTION


# %%
check("tokens.most_frequent_pair", most_frequent_pair)

# %% [markdown]
# Which pair is it in a real text? Here are two film reviews:

# %% tags=["explore"]
reviews = imdb()
ids = list("\n".join(reviews.train[:2]).encode())
pair = bpe.most_frequent_pair(ids)
print(f"{len(ids):,} bytes; most frequent: {pair}, which spells {bytes(pair).decode()!r}")

# %% [markdown]
# Now replace it by a new id. One detail is decided in advance: in *aaa* the pair *aa* stands at two places, but both
# cannot be merged. One goes from left to right, and a byte that has been used up is gone.

# %% [markdown]
# {{card tokens.merge}}


# %% tags=["exercise:tokens.merge"]
def merge(ids, pair, new_id):
    """A new list in which new_id stands for each pair, found from left to right without overlap."""
    ### BEGIN SOLUTION
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
    ### END SOLUTION


# %%
check("tokens.merge", merge)

# %% tags=["explore"]
shorter = bpe.merge(ids, pair, 256)
print(f"{len(ids):,} ids before, {len(shorter):,} after, and back again:", bpe.decode(shorter, [pair])[:48], "…")

# %% [markdown]
# That is all there is to it. The rest is repetition, and a list of what was merged. (You may use the two functions of
# `bpe` here, or your own.)

# %% [markdown]
# {{card tokens.train_bpe}}


# %% tags=["exercise:tokens.train_bpe"]
def train_bpe(text, n_merges):
    """Merge the most frequent pair of a text's bytes, and again: the list of pairs, in order, new ids from 256."""
    ### BEGIN SOLUTION
    ids, pairs = list(text.encode()), []
    while len(pairs) < n_merges and len(ids) > 1:
        pair = bpe.most_frequent_pair(ids)
        ids = bpe.merge(ids, pair, 256 + len(pairs))
        pairs.append(pair)
    return pairs
    ### END SOLUTION


# %%
check("tokens.train_bpe", train_bpe)

# %% [markdown]
# Nobody told it about English. Learn some merges from a dozen reviews and look what they do to a sentence that is not
# among them:

# %% tags=["explore"]
learned = bpe.train_bpe("\n".join(reviews.train[:12]), 300)
figures.merges("the dialogue was unbelievable and the acting was not", learned, (0, 10, 50, 300))

# %% [markdown]
# First come letters with a blank, then *the* and *was*, then endings such as *-ing*. What is frequent is one token;
# what is rare stays in pieces, which is all right: a model can learn what the pieces mean together.

# %% [markdown]
# ## 2 · The tokenizer that we use
#
# Our lists are slow: a text of millions of bytes, thousands of merges, each time all pairs counted anew. The library
# `tokenizers` does the same, with better bookkeeping. The course's own tokenizer was trained with it on the same
# reviews. It differs from yours in three small things: everything is in lower case, merges never cross the beginning of
# a word (the blank goes with the word after it), and between two reviews stands a special token, `<|end|>`.

# %% tags=["explore"]
weights, tokens, record = checkpoints.load("reviews")
names = [tokens.decode([i]) for i in range(tokens.get_vocab_size())]
for text in ("The dialogue was unbelievable.", "A Kaurismäki film 🎬", "<|end|>"):
    found = tokenizer.encode(tokens, [text])[1:-1].tolist()  # between the two END that stand around a text
    print(f"{len(found):2}", "|".join(names[i] for i in found))
print(f"{len(names):,} tokens")

# %% [markdown]
# A name falls into pieces, a picture into its bytes, and who writes `<|end|>` in a review ends nothing.
#
# All reviews become one long stream, in three parts: what the model learns from, what we may look at while we tune, and
# what is touched only at the end. No review, nor a near-copy of one, is in two of them. (The first time this takes half
# a minute; then the streams lie in a cache.)

# %% tags=["explore"]
corpus = tokenizer.corpus(tokens)
n_bytes = int(tokenizer.token_bytes(tokens)[corpus.test].sum())
print({part: f"{len(getattr(corpus, part)):,}" for part in ("train", "validation", "test")})
print(f"{n_bytes / len(corpus.test):.2f} bytes a token")

# %% [markdown]
# ## 3 · Questions and answers
#
# What is the training example of a language model? The text itself: each token is asked for the one that follows. A
# window of `context` tokens holds as many questions, and thanks to the causal mask of 02_masks all of them are answered
# in one pass.

# %% tags=["explore"]
pieces = [names[i] for i in corpus.train[1:26].tolist()]
figures.windows(pieces, batch_size=2, context=6)

# %% [markdown]
# Where a window ends the next begins, so no token is asked for twice. The last target of a window is the first input of
# the next one. That one token is where most mistakes happen.

# %% [markdown]
# {{card lm.batches}}


# %% tags=["exercise:lm.batches"]
def batches(ids, batch_size, context):
    """A stream ids (N,) as (inputs, targets), each (batch_size, context): in order, no overlap, remainder dropped."""
    ### BEGIN SOLUTION
    n = batch_size * context
    for start in range(0, len(ids) - n, n):
        inputs = ids[start : start + n].view(batch_size, context)  # (B, T)
        targets = ids[start + 1 : start + n + 1].view(batch_size, context)  # (B, T)
        yield inputs, targets
    ### END SOLUTION


# %%
check("lm.batches", batches)

# %% [markdown]
# ## 4 · How surprised is it?
#
# For each question the model gives a probability to every token of the vocabulary. It is not asked to name *the* next
# token, for there is no such thing: after *the film was* many words are right. What is measured is how much
# probability the true one got, as $-\ln p$: 0 if the model was sure of it, and large if it held it for nearly
# impossible. The unit is called a **nat**.

# %% [markdown]
# {{card lm.loss}}


# %% tags=["exercise:lm.loss"]
def loss(logits, targets):
    """Mean negative log-likelihood in nats: logits (B, T, V) and targets (B, T) → ()."""
    ### BEGIN SOLUTION
    nats = -logits.log_softmax(-1)  # (B, T, V)
    return nats.gather(-1, targets[..., None]).mean()
    ### END SOLUTION


# %%
check("lm.loss", loss)

# %% [markdown]
# A model that has learned nothing should hold all $V$ tokens for about equally likely. Predict its loss at $V = 4096$,
# then run:

# %%
torch.manual_seed(0)
untrained = models.LanguageModel(4096, 64, 4, 128, 2)
noise = torch.randint(4096, (4, 65))
with torch.no_grad():
    found = lm.loss(untrained(noise[:, :-1]), noise[:, 1:])
print(f"untrained {found:.2f}, ln V = {math.log(4096):.2f}")

# %% [markdown]
# Keep this number in mind: a training that begins far above it begins with a mistake.
#
# ### From nats to perplexity
#
# $e^{\text{loss}}$ is easier to imagine. It is the **perplexity**: as unsure as between so many tokens that are all
# equally likely. Losses come batch by batch, and the last batch is often shorter. It seems natural to take each batch's
# perplexity and average them. Does that matter? Here the same text is judged by the same model, cut in two ways:


# %% tags=["explore"]
def judged(model_table, text, size):
    """Mean loss and number of tokens of each piece with at most `size` predictions."""
    nats = -model_table[text[:-1], text[1:]].log().double()  # (N − 1,)
    return [float(p.mean()) for p in nats.split(size)], [len(p) for p in nats.split(size)]


table = lm.bigram(corpus.train, len(names))  # (V, V), what follows what: part 5
for size in (1000, 64):
    losses, lengths = judged(table, corpus.validation[:1100], size)
    each = [math.exp(x) for x in losses]
    print(f"pieces of {size:4}: mean of perplexities {sum(each) / len(each):6.1f}, ", end="")
    print(f"exp of the mean of means {math.exp(sum(losses) / len(losses)):6.1f}")

# %% [markdown]
# Nothing changed but where the scissors went, and both numbers moved. Neither can be a property of the model. What does
# not depend on the cut?

# %% [markdown]
# {{card lm.perplexity}}


# %% tags=["exercise:lm.perplexity"]
def perplexity(losses, n_tokens):
    """exp of the mean loss per token, from mean losses (nats) of batches and the number of tokens in each."""
    ### BEGIN SOLUTION
    total = sum(mean * n for mean, n in zip(losses, n_tokens, strict=True))
    return math.exp(total / sum(n_tokens))
    ### END SOLUTION


# %%
check("lm.perplexity", perplexity)

# %% tags=["explore"]
for size in (1000, 64, 7):
    print(f"pieces of {size:4}: {lm.perplexity(*judged(table, corpus.validation[:1100], size)):.1f}")

# %% [markdown]
# ## 5 · What counting can do
#
# Is a perplexity of 100 good? A number needs a neighbour. The simplest language model counts: after *of*, how often
# did *the* come? It is called a **bigram** model, since it knows pairs. What it never saw may still come, so one is
# added to every count (Laplace's rule); with a probability of 0 a single new pair would make the perplexity infinite.

# %% [markdown]
# {{card lm.bigram}}


# %% tags=["exercise:lm.bigram"]
def bigram(ids, vocab_size):
    """P(next | current) from a stream ids (N,), one added to every count: (V, V), a row for each current token."""
    ### BEGIN SOLUTION
    pairs = ids[:-1] * vocab_size + ids[1:]  # (N − 1,), a number for each pair
    counts = torch.bincount(pairs, minlength=vocab_size**2).view(vocab_size, vocab_size)  # (V, V)
    counts = counts + 1.0
    return counts / counts.sum(1, keepdim=True)
    ### END SOLUTION


# %%
check("lm.bigram", bigram)

# %% [markdown]
# What does it know? Here is what it expects after *film*, and what comes out if one always takes the likeliest token:

# %% tags=["explore"]
film = tokens.encode(" film").ids[0]
best = table[film].topk(5)
print("after film:", {names[int(i)]: round(float(p), 2) for p, i in zip(*best, strict=True)})
text = [film]
for _ in range(24):
    text.append(int(table[text[-1]].argmax()))
print(repr(tokenizer.decode(tokens, text)))

# %% [markdown]
# It walks in circles, as it must: whoever remembers one token only comes back to where it was. What if you draw by
# chance? And is more memory better? The **trigram** knows two tokens of history. Most pairs of tokens it has met
# rarely or never, so it is mixed with bigram and unigram, the weights chosen on the validation text (*interpolation*,
# Jelinek and Mercer 1980):

# %% tags=["explore", "nbval-ignore-output"]
dice = torch.Generator().manual_seed(2)
text = [film]
for _ in range(24):
    text.append(int(decoding.sample(table[text[-1]].log()[None], generator=dice)))
print(repr(tokenizer.decode(tokens, text)))

# %% tags=["explore"]
some = corpus.test[:6000]
trigram = lm.Trigram(corpus.train, len(names)).tuned(corpus.validation[:20_000])
counted = {"guessing": len(names), "bigram": lm.perplexity(*judged(table, some, 1000))}
counted["trigram"] = math.exp(trigram.nats(some))
print({name: round(value, 1) for name, value in counted.items()}, "weights", trigram.weights)

# %% [markdown]
# This is the bar. A network that stays above the bigram's line has learned nothing that a table does not know.

# %% [markdown]
# ## 6 · The model
#
# You have built all of it. Embeddings times $\sqrt{d_{model}}$ plus the sines of 03; the encoder layers of 05 under the
# causal mask of 02; at the end a head, from $d_{model}$ to one logit for each token of the vocabulary. It is the
# decoder of 2017 without a source to listen to (Liu et al. 2018; Radford et al. 2018, §3.1).

# %% [markdown]
# {{card lm.LanguageModel}}


# %% tags=["exercise:lm.LanguageModel"]
class LanguageModel(nn.Module):
    """Submodules embedding, encoder (a ModuleList of layers.EncoderLayer) and head; ids (B, T) → logits (B, T, V).

    layers.EncoderLayer(d_model, n_heads, d_ff) and positions.SinusoidalPositions(d_model) may be used.
    """

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = positions.SinusoidalPositions(d_model)
        self.encoder = nn.ModuleList(layers.EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.head = nn.Linear(d_model, vocab_size)
        self.scale = d_model**0.5
        ### END SOLUTION

    def forward(self, ids):
        ### BEGIN SOLUTION
        n = ids.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()  # (T, T)
        x = self.positions(self.embedding(ids) * self.scale)  # (B, T, D)
        for layer in self.encoder:
            x = layer(x, causal)
        return self.head(x)  # (B, T, V)
        ### END SOLUTION


# %%
check("lm.LanguageModel", LanguageModel)

# %% [markdown]
# Two things should be true of it whatever its weights are. It has as many parameters as you counted in 05, and nothing
# moves before its cause: exchange one input, and only outputs from there on may change.

# %%
sizes = {"vocab_size": 50, "d_model": 24, "n_heads": 3, "d_ff": 48, "n_layers": 2}
model = models.LanguageModel(**sizes)
print(f"by the formula {parameters.language_model(**sizes):,}, counted {sum(counting.count(model)):,}")

# %% tags=["explore"]
figures.perturbed(model, torch.randint(50, (1, 9)))

# %% [markdown]
# And batch mates? They are computed together, but never look at each other:

# %%
rows = torch.randint(50, (3, 7))  # (B, T)
with torch.no_grad():
    apart = (model(rows)[1] - model(rows[1:2])[0]).abs().max()
print("a text alone and in a batch: the same", bool(apart < 1e-5))

# %% [markdown]
# ## 7 · One step of training
#
# Forget the old gradients, compute new ones, take a step. Two refinements are used in nearly every training run of a
# Transformer:
#
# - **Clipping.** Now and then a batch has a huge gradient, and one such step can undo hours. So all gradients together
#   are seen as one long vector, and if it is longer than `max_norm` it is shortened to that; its direction stays
#   (Pascanu et al. 2013, §3.2).
# - **Accumulation.** A large batch may not fit into memory. So it goes through the model in parts, whose gradients add
#   up, and only then comes the step. If each part counts by its share of the rows, the step is the very same.

# %% [markdown]
# {{card lm.train_step}}


# %% tags=["exercise:lm.train_step"]
def train_step(model, batch, optimizer, max_norm, accumulate):
    """One step on batch = (inputs, targets), (B, T) each, in `accumulate` parts along B, gradients clipped."""
    ### BEGIN SOLUTION
    inputs, targets = batch
    optimizer.zero_grad()
    for x, y in zip(inputs.tensor_split(accumulate), targets.tensor_split(accumulate), strict=True):
        mean = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        (mean * len(x) / len(inputs)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    ### END SOLUTION


# %%
check("lm.train_step", train_step)

# %% [markdown]
# The very same? Seven rows in one part, in three uneven ones and in seven, each from the same start:

# %%
batch = torch.randint(50, (7, 9)), torch.randint(50, (7, 9))  # (B, T) each
ends = []
for parts in (1, 3, 7):
    torch.manual_seed(0)
    model = models.LanguageModel(**sizes)
    training.train_step(model, batch, torch.optim.SGD(model.parameters(), 1.0), 0.5, parts)
    ends.append(nn.utils.parameters_to_vector(model.parameters()))
print("same weights after the step:", all(torch.allclose(ends[0], end, atol=1e-5) for end in ends))

# %% [markdown]
# Before any long run, there is a question that costs a second: can the model learn *one batch* by heart? If not,
# something is broken, and no amount of data will mend it.

# %% tags=["explore", "nbval-ignore-output"]
torch.manual_seed(0)
figures.one_batch(models.LanguageModel(**sizes), batch)

# %% [markdown]
# These tokens are pure noise: there is nothing to understand in them, and still the loss falls. It shows that the
# machinery works, and that a falling training loss shows no more than that.

# %% [markdown]
# ## 8 · Writing
#
# A model gives probabilities; a text needs one token, then another. The likeliest each time? You saw what comes of it.
# By pure chance? Then once in a while a token from far down is drawn, and a text does not recover from nonsense. Three
# knobs stand between:
#
# - **temperature**: divide the logits by it; below 1 the model becomes surer, above 1 less sure;
# - **top-k**: keep the $k$ likeliest tokens (Fan et al. 2018, §5.4);
# - **top-p**, or nucleus: keep the fewest tokens whose chances reach $p$, so many where the model is unsure, few where
#   it is sure (Holtzman et al. 2020, §3.1).
#
# Here is what the bigram expects after *the*, under each of them:

# %% tags=["explore"]
the = tokens.encode(" the").ids[0]
figures.sampling(table[the], names)

# %% [markdown]
# Outlines are what was there before. Look how many tokens are left, and how much chance lies beyond the picture.

# %% [markdown]
# {{card lm.sample}}


# %% tags=["exercise:lm.sample"]
def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """One token for each row of logits (B, V) → (B,): temperature, then top-k, then top-p, then by chance."""
    ### BEGIN SOLUTION
    ranked, order = (logits / temperature).sort(-1, descending=True)  # (B, V) each
    if top_k is not None:
        ranked[:, top_k:] = -math.inf
    chances = ranked.softmax(-1)  # (B, V)
    if top_p is not None:
        before = chances.cumsum(-1) - chances  # (B, V), what is likelier
        chances = chances.masked_fill(before >= top_p, 0)
    place = torch.multinomial(chances, 1, generator=generator)  # (B, 1)
    return order.gather(-1, place)[:, 0]  # (B,)
    ### END SOLUTION


# %%
check("lm.sample", sample)

# %% [markdown]
# Turn the knobs. With top_p at 0.5, after which of these words is a single token left, and after which a hundred?

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.language_model import sampling_explorer

words = (" film", " the", " of", " very", " don")
sampling_explorer({w.strip(): table[tokens.encode(w).ids[0]].log() for w in words}, names)

# %% [markdown]
# ## 9 · A minute of reading
#
# Everything is there: tokens, batches, a model, a step, a measure, a rival. Now let it read. The model is small, the
# text a million tokens of reviews, and the rival is the bigram counted on *the same* million, so that neither has seen
# more than the other. One thing differs from part 6: layers norm *before* their parts, the pre-norm of 05, which learns
# faster at the start, and in a minute there is nothing but start.

# %% tags=["explore"]
from helpers.experiments import live

chosen, text = live.settings, live.texts()
print(chosen)
print(f"{sum(counting.count(live.model())):,} parameters, {len(text.train):,} tokens to read")
print(f"bigram counted on these tokens: held-out perplexity {math.exp(float(text.bigram.double().mean())):.0f}")

# %% [markdown]
# You answer this exercise with a file. Train the model, and `hand_in` writes its weights beside the notebook. The
# grader never runs your training: it loads the weights into a model of its own, measures it on text of its own, and
# counts the bigram itself. So train as often and in whatever way you like; what counts is what the model can do.
#
# `training.train` is the loop around the step of part 7: the learning rate rises and falls again, gradients are
# clipped, and a curve is drawn while you wait. `training.windows_at` cuts random windows, a batch for each step. Or
# write a loop of your own.

# %% [markdown]
# {{card lm.pretrain}}


# %% tags=["exercise:lm.pretrain", "explore", "nbval-ignore-output"]
def pretrain(model, ids):
    """Train the model on a stream ids (N,), and return it."""
    ### BEGIN SOLUTION
    batch_at = training.windows_at(ids, chosen.batch_size, chosen.context, chosen.seed)
    watched = corpus.validation[:2000]  # to look at, not to learn from

    def perplexity(model):
        return math.exp(lm.held_out(model, watched, chosen.context))

    training.train(model, batch_at, chosen.plan, evaluate=perplexity, title="reading reviews")
    return model
    ### END SOLUTION


torch.manual_seed(chosen.seed)
small = live.model()
_ = checkpoints.hand_in(lambda: pretrain(small, text.train), "lm.pretrain")

# %% tags=["nbval-ignore-output"]
check("lm.pretrain", "lm.pretrain.safetensors")

# %% [markdown]
# On the right is perplexity on text that it does not learn from. Before the first step it was near $V$, like that of
# any untrained model; the first point is after 50. First the model learns which tokens are frequent at all, and the
# curve falls steeply; then, more slowly, what goes with what, and it passes the bigram. It has not come to an end: more
# steps, more text and more layers all help.

# %% [markdown]
# ## 10 · The same, with more of everything
#
# A larger model of the same kind has read all of IMDB's reviews, many times over, on a GPU. Its weights lie with the
# course, and the record beside them says how it was made, so anybody can make it again:

# %% tags=["explore"]
made = record["settings"]
print(record["command"], "·", f"{made['steps']:,} steps of {made['batch_size']} windows of {made['context']} tokens")
print(f"{record['seconds'] / 60:.1f} minutes on one GPU")
shape = [made[name] for name in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers")]
large = models.LanguageModel(*shape)
large.load_state_dict(weights)
print(f"{sum(counting.count(large.eval())):,} parameters in {made['n_layers']} layers")

# %% tags=["explore"]
fine_tuning.pretraining(record)

# %% [markdown]
# ### A perplexity of what?
#
# One number, and it is quoted everywhere. But the model reads windows, and somebody chose how long they are. The
# **stride** says how far apart windows begin: if it is shorter than the window, each token is judged once, by the first
# window that holds it, and most have something before them. Predict: which of these change the number, the size of the
# batch, the length of the window, the stride?

# %% tags=["explore"]
some = corpus.test[:6000]
found = {}
cuts = ((256, 256, 8), (256, 256, 3), (256, 128, 8), (64, 64, 8), (16, 16, 8))
for context, stride, batch_size in cuts:
    found[context, stride] = lm.held_out(large, some, context, stride, batch_size)
    cut = f"windows of {context:3}, stride {stride:3}, {batch_size} at a time"
    print(f"{cut}: perplexity {math.exp(found[context, stride]):.2f}")

# %% [markdown]
# How windows are batched is nobody's business, and it changes nothing. How much the model may read is another matter.
# Here is its loss by the place in the window (bars are two standard errors):

# %% tags=["explore"]
figures.by_position(large, corpus.test[:16_000], 256)

# %% [markdown]
# At the start of each window the model is blind, and short windows start often. So a perplexity is told with its
# window and stride, or it is no number at all. (So never compare yours with one whose windows you do not know.)
#
# ### Bits per byte
#
# It depends on the tokenizer, too. Here is the simplest model again, a bigram, but one that reads letter by letter:
# bytes in place of tokens, counted in the same reviews, judged on the same text. Predict its perplexity, and whether it
# is the better model:

# %% tags=["explore"]
some_bytes = torch.tensor(list(tokenizer.decode(tokens, some).encode()))  # (N,)
read_bytes = torch.tensor(list(tokenizer.decode(tokens, corpus.train[:500_000]).encode()))
spelled = lm.perplexity(*judged(lm.bigram(read_bytes, 256), some_bytes, 1000))
print(f"bigram of bytes: perplexity {spelled:.1f}; bigram of tokens {counted['bigram']:.1f}")

# %% [markdown]
# Far lower than anything you have seen today, from a model that knows one letter. Small pieces are easy to guess, there
# are just more of them. What both models have in common is the text: so add up the surprise over *all* of it, in bits,
# and divide by its bytes. That compares any two models, and it is what a compression program would need.

# %% tags=["explore"]
size = int(tokenizer.token_bytes(tokens)[some[1:]].sum())  # bytes of text
measured = {
    "bigram of tokens": counted["bigram"],
    "trigram": counted["trigram"],
    "the model": math.exp(found[256, 256]),
}
print(f"bigram of bytes : {lm.bits_per_byte(math.log(spelled), 1, 1):.2f} bits per byte")
for name, value in measured.items():
    print(f"{name:16}: {lm.bits_per_byte(math.log(value), len(some) - 1, size):.2f} bits per byte")

# %% [markdown]
# Now the order is the one that you would expect. Among models with the same tokens perplexity will do, and for the
# record, here is the margin on the whole of the test text:

# %% tags=["explore"]
whole = record["test"][0]
print(f"all of the test text, windows of {whole['context']}: perplexity {whole['perplexity']:.1f}")
for name, reached in record["baselines"].items():
    less = 1 - whole["perplexity"] / reached["perplexity"]
    print(f"{less:.0%} below the {name}'s {reached['perplexity']:.1f}")

# %% [markdown]
# Both baselines learned from the same text, with the same tokens. What the network adds is what lies further back than
# two tokens, and that it treats similar words alike, where a table has to see each of them for itself.

# %% [markdown]
# ### Let it write


# %% tags=["explore"]
@torch.no_grad()
def write(model, start, n_tokens=45, seed=0, **knobs):
    """Continue a text; a review begins after END."""
    ids, dice = torch.tensor([[tokenizer.END_ID, *tokens.encode(start).ids]]), torch.Generator().manual_seed(seed)
    for _ in range(n_tokens):
        token = decoding.sample(model(ids)[:, -1], generator=dice, **knobs)  # (1,)
        ids = torch.cat([ids, token[:, None]], 1)  # (1, T + 1)
    return tokenizer.decode(tokens, ids[0])


# %% tags=["explore", "nbval-ignore-output"]
for name, model in {"a minute of reading": small.eval(), "the checkpoint": large}.items():
    print(f"== {name} ==")
    for knobs in ({"top_k": 1}, {"temperature": 1.0}, {"temperature": 0.8, "top_p": 0.9}):
        print(knobs, "→", write(model, "this film", **knobs), "\n")

# %% [markdown]
# Whoever has read for a minute knows words and their neighbours, and loses the thread at once. The larger model keeps a
# sentence together. Its likeliest text goes round in circles, wider ones than the bigram's; pure chance is bold and
# slips; the third lies between. And it has never seen a film: it knows what reviews sound like.

# %% [markdown]
# ## 11 · What is it good for?
#
# Hardly anybody needs more film reviews. But to guess what comes after *the plot was thin and the acting*, it helps to
# have noticed that somebody is unhappy. What if one took the head off, and asked the body another question: is this
# praise or blame?
#
# This goes by many names. Sometimes it is called a *style transfer*, since something is transferred and there is text.
# Let us see what really goes over. Predict which entries of the classifier will equal those of the language model:

# %% tags=["explore"]
classifier = finetune.load_body(models.Classifier(*shape, n_classes=2), weights)
same = [name for name, w in classifier.state_dict().items() if name in weights and w.equal(weights[name])]
print(f"{len(same)} entries as in the language model; others:", sorted(set(classifier.state_dict()) - set(same)))
ids = torch.tensor([tokens.encode("a thin plot").ids])  # (1, T)
print("language model", tuple(large(ids).shape), "· classifier", tuple(classifier(ids).shape))

# %% [markdown]
# All weights but the head's go over. No text is restyled, in fact no text comes out any more: where there was a
# distribution over the vocabulary for each token, now there are two numbers for the whole text. Is what went over worth
# something? Here both bodies stay as they are, and the simplest linear classifier reads from them. It sees a few
# hundred sentences that somebody has labelled:

# %% tags=["explore", "nbval-ignore-output"]
from random import Random

labelled = sentences()
train, test = Random(0).sample(labelled.train, 500), Random(0).sample(labelled.test, 250)
torch.manual_seed(0)
bodies = {"an untrained body": models.Classifier(*shape, n_classes=2), "the pretrained body": classifier}
figures.transfer(bodies, tokens, train, test)

# %% [markdown]
# Nobody told the body what praise is. It read reviews, and the rest came with it. How far one gets with this is the
# subject of 08_fine_tuning. What to call it, you can say now:

# %% [markdown]
# {{card lm.objective_or_task}}


# %% tags=["exercise:lm.objective_or_task"]
def objective_or_task():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "pretraining objective": "next token",
        "pretraining output": "(B, T, V)",
        "pretraining data": "raw text",
        "task objective": "label",
        "task output": "(B, C)",
        "task data": "labelled text",
        "name": "transfer learning",
    }
    ### END SOLUTION


# %%
check("lm.objective_or_task", objective_or_task)

# %% [markdown]
# ## What you can do now
#
# - Train a byte-pair tokenizer by hand, and say what it does to words it never met.
# - Cut a stream into batches without losing a token or asking one twice.
# - Measure perplexity so that it does not depend on the scissors, and state it with window and stride; compare models
#   with different tokenizers in bits per byte.
# - Say what a model adds to counting, by how much, on the same text.
# - Build, check and train a causal language model, and let it write with three knobs.
# - Tell an objective from a task, and name what goes over from one to the other.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Sennrich et al. 2016, *Neural Machine Translation of Rare Words with Subword Units*, §3.2: byte-pair encoding;
#   Radford et al. 2019, *Language Models are Unsupervised Multitask Learners*, §2.2: on bytes.
# - Shannon 1951, *Prediction and Entropy of Printed English*: people guess the next letter.
# - Radford et al. 2018, *Improving Language Understanding by Generative Pre-Training*, §3: pretrain, then fine-tune.
# - Holtzman et al. 2020, *The Curious Case of Neural Text Degeneration*, §3: why the likeliest text is a dull one.
# - Pascanu et al. 2013, *On the difficulty of training recurrent neural networks*, §3.2: clipping.
#
# **Next** is 08_fine_tuning: the body that has read reviews learns to judge them.
