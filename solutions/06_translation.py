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
# # 06 · Translation: one sentence listens to another
#
# *The red car* is *la voiture rouge*: other words, more of them or fewer, in another order, and they agree with each
# other in ways that English never asked for. The Transformer was made for this. Everything that it consists of you have
# built in the notebooks before; here it gets to work. You train a translator while you watch, let it speak, look at
# what it listens to, and find out what is wrong with five that do not work.
#
# **You will be able to**
# - prepare pairs of sentences so that a decoder learns to say what comes next, and not to repeat it;
# - measure the loss of words and not of padding, and choose a learning rate that warms up;
# - train a translator in a minute, and measure it with BLEU on sentences that it cannot know by heart;
# - write greedy decoding and beam search, and say what each of them finds;
# - read the attention of a translator as an alignment of words;
# - tell five real faults from each other by experiments, where the loss tells nothing.
#
# **Time** about three and a half hours. **Before this** 02_masks and 05_parameters.

# %%
import json
from functools import partial

import torch

from autograder import check, progress
from helpers import attention_maps, checkpoints, counting, decoding, suspects, training, translation, translator
from helpers.experiments import small_translator
from helpers.figures import translation as figures
from helpers.kv_cache import Cached
from helpers.text.translation import BOS, EOS, PAD, batches_at, source_ids, target_ids, text

# %% [markdown]
# ## 1 · Pairs
#
# A translator learns from sentences that somebody translated. To begin with we write them ourselves: a small grammar
# makes everyday English sentences and their French, and takes care that articles, adjectives and participles agree.

# %% tags=["explore"]
parts = small_translator.pairs()
print({part: f"{len(getattr(parts, part)):,}" for part in ("train", "validation", "test")}, "pairs")
for english, french in parts.train[:6]:
    print(f"{english:55} {french}")

# %% [markdown]
# What should such a model be tested on? Not on its training sentences, that is clear. But sentences that merely differ
# a little from those are hardly better: who has met *she opens the door* and *he opens the door* a hundred times
# has seen *we open the door*, too. So some verbs never meet some of their objects in training. The test part is made
# of these combinations alone:

# %% tags=["explore"]
for english, french in parts.test[:4]:
    print(f"{english:55} {french}")
known = {english for english, _ in parts.train}
print("test sentences that are in the training part:", sum(english in known for english, _ in parts.test))

# %% [markdown]
# ### One vocabulary for both languages
#
# Both languages are cut into the same kind of tokens as in 07_language_model, learned from both together: *table* and
# *restaurant* need no translation, and names neither. Four ids have a meaning of their own.

# %% tags=["explore"]
tokens = small_translator.tokenizer()
source = source_ids(tokens, [english for english, _ in parts.train])  # (N, S)
target = target_ids(tokens, [french for _, french in parts.train])  # (N, T)
print("PAD", PAD, "· BOS", BOS, "· EOS", EOS, "·", f"{tokens.get_vocab_size()} tokens in all")
for ids in (source[3], target[3]):
    print(" ".join(tokens.id_to_token(i) for i in ids.tolist()))

# %% [markdown]
# `▁` is the blank before a word. BOS says "begin", EOS says "that was it", and PAD fills a row up to the length of the
# longest, so that a batch is a rectangle.

# %% [markdown]
# ## 2 · Read what was, say what is next
#
# At each place the decoder predicts one token. What may it have read by then? All that stand before it, and nothing
# else. While training we know the whole sentence, so we can ask all places at once, provided that each reads its own
# past: the causal mask hides what comes later, and the input is the target *moved by one place*. Before the first word
# stands BOS.

# %% tags=["explore"]
row = target[2]  # (T,)
pieces = [tokens.id_to_token(i) for i in row[row != PAD].tolist()]
figures.shifted(pieces[:-1], pieces[1:])

# %% [markdown]
# This is called **teacher forcing**: the decoder reads what a person said, also where it would have said something
# else. Given is what it is to say, `ids`; you make what it reads.

# %% [markdown]
# {{card translation.shift_right}}


# %% tags=["exercise:translation.shift_right"]
def shift_right(ids, bos_id):
    """What the decoder reads to predict ids (B, T), the same shape: BOS first, then all but the last column."""
    ### BEGIN SOLUTION
    first = torch.full_like(ids[:, :1], bos_id)  # (B, 1)
    return torch.cat([first, ids[:, :-1]], dim=1)  # (B, T)
    ### END SOLUTION


# %%
check("translation.shift_right", shift_right)

# %% [markdown]
# A single place decides between a task and no task at all: whoever reads what he is to say need not know any French.
# You will meet a model of that kind at the end.

# %% [markdown]
# ## 3 · What a batch costs
#
# The loss is that of a language model, mean cross-entropy, with two details.
#
# **Padding.** How much of a batch is padding? Here are 64 pairs as they come, and 64 of like lengths:

# %% tags=["explore"]
batch_at = batches_at(source, target, 64)
as_they_come, alike = target[:64], batch_at(0)[1]  # (B, T) each
as_they_come = as_they_come[:, : int((as_they_come != PAD).sum(1).max())]
for name, ids in (("as they come", as_they_come), ("of like lengths", alike)):
    print(f"{name:16} {tuple(ids.shape)}, {float((ids == PAD).float().mean()):.0%} padding")

# %% [markdown]
# If pads count, a model is praised for every pad that it predicts after the end, which is easy, and a batch with more
# padding looks better. So only real tokens count: in the sum, and in what one divides by.
#
# **Smoothing.** There is hardly ever one right word: *big* is *grand* or *gros*. A target of exactly 1 for one token
# asks for logits without bound. *Label smoothing* (Szegedy et al. 2016, §7) gives the right token $1-\varepsilon$,
# and shares $\varepsilon$ equally among all $V$. Predict: with $\varepsilon = 0.1$, what is the lowest loss that
# anybody can reach?

# %% tags=["explore"]
vocab_size = tokens.get_vocab_size()
for smoothing in (0.0, 0.1, 0.3):
    shares = torch.full((vocab_size,), smoothing / vocab_size)
    shares[0] += 1 - smoothing
    entropy = -(shares * shares.clamp(min=1e-30).log()).sum()
    print(f"smoothing {smoothing}: no loss is below {abs(entropy):.2f} nats")

# %% [markdown]
# The floor is the entropy of the target itself. So losses with and without smoothing cannot be compared, and 0 is no
# longer the aim. Perplexity suffers from smoothing, translations gain (Vaswani et al. 2017, §5.4).

# %% [markdown]
# {{card translation.loss}}


# %% tags=["exercise:translation.loss"]
def loss(logits, targets, pad_id, smoothing):
    """Mean smoothed cross-entropy in nats over the real tokens: logits (B, T, V), targets (B, T) → ()."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(-1)  # (B, T, V)
    right = log_p.gather(-1, targets[..., None])[..., 0]  # (B, T)
    per_token = (1 - smoothing) * right + smoothing * log_p.mean(-1)  # (B, T)
    return -per_token[targets != pad_id].mean()
    ### END SOLUTION


# %%
check("translation.loss", loss)

# %% [markdown]
# ## 4 · Warm up
#
# The paper's learning rate has a formula of its own (§5.3):
#
# $$\text{rate} = d_{model}^{-1/2} \cdot \min(\text{step}^{-1/2},\ \text{step} \cdot \text{warmup}^{-3/2})$$
#
# What does it look like? Which of the two terms counts first, where do they meet, and what does a wider model change?
# Draw it on paper before you go on.

# %% tags=["explore"]
figures.learning_rates([(512, 4000), (512, 8000), (128, 4000)])

# %% [markdown]
# At the start the weights are random, gradients point anywhere, and Adam has seen too few of them to know their size;
# so steps begin small. Later on, ever smaller steps settle what was found.

# %% [markdown]
# {{card translation.learning_rate}}


# %% tags=["exercise:translation.learning_rate"]
def learning_rate(step, d_model, warmup):
    """The paper's learning rate at a step that counts from 1."""
    ### BEGIN SOLUTION
    rising = step / warmup**1.5
    falling = 1 / step**0.5
    return min(rising, falling) / d_model**0.5
    ### END SOLUTION


# %%
check("translation.learning_rate", learning_rate)

# %% tags=["explore"]
for warmup in (400, 4000, 40_000):
    print(f"warmup {warmup:6,}: highest rate {translation.learning_rate(warmup, 512, warmup):.1e}")

# %% [markdown]
# One knob moves two things at once: a longer warm-up also means a lower peak, $1/\sqrt{d_{model} \cdot warmup}$.
# Today most people keep the warm-up and choose the peak by itself, and often another way down: below, the rate falls
# like half a wave of the cosine.

# %% [markdown]
# ## 5 · Saying something: the likeliest word
#
# A trained model knows, for each beginning, how likely each next token is. To translate, one has to begin with BOS and
# go on. The simplest way is **greedy**: take the likeliest token, append it, ask again, until EOS comes. In a batch
# sentences end at different times; those that have ended wait, filled with EOS.

# %% [markdown]
# {{card translation.greedy}}


# %% tags=["exercise:translation.greedy"]
def greedy(model, source, bos_id, eos_id, max_len):
    """The likeliest token at each step: source (B, S) → ids (B, n ≤ max_len) without BOS, EOS after the end."""
    ### BEGIN SOLUTION
    n_rows = source.shape[0]
    said = torch.full_like(source[:, :1], bos_id)  # (B, 1)
    done = [False] * n_rows
    with torch.no_grad():
        while said.shape[1] <= max_len and not all(done):
            best = model(source, said)[:, -1].argmax(-1).tolist()
            best = [eos_id if done[i] else best[i] for i in range(n_rows)]
            done = [token == eos_id for token in best]
            said = torch.cat([said, said.new_tensor(best).view(-1, 1)], dim=1)  # (B, 1 + n)
    return said[:, 1:]  # (B, n)
    ### END SOLUTION


# %%
check("translation.greedy", greedy)

# %% [markdown]
# Mind what has changed since training. There the decoder read what a person had said; here it reads what *it* said. A
# wrong word is not corrected by anybody, and the next word is built on it.

# %% [markdown]
# ## 6 · A minute of French
#
# Now train one. It is a Transformer as in 05_parameters, small enough for one minute on your machine:

# %% tags=["explore"]
chosen = small_translator.settings
print(chosen)
print(f"{sum(counting.count(small_translator.model())):,} parameters, one matrix for both languages and the head")

# %% [markdown]
# How good is it? Losses do not tell what comes out when it speaks, so we translate held-out sentences and compare them
# with a reference. **BLEU** (Papineni et al. 2002) counts how many runs of one, two, three and four words of the output
# are in the reference, and punishes what is too short. It goes from 0 to 100; 100 is word for word the same. It has
# many dialects, so numbers are compared only if the same program counted them: here that is sacrebleu (Post 2018).
#
# And what is a good BLEU? Again a number needs a neighbour. Ours is a dictionary, counted in the same pairs: each
# English word is replaced by the French word that keeps it company most faithfully.

# %% tags=["explore"]
held_out = parts.test
english, references = [e for e, _ in held_out], [[f] for _, f in held_out]
literal = small_translator.word_by_word(english)
for e, (f,), said in list(zip(english, references, literal, strict=True))[:4]:
    print(f"{e}\n    word by word: {said}\n    reference:    {f}")
print(f"BLEU of word by word, {len(english)} sentences: {translator.bleu(literal, references):.1f}")

# %% [markdown]
# It knows the words. It knows nothing of who agrees with whom, nor in which order.
#
# You answer the exercise with a file. Train the model, and `hand_in` writes its weights beside the notebook. The grader
# loads them into a model of its own, and lets it translate sentences of its own. `batches_at` gives shifted batches of
# like lengths, a step at a time; `training.train` is the loop of 07_language_model. Or write one of your own, with your
# own loss and your own learning rate.

# %% [markdown]
# {{card translation.train}}


# %% tags=["exercise:translation.train", "explore", "nbval-ignore-output"]
def train(model, source, target):
    """Train the model on pairs of ids (N, S) and (N, T), and return it."""
    ### BEGIN SOLUTION
    watched = parts.validation[:60]  # to look at, not to learn from

    def bleu(model):
        said = translator.translate(model, tokens, [english for english, _ in watched])
        return translator.bleu(said, [[french] for _, french in watched])

    batch_at = batches_at(source, target, chosen.batch_size, chosen.seed)
    smoothed = partial(training.summed_loss, smoothing=chosen.smoothing)
    training.train(model, batch_at, chosen.plan, smoothed, bleu, title="learning French")
    return model
    ### END SOLUTION


torch.manual_seed(chosen.seed)
small = small_translator.model()
_ = checkpoints.hand_in(lambda: train(small, source, target), "translation.train")

# %% tags=["nbval-ignore-output"]
check("translation.train", "translation.train.safetensors")

# %% tags=["explore", "nbval-ignore-output"]
said = translator.translate(small.eval(), tokens, english)
for e, (f,), mine in list(zip(english, references, said, strict=True))[:6]:
    print(f"{e}\n    {mine}" + ("" if mine == f else f"\n    reference: {f}"))
same = sum(mine == f for mine, (f,) in zip(said, references, strict=True)) / len(said)
print(f"BLEU {translator.bleu(said, references):.1f}; {same:.0%} are word for word the reference")

# %% [markdown]
# Another seed would have drawn other first weights and put the pairs in another order. How much of your number is
# chance? Here are three runs that differ in their seeds alone, the first with the seed of part 6, recorded by this
# command:

# %% tags=["explore"]
recorded = json.loads((checkpoints.HERE / "small_translator.json").read_text("utf-8"))
print(recorded["command"])
for one in recorded["runs"]:
    print(f"seed {one['seed']}: BLEU {one['bleu']:.1f}, {one['cpu_seconds']:.0f} s of one core")
scores = [one["bleu"] for one in recorded["runs"]]
print(f"from {min(scores):.1f} to {max(scores):.1f}, all after {recorded['settings']['steps']} steps")

# %% [markdown]
# What ends the training is a count of steps, not a clock: on a slower machine it takes longer and gets as far. And a
# difference that is no larger than this spread says nothing. Whoever compares two recipes trains each with several
# seeds, as you will in 08_fine_tuning.

# %% [markdown]
# Compare this with word by word: the order is French now, *ne* and *pas* stand around the verb, pronouns before it. And
# what is still wrong? Look for articles and adjectives of the wrong gender, for words that were rare, and for sentences
# that get stuck. Then look at the curves again: the loss falls from the first step on, while BLEU stays near 0 for a
# while, since a run of four words is right only if all of them are.

# %% [markdown]
# ## 7 · More than one hypothesis
#
# Greedy never looks back. Suppose that the likeliest first word leads to sentences that are all unlikely; then it has
# lost already. **Beam search** keeps several hypotheses, `width` of them. At each step all their continuations compete,
# and the best `width` go on. Predict: will it always find a likelier sentence than greedy?
#
# One thing is to be decided. The log-probability of a sentence is a sum of negative numbers, so every further word
# makes it worse, and short sentences win. So one divides by the length, to the power of $\alpha$: nothing at 0, the
# mean at 1.

# %% [markdown]
# {{card translation.beam}}


# %% tags=["exercise:translation.beam"]
def beam(model, source, bos_id, eos_id, max_len, width, alpha):
    """Beam search for one source (1, S): ids (1, n) without BOS, and log-probability / n ** alpha."""
    ### BEGIN SOLUTION
    going, done = [(0.0, [bos_id])], []
    while going:
        said = torch.tensor([ids for _, ids in going], device=source.device)  # (W, 1 + n)
        with torch.no_grad():
            log_p = model(source.repeat(len(going), 1), said)[:, -1].log_softmax(-1)  # (W, V)
        sums = log_p + log_p.new_tensor([total for total, _ in going])[:, None]  # (W, V)
        top = sums.flatten().topk(min(width - len(done), sums.numel()))
        chosen = [divmod(i, sums.shape[1]) for i in top.indices.tolist()]
        grown = [(s, [*going[w][1], token]) for s, (w, token) in zip(top.values.tolist(), chosen, strict=True)]
        going = [one for one in grown if one[1][-1] != eos_id and len(one[1]) <= max_len]
        done += [one for one in grown if one not in going]
    scores = [total / (len(ids) - 1) ** alpha for total, ids in done]
    best = scores.index(max(scores))
    return torch.tensor([done[best][1][1:]], device=source.device), scores[best]  # (1, n)
    ### END SOLUTION


# %%
check("translation.beam", beam)

# %% [markdown]
# Is a wider beam likelier, and is a likelier sentence better? We ask a model that has seen more of the world.

# %% [markdown]
# ## 8 · The same, with real sentences
#
# Tatoeba is a collection of sentences that volunteers translate. A larger model of the same kind has learned from them
# on a GPU, and its weights lie with the course, with the record of how they were made:

# %% tags=["explore"]
large, real_tokens, record = translator.load("tatoeba")
print(record["command"])
minutes = record["seconds_training"] / 60
print(f"{record['pairs']:,} pairs, {record['weights']:,} weights, {minutes:.0f} minutes of training")
test = record["test"]
print(f"test: BLEU {test['greedy']:.1f}, greedily, on {test['sentences']:,} sentences")
some = dict(test["some"])
print(f"of {some.pop('sentences'):,} of them:", {name: round(value, 1) for name, value in some.items()})

# %% tags=["explore"]
figures.curve(record)

# %% [markdown]
# No English sentence of the test is in the training part. Still these numbers are for short, everyday sentences; on
# newspapers the same model would be lost. Several people's translations count as right; against the first alone, the
# same output is worth less:

# %% tags=["explore"]
print(f"all references {test['greedy']:.1f}, the first alone {test['greedy, first reference alone']:.1f}")

# %% [markdown]
# Beam search gains about a point. Where does it come from? Here are sentences for which it says something else than
# greedy, with the score of both that the search compares, log-probability / length ** 0.6:


# %% tags=["explore"]
def score(english, french, alpha=0.6):
    """Log-probability of a translation / length ** alpha, EOS included."""
    heard, spoken = source_ids(real_tokens, [english]), target_ids(real_tokens, [french])  # (1, S), (1, T + 1)
    with torch.no_grad():
        log_p = large(heard, spoken[:, :-1]).log_softmax(-1)  # (1, T, V)
    each = log_p.gather(-1, spoken[:, 1:, None])  # (1, T, 1)
    return float(each.sum()) / each.numel() ** alpha


for english in (
    "There is nothing left to eat in the house.",
    "I was about to leave when she called.",
    "It took us two hours to find the station.",
    "You should have seen their faces when we arrived.",
):
    print(english)
    for name, width in (("greedy", 1), ("beam", 4)):
        [french] = translator.translate(large, real_tokens, [english], width)
        print(f"    {name:6} {score(english, french):.3f}  {french}")

# %% [markdown]
# The beam's sentences score better, some by a hair only. The first is also the better one: greedy says that there is
# nothing *else* to eat. The second is closer to the English. The third scores better and is wrong (*il nous a fallu* is
# right). And the last? Their faces are *visages*, not *visions*. Did the search miss it?

# %% tags=["explore"]
for word in ("visions", "visages"):
    print(f"{word} {score(english, f'Tu aurais dû voir leurs {word} quand nous arrivâmes.'):.3f}")

# %% [markdown]
# No: the model holds the wrong word for likelier. Search finds what a model believes; whether it believes the right
# thing is another question. Nor is a beam sure to find something likelier than greedy does: greedy's own hypothesis may
# fall out of the beam half-way. It mostly helps, and it costs `width` times as much.

# %% [markdown]
# Type a sentence, and watch. Each column is a step, the likeliest hypotheses on top; a ring is one that has ended, the
# winner is orange, and below each token stands the score so far. With which width does it find something better than
# greedy?

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.translation import beam_explorer

beam_explorer(large, real_tokens, "She has a red car in front of the house.")

# %% [markdown]
# ### Thirteen sentences
#
# Here are thirteen everyday constructions: possession with a colour, *to love doing*, *full of*, an action in the past,
# a wish denied, an order, *cannot help*. Three models translate them: the one from Tatoeba, greedily and with a beam of
# four; the small one that you have just trained; and `elm`, a model whose training loss is far lower than that of both.

# %% tags=["explore"]
thirteen = [
    "He is a teacher.",
    "She has a red car.",
    "We love playing football.",
    "The lake is full of birds.",
    "The bag is full of clothes.",
    "The dog fell asleep on the bed.",
    "My sister likes chocolate.",
    "I did not mean to frighten you.",
    "He is so kind.",
    "Help me choose a shirt to go with this skirt.",
    "I can't help laughing.",
    "The children were playing cards.",
    "The baby fell asleep in front of the television.",
]
by_greedy = translator.translate(large, real_tokens, thirteen)
by_beam = translator.translate(large, real_tokens, thirteen, width=4)
for english, french, other in zip(thirteen, by_greedy, by_beam, strict=True):
    print(f"{english:50} {french}" + ("" if french == other else f"   (beam: {other})"))
n_other = sum(french != other for french, other in zip(by_greedy, by_beam, strict=True))
print(f"the beam says something else for {n_other} of {len(thirteen)}")

# %% tags=["explore", "nbval-ignore-output"]
for english, french in zip(thirteen, translator.translate(small, tokens, thirteen), strict=True):
    print(f"{english:50} {french}")

# %% tags=["explore"]
elm, elm_tokens, elm_record = suspects.load("elm")
print(f"elm: training loss {elm_record['curve'][-1]['loss']:.4f}")
ids = decoding.greedy(elm, source_ids(elm_tokens, thirteen[:4]), BOS, EOS, 8)  # (B, n)
for english, row in zip(thirteen, ids.tolist(), strict=False):
    print(f"{english:30}", " ".join(elm_tokens.id_to_token(i) for i in row))

# %% [markdown]
# The small model knows the words of its grammar and no others. What is the matter with `elm`, we shall find out in
# part 11.

# %% [markdown]
# ## 9 · Nothing twice
#
# To say ten tokens, `greedy` asks the model ten times, and each time it reads the source and all that was said again.
# But the source has not changed, and under the causal mask neither have the keys and values of what was said. Keep
# them, and only the newest token is to be computed (a **key–value cache**, Pope et al. 2022, §2.1). Does anything
# change?

# %% tags=["explore"]
ids = source_ids(real_tokens, thirteen)  # (B, S)
plain, kept = (decoding.greedy(model, ids, BOS, EOS, 40) for model in (large, Cached(large)))
print("same tokens:", torch.equal(plain, kept))
together = [text(real_tokens, row) for row in plain]
alone = [text(real_tokens, decoding.greedy(large, source_ids(real_tokens, [e]), BOS, EOS, 40)[0]) for e in thirteen]
print("same without batch mates:", together == alone)

# %% tags=["explore", "nbval-ignore-output"]
import time

for length in (16, 64, 128):
    seconds = []
    for model in (large, Cached(large)):
        began = time.perf_counter()
        decoding.greedy(model, ids[:4], BOS, -1, length)  # no token is −1: nobody ends
        seconds.append(time.perf_counter() - began)
    faster = seconds[0] / seconds[1]
    print(f"{length:3} tokens: {seconds[0]:.2f} s, with cache {seconds[1]:.2f} s, {faster:.1f} times as fast")

# %% [markdown]
# Both say the same, and the longer the text the more is gained. The price is memory, as you computed in 04_complexity.

# %% [markdown]
# ## 10 · What does it look at?
#
# In cross-attention each place of the decoder asks, and English words answer. So there is a weight for each pair of
# words, for every head of every layer. When the model is about to say *voiture*, does it look at *car*?
#
# With three layers of four heads one always finds a nice picture somewhere, so let us first say what we look for, and
# count. In these sentences noun and adjective change places. A head that aligns words gives *voiture* to *car* and
# *rouge* to *red*; here is the mean weight that it gives to the right word:

# %% tags=["explore"]
swapped = [
    ("The red car is here.", "La voiture rouge est ici.", "red car voiture rouge"),
    ("The yellow door is here.", "La porte jaune est ici.", "yellow door porte jaune"),
    ("The green apple is here.", "La pomme verte est ici.", "green apple pomme verte"),
    ("The strange house is here.", "La maison étrange est ici.", "strange house maison étrange"),
]
given = torch.zeros(3, 4)  # (L, H)
for english, french, words in swapped:
    found = attention_maps.look(large, real_tokens, english, french)
    adjective, noun, nom, adjectif = words.split()
    given += (found.at(nom, noun) + found.at(adjectif, adjective)) / 2 / len(swapped)
figures.heads(given, "Weight on the right word, by head")

# %% [markdown]
# The strongest of them, on a sentence that took no part in the choice:

# %% tags=["explore"]
layer, head = divmod(int(given.argmax()), given.shape[1])
english = "She has a red car in front of the house."
[french] = translator.translate(large, real_tokens, [english])
found = attention_maps.look(large, real_tokens, english, french)
figures.looking(found, layer, head, [("voiture", "car"), ("rouge", "red")])

# %% [markdown]
# Follow the strong cells: down the diagonal, until *red car* and *voiture rouge* cross (framed). Bahdanau et al. 2015
# (§5.2.1) saw such crossings first. Nobody told the model which word belongs to which: it learned pairs of sentences.
#
# A caution. This head moves information from there to here; what the model does with it, the map does not say. Other
# heads look elsewhere, and the encoder has mixed each word with its neighbours before anybody looks at it (Jain and
# Wallace 2019 ask how far one may go with such pictures).

# %% [markdown]
# ## 11 · Five that do not work
#
# Somebody trains a translator for ten epochs. The loss goes down nicely, epoch by epoch, to below 0.5. Then it is asked
# to translate, and says things like *ne je je je je*. What would you say? What one often hears is: *it needs more
# epochs*.
#
# Let us see whether that can be. Here are five small translators, trained on the pairs of part 1, each of them spoilt
# by one real fault:

# %% tags=["explore"]
suspected = {name: suspects.load(name) for name in suspects.names()}
figures.losses({name: record for name, (_, _, record) in suspected.items()})

# %% [markdown]
# Two have a loss that nobody can reach honestly: there are several right ways to go on after *The*, so some surprise
# must remain. These two say nothing that is worth reading. Too little training makes a model stammer as well, as yours
# may have done in part 6; but then it has a high loss to show for it. If a *low* loss stands beside bad output,
# training and translating are not the same task, and more epochs make the loss better and the output no better. **It is
# a symptom, not a lack of epochs.**
#
# And among the others, is the best loss the best translator?

# %% tags=["explore"]
for name, (model, its_tokens, record) in suspected.items():
    ids = decoding.greedy(model, source_ids(its_tokens, ["Her little brothers looked at the flowers."]), BOS, EOS, 16)
    said = " ".join(its_tokens.id_to_token(i) for i in ids[0].tolist())
    print(f"{name:6} loss {record['curve'][-1]['loss']:.4f}  BLEU {record['bleu']:4.1f}  {said}")

# %% [markdown]
# Three of them seem well, and among these three half the loss has not bought a better BLEU. Each hides something that
# will hurt one day. From output alone you cannot tell what. So think of the faults, and what each would *predict*:
#
# | fault | if so, then |
# | --- | --- |
# | no causal mask | what comes later changes what was said before |
# | unshifted targets | it says the token that it has just read |
# | padding attended to | pads at the end of the source change the answer |
# | padding counted in the loss | after EOS it is sure that PAD comes next |
# | no positions | the source read backwards gives the same answer |
#
# The first experiment, step by step. On fifty held-out pairs we change what comes *after* the first token of the
# target, and look at the logits of that first token:

# %% tags=["explore"]
english, french = zip(*parts.test[:50], strict=True)
for name, (model, its_tokens, _) in suspected.items():
    heard, spoken = source_ids(its_tokens, english), target_ids(its_tokens, french)  # (B, S), (B, T)
    other = spoken.clone()
    other[:, 1:] = 42
    with torch.no_grad():
        moved = (model(heard, spoken) - model(heard, other))[:, 0].abs().max()  # (B, V) → ()
    print(f"{name:6} the first logits move by up to {moved:.2g}")

# %% [markdown]
# One model reads the future. The other four experiments are in `helpers.suspects`; each gives a number that is near 0
# for a sound model, and near 1 where its prediction comes true:

# %% tags=["explore"]
found = {}
for name, (model, its_tokens, _) in suspected.items():
    ids = source_ids(its_tokens, english), target_ids(its_tokens, french)
    asked = {experiment.__name__.replace("_", " "): experiment for experiment in suspects.EXPERIMENTS.values()}
    found[name] = {words: experiment(model, *ids) for words, experiment in asked.items()}
figures.symptoms(found)

# %% [markdown]
# Now the claim is yours. Which model has which fault?

# %% [markdown]
# {{card translation.diagnose}}


# %% tags=["exercise:translation.diagnose"]
def diagnose():
    """The fault of ash, birch, cedar, elm and fir, by name; the faults' names are on the card."""
    ### BEGIN SOLUTION
    return {
        "ash": "unshifted targets",
        "birch": "padding counted in the loss",
        "cedar": "no positions",
        "elm": "no causal mask",
        "fir": "padding attended to",
    }
    ### END SOLUTION


# %%
check("translation.diagnose", diagnose)

# %% [markdown]
# And the translator of *ne je je je je*? Its output alone does not say. A decoder that saw the future or its own
# answers while training may speak like this; so may one that reads its output at the wrong step, or one that never
# hears its source. Whoever has the model can decide: change the future, compare what is said with what is read, pad the
# source, turn it round, exchange it for another one. Each is a matter of seconds. Ten more epochs take far longer, and
# decide nothing.
#
# Most of these experiments work before any training: that the future changes nothing can be asked of random weights.

# %% [markdown]
# ## What you can do now
#
# - Hold out combinations and not just sentences, and say what a test is a test of.
# - Shift, pad, smooth and warm up, and say what each is for.
# - Train a translator, and compare its BLEU with a neighbour's.
# - Decode greedily, with a beam, and with a cache that changes nothing.
# - Choose a head by a criterion stated before, and read an alignment from it.
# - Treat a low loss beside bad output as what it is, and find the fault by experiment.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Vaswani et al. 2017, *Attention Is All You Need*, §3.4, §5.3, §5.4: shared embeddings, warm-up, smoothing.
# - Bahdanau et al. 2015, *Neural Machine Translation by Jointly Learning to Align and Translate*, §5.2: alignments.
# - Wu et al. 2016, *Google's Neural Machine Translation System*, §7: beam search and length.
# - Papineni et al. 2002, *BLEU*, and Post 2018, *A Call for Clarity in Reporting BLEU Scores*.
#
# **Next** is 07_language_model: the decoder alone, without anybody to listen to.
