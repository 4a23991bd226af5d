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
# # 09 · BERT: what belongs in the gap?
#
# A language model reads from left to right, because it may not see what it has to guess. But you, who read this
# sentence, look ahead and back. A model that does so cannot be asked for the next word: it sees it. So one hides a word
# here and there, and asks for those. In this notebook you build such a model, BERT (Devlin et al. 2018), with all that
# goes in and all that it is asked. At the end you look back over the whole course.
#
# **You will be able to**
# - cut words into pieces, and lay out one text or two as BERT reads them;
# - hide tokens so that a model has something to learn at each of them, and measure it so that it cannot cheat;
# - build BERT, pretrain a tiny one, and let a larger one fill your own gaps;
# - compare reading both sides with reading one, and say which comparison is fair;
# - say which kind of model suits which task.
#
# **Time** about four hours. **Before this** 05_parameters and 07_language_model.

# %%
import copy
import json

import torch
from torch import nn
from torch.nn import functional as F

from autograder import check, progress
from helpers import bert, checkpoints, fill_mask, layers, models, training
from helpers.experiments import left_or_both, live_masked, live_twins, masked
from helpers.figures import bert as figures
from helpers.text import imdb
from helpers.text import wordpiece as pieces
from helpers.text.wordpiece import MASK, SPECIAL

# %% [markdown]
# ## 1 · Words in pieces
#
# 07 merged bytes. BERT has another way to cut words, **WordPiece** (Wu et al. 2016, §4.1). There is a list of pieces,
# and a word is cut from the left: each time the *longest* piece that fits. A piece inside a word carries `##` in front,
# so *able* and *##able* are two. And there is no way back: if at some point nothing fits, the whole word is unknown.

# %% [markdown]
# {{card bert.wordpiece}}


# %% tags=["exercise:bert.wordpiece"]
def wordpiece(word, vocabulary):
    """The word's pieces, each the longest that fits; all but the first begin with ##. ["[UNK]"] where nothing fits."""
    ### BEGIN SOLUTION
    found, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start:
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in vocabulary:
                break
            end -= 1
        if end == start:
            return ["[UNK]"]
        found.append(piece)
        start = end
    return found
    ### END SOLUTION


# %%
check("bert.wordpiece", wordpiece)

# %% [markdown]
# "No way back" has consequences. Here *unlit* could be cut, and is not. Do you see how?

# %%
print(bert.wordpiece("unlit", {"un", "unl", "##lit", "##t"}))

# %% [markdown]
# And where does the list come from? From text: the library `tokenizers` grows it out of letters, as 07 grew merges.
# Here it learns from some reviews, in a few seconds:

# %% tags=["explore"]
reviews = imdb()
small = pieces.train(reviews.train[:1000], vocab_size=1500)
for word in ("film", "unwatchable", "kaurismäki"):
    print(word, small.encode(word).tokens)

# %% [markdown]
# The library cuts greedily as well. Does it agree with what the card asks for? Ten thousand words will tell:

# %% tags=["explore"]
words = sorted(
    {word for text in reviews.validation for word in text.lower().split() if word.isascii() and word.isalpha()}
)
words = words[:: max(len(words) // 10_000, 1)][:10_000]
known = small.get_vocab()
same = sum(small.encode(word).tokens == bert.wordpiece(word, known) for word in words)
print(f"{same:,} of {len(words):,} words are cut alike")

# %% [markdown]
# From here on we take the course's own vocabulary, of 4,096 pieces. A checkpoint comes with it, of which more later.

# %%
model, tokenizer = fill_mask.load("bert")
names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
print(names[:5], "…", names[500:508])

# %% [markdown]
# ## 2 · Two texts in one row
#
# BERT was made for questions about one text *or two*: does this answer that, does this follow from that? Both are laid
# in one row, with `[CLS]` in front and a `[SEP]` at the end of each. Three lists say all there is to say: which token,
# which text (the **segment**), and whether it is real or only padding (the **attention mask**).

# %%
a, b = (tokenizer.encode(text, add_special_tokens=False).ids for text in ("is it funny?", "it never gets dull."))
row = bert.build_inputs(a, b, 16, cls_id=pieces.CLS, sep_id=pieces.SEP)
figures.inputs([names[i] for i in row[0]], *row[1:])

# %% [markdown]
# Too long for the row? Then tokens go from the end, one at a time, each time from the text that is longer at this
# moment. The short text, a question perhaps, is not to pay for the long one.

# %% [markdown]
# {{card bert.build_inputs}}


# %% tags=["exercise:bert.build_inputs"]
def build_inputs(a, b, max_len, pad_id=0, cls_id=101, sep_id=102):
    """[CLS] a [SEP] or [CLS] a [SEP] b [SEP], cut and padded: ids, segment ids, attention mask, max_len each."""
    ### BEGIN SOLUTION
    a, b = list(a), list(b) if b is not None else None
    room = max_len - (2 if b is None else 3)
    while len(a) + len(b or []) > room:
        if b is not None and len(b) >= len(a):
            b.pop()
        else:
            a.pop()
    ids, segments = [cls_id, *a, sep_id], [0] * (len(a) + 2)
    if b is not None:
        ids, segments = ids + b + [sep_id], segments + [1] * (len(b) + 1)
    pads = max_len - len(ids)
    return ids + [pad_id] * pads, segments + [0] * pads, [1] * len(ids) + [0] * pads
    ### END SOLUTION


# %%
check("bert.build_inputs", build_inputs)

# %% [markdown]
# ## 3 · Three vectors, one sum
#
# Each token is looked up three times: what it is, where it stands, in which text. The three vectors are *added*, and a
# layer norm follows. People object: "Is the word not smeared over with its place? One should put them side by side."
# Predict: from the sum alone, how often can one still tell the word, and how often the place?

# %%
words_, places = model.embeddings.token.weight.detach(), model.embeddings.position.weight.detach()  # (V, D), (T, D)
generator = torch.Generator().manual_seed(0)
w = torch.randint(len(SPECIAL), len(words_), (5000,), generator=generator)
p = torch.randint(len(places), (5000,), generator=generator)
sums = words_[w] + places[p]  # (N, D)
told_place = torch.cdist(sums - words_.mean(0), places).argmin(1)  # (N,)
told_word = torch.cdist(sums - places.mean(0), words_).argmin(1)  # (N,)
print(f"word {(told_word == w).double().mean():.1%}, place {(told_place == p).double().mean():.1%} of 5,000 sums")

# %% [markdown]
# Next to nothing is lost. In hundreds of dimensions there is room for both, in directions that hardly meet. And the
# layers that read the sum are linear: $W(t + p + s) = Wt + Wp + Ws$. **That is why a sum suits multi-head attention**:
# each head has a projection of its own, so one may take the place out of the sum and another the word, or a bit of
# both. Side by side they would cost a wider model, or leave each of them less room in this one.

# %% [markdown]
# {{card bert.Embeddings}}


# %% tags=["exercise:bert.Embeddings"]
class Embeddings(nn.Module):
    """Token + position + segment, then a norm: `token position segment norm`; ids, segments (B, T) → (B, T, D)."""

    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__()
        ### BEGIN SOLUTION
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(max_len, d_model)
        self.segment = nn.Embedding(n_segments, d_model)
        self.norm = nn.LayerNorm(d_model)
        ### END SOLUTION

    def forward(self, ids, segment_ids):
        ### BEGIN SOLUTION
        place = torch.arange(ids.shape[1], device=ids.device)  # (T,)
        return self.norm(self.token(ids) + self.position(place) + self.segment(segment_ids))  # (B, T, D)
        ### END SOLUTION


# %%
check("bert.Embeddings", Embeddings)

# %% [markdown]
# ## 4 · Hide and ask
#
# Now the task. Of all tokens 15 % are **chosen**, and the model is asked for these. If all of them became `[MASK]`, the
# model would learn that where there is no `[MASK]` nothing is asked; and in the task that it is fine-tuned on later
# there is none at all. So of the chosen ones 80 % are hidden, 10 % become some other token, and 10 % stay as they are
# (Devlin et al. 2018, §3.1 and A.1). The model never knows which word it can trust.

# %%
text = "the acting was so bad that i laughed , but i would watch it again ."
ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False).ids])  # (1, T)
hidden, labels = bert.mask_tokens(ids, range(len(SPECIAL)), len(names), MASK, torch.Generator().manual_seed(4))
many = ids.repeat(5000, 1)  # (B, T)
fates = figures.shares(many, *bert.mask_tokens(many, range(len(SPECIAL)), len(names), MASK, generator), MASK)
as_words = [[names[i] for i in row[0].tolist()] for row in (ids, hidden)]
figures.masking(*as_words, (labels[0] != -100).tolist(), fates)

# %% [markdown]
# Predict the traps before you write. Shares of *what*: is it 10 % of all tokens that are exchanged, or 10 % of the
# chosen? If you draw first who is hidden and then, anew, who is exchanged, do the shares still come out? And `[CLS]` is
# never a question.

# %% [markdown]
# {{card bert.mask_tokens}}


# %% tags=["exercise:bert.mask_tokens"]
def mask_tokens(ids, special_ids, vocab_size, mask_id, generator):
    """Inputs and labels, (B, T) each: 15 % of the ordinary tokens are chosen; 80 % of these hidden, 10 % exchanged."""

    ### BEGIN SOLUTION
    def coins():
        return torch.rand(ids.shape, generator=generator, device=ids.device)  # (B, T)

    special = torch.tensor(list(special_ids), device=ids.device)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)], device=ids.device)
    chosen = (coins() < 0.15) & ~torch.isin(ids, special)  # (B, T)
    fate = coins()  # one coin decides between the three
    others = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator, device=ids.device)]  # (B, T)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, ids)  # (B, T)
    inputs = torch.where(chosen & (fate >= 0.9), others, inputs)  # (B, T)
    return inputs, torch.where(chosen, ids, -100)
    ### END SOLUTION


# %%
check("bert.mask_tokens", mask_tokens)

# %% [markdown]
# A label of −100 says *not asked*. The loss is a mean over what **is** asked. And in a short text it may happen that
# nothing is: how likely is that with ten tokens?

# %%
print(f"{0.85**10:.0%} of all texts of ten tokens have no question; a mean over none is {torch.tensor([]).mean()}")

# %% [markdown]
# {{card bert.mlm_loss}}


# %% tags=["exercise:bert.mlm_loss"]
def mlm_loss(logits, labels):
    """Mean cross-entropy over the labels that are not −100, 0 if there is none: (B, T, V) and (B, T) → ()."""
    ### BEGIN SOLUTION
    asked = labels != -100  # (B, T)
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked], labels[asked])  # logits (M, V), labels (M,)
    ### END SOLUTION


# %%
check("bert.mlm_loss", mlm_loss)

# %% [markdown]
# ## 5 · Does it follow?
#
# BERT is asked a second thing. The row holds two texts, a and b: does b come right **after** a in the same document, or
# from somewhere else? By a fair coin it is one or the other. Mind the order: b after a, not a after b, and nothing
# about logic.

# %% [markdown]
# {{card bert.next_sentence_pairs}}


# %% tags=["exercise:bert.next_sentence_pairs"]
def next_sentence_pairs(documents, generator):
    """(a, b, is_next) for each sentence a that has a successor; b follows it, or is of a random other document."""

    ### BEGIN SOLUTION
    def draw(n):
        return int(torch.randint(n, (), generator=generator))

    filled = [document for document in documents if len(document) > 0]
    pairs = []
    for i, document in enumerate(filled):
        for j in range(len(document) - 1):
            a, follower = document[j], document[j + 1]
            if draw(2) == 1:
                pairs.append((a, follower, True))
            else:
                others = filled[:i] + filled[i + 1 :]
                other = others[draw(len(others))]
                pairs.append((a, other[draw(len(other))], False))
    return pairs
    ### END SOLUTION


# %%
check("bert.next_sentence_pairs", next_sentence_pairs)

# %% [markdown]
# Pairs from two reviews. Could you tell which follow?

# %% tags=["explore"]
documents = [pieces.split_sentences(text)[:3] for text in reviews.validation[:2]]
for a, b, is_next in bert.next_sentence_pairs(documents, torch.Generator().manual_seed(7)):
    print(f"{is_next!s:5}  {a[:48]} … | {b[:48]} …")

# %% [markdown]
# Often the *subject* gives it away: the other text is about another film. Later work found this question too easy to be
# of use, and RoBERTa leaves it out (Liu et al. 2019, §4.2).

# %% [markdown]
# ## 6 · The model
#
# All parts are there. The body is the encoder of 05, post-norm, with GELU in place of ReLU; nobody reads padding. On it
# stand two heads. For tokens: a linear layer, GELU, a norm, and then the *embedding itself* as the last layer, with a
# bias. For the next sentence: what stands at `[CLS]`, one linear layer and tanh, and two numbers.

# %% [markdown]
# {{card bert.Bert}}


# %% tags=["exercise:bert.Bert"]
class Bert(nn.Module):
    """ids, segment ids, attention mask (B, T) each → logits of tokens (B, T, V) and of the next sentence (B, 2)."""

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, max_len):
        super().__init__()
        ### BEGIN SOLUTION
        self.embeddings = models.BertEmbeddings(vocab_size, d_model, max_len)
        self.encoder = nn.ModuleList(
            layers.EncoderLayer(d_model, n_heads, d_ff, activation=F.gelu) for _ in range(n_layers)
        )
        self.pooler = nn.Linear(d_model, d_model)
        self.transform = nn.Linear(d_model, d_model)
        self.transform_norm = nn.LayerNorm(d_model)
        self.token_head = nn.Linear(d_model, vocab_size)
        self.token_head.weight = self.embeddings.token.weight
        self.next_head = nn.Linear(d_model, 2)
        ### END SOLUTION

    def forward(self, ids, segment_ids, attention_mask):
        ### BEGIN SOLUTION
        mask = attention_mask.bool()[:, None, None, :]  # (B, 1, 1, T)
        x = self.embeddings(ids, segment_ids)  # (B, T, D)
        for layer in self.encoder:
            x = layer(x, mask)
        tokens = self.token_head(self.transform_norm(F.gelu(self.transform(x))))  # (B, T, V)
        return tokens, self.next_head(torch.tanh(self.pooler(x[:, 0])))  # (B, T, V), (B, 2)
        ### END SOLUTION


# %%
check("bert.Bert", Bert)

# %% [markdown]
# ## 7 · Your own, while you watch
#
# A tiny BERT, half a minute. On film reviews that is too short: a model of this size would spend it on finding out
# which tokens are common. So yours reads everyday sentences, written by the grammar of 06 from a few hundred words.
# They come one by one, so it is asked for hidden tokens alone. Each step hides others:

# %% tags=["explore"]
text = live_masked.texts()
inputs, segment_ids, attention_mask, labels = live_masked.batch_at(0)
for row in inputs[:3].tolist():
    print(" ".join(text.vocabulary[i] for i in row if i != pieces.PAD))
tiny = live_masked.model()
print(f"{sum(x.numel() for x in tiny.parameters()):,} parameters, {len(text.vocabulary)} words")

# %% [markdown]
# By what is it to be measured? "The share of chosen tokens that it tells" sounds right. But one chosen token in ten
# stands there as it was. Predict: what does a model get that says of each token just that token, and knows nothing?

# %% tags=["explore"]
batches = [live_masked.batch_at(step) for step in range(50)]
seen = torch.cat([inputs[labels != -100] for inputs, *_, labels in batches])  # (M,)
asked, common = live_masked.answers(batches), live_masked.commonest()
shares = {"copying its input": seen == asked, f"always “{text.vocabulary[common]}”": asked == common}
print(", ".join(f"{name} {right.double().mean():.1%}" for name, right in shares.items()))

# %% [markdown]
# Who copies does as well as who counts, and has learned nothing. So the grader asks at `[MASK]` alone, where nothing
# can be copied; and so does the curve below. The one to beat says the commonest token each time.

# %% [markdown]
# {{card bert.pretrain}}


# %% tags=["exercise:bert.pretrain", "explore", "nbval-ignore-output"]
def pretrain(model, batch_at):
    """The model, trained on batch_at(0), batch_at(1), …: ids, segment ids, attention mask, labels, (B, T) each."""
    ### BEGIN SOLUTION
    watched = live_masked.held_out(text.validation, 2, seed=0)

    def summed(model, batch):
        *inputs, labels = batch
        logits = model(*inputs)[0]  # (B, T, V)
        return F.cross_entropy(logits[labels != -100], labels[labels != -100], reduction="sum")

    def told(model):
        return live_masked.told(model, watched)

    plan = training.Plan(400, learning_rate=3e-3, warmup=40, weight_decay=0.01, every=40)
    training.train(model, batch_at, plan, summed, told, title="filling gaps")
    return model
    ### END SOLUTION


torch.manual_seed(2018)
tiny = live_masked.model()
_ = checkpoints.hand_in(lambda: pretrain(tiny, live_masked.batch_at), "bert.pretrain")

# %% tags=["nbval-ignore-output"]
check("bert.pretrain", "bert.pretrain.safetensors")

# %% [markdown]
# Nobody labelled a word. What does it know by now? (These are sentences that it was not trained on; the true word
# stands in front.)

# %% tags=["explore", "nbval-ignore-output"]
some = live_masked.held_out(text.test[:40], 1, seed=3)
true, says = live_masked.answers(some), live_masked.said(tiny.eval(), some)
answers = zip(true[:16].tolist(), says[:16].tolist(), strict=True)
print(" · ".join(f"{text.vocabulary[a]} → {text.vocabulary[b]}" for a, b in answers))

# %% [markdown]
# Marks and small words come first. Where a noun is missing it mostly falls back on something common, and often nobody
# could know better: the sentence does not say what was lost.

# %% [markdown]
# ## 8 · The same, for longer
#
# A larger one has read all reviews many times, on a GPU; its weights lie with the course. What is it to be compared
# with? Counting, once more, but with the best that counting can do here: for each gap the token on its left *and* the
# one on its right, looked up in a table of the same text. (`helpers.neighbours` says how it backs off where it has
# not seen that pair.)

# %%
record = json.loads((checkpoints.HERE / "bert.json").read_text("utf-8"))
print(record["command"], "·", f"{record['seconds'] / 60:.1f} minutes on one GPU")
figures.counting(record)

# %%
figures.pretraining(record)

# %% [markdown]
# The curve starts slowly: common tokens first. Then something clicks.
#
# But look at what was counted in that record: all *chosen* tokens, and you know since part 7 what is wrong with it.
# So again, at `[MASK]` alone, on the same gaps for both:

# %% tags=["explore"]
corpus, full = pieces.corpus(tokenizer), masked.Settings(batch_size=64)
made = masked.held_out(corpus.test, full, 3)
hidden_only = [(pairs, live_masked.only_hidden(batch)) for pairs, batch in made]
of_bert = masked.accuracies(model, [batch for _, batch in hidden_only])
counted = masked.Neighbours(corpus.train.ids, full.vocab_size).accuracy(*masked.missing(corpus.test, hidden_only))
print(f"at {of_bert['n_masked']:,} gaps: BERT {of_bert['masked']:.3f}, both neighbours {counted:.3f}")
print(
    f"standard error of BERT's share {(of_bert['masked'] * (1 - of_bert['masked']) / of_bert['n_masked']) ** 0.5:.3f}"
)

# %% [markdown]
# Less than the record said, and still ahead of a table that knows both neighbours for sure. What does it see that the
# table does not? The rest of the text. Read the two on the right: only the last words differ.

# %%
texts = ["do not [MASK] your time.", "the music was [MASK]. i loved it.", "the music was [MASK]. i hated it."]
figures.candidates({some: fill_mask.fill_mask(model, tokenizer, some, 5)[0] for some in texts})

# %% [markdown]
# Now you. Write a text, put `[MASK]` in place of a word, and see. Try *not*; try a name; try two gaps that depend on
# each other. (It was brought up on film reviews. It says what people write there, not what is true.)

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.bert import mask_filler

mask_filler(model, tokenizer)

# %% [markdown]
# ### What does [MASK] replace?
#
# Some say: "masking a token replaces what it says *and* where it stands." Take a text with two gaps. If the place were
# gone, what would the model say at the two? Try it: give all positions the same vector.

# %%
lost = copy.deepcopy(model)
lost.embeddings.position.weight.data[:] = lost.embeddings.position.weight.mean(0)  # (T, D)
for name, one in {"with positions": model, "without": lost}.items():
    first, second = fill_mask.fill_mask(one, tokenizer, "do not [MASK] your [MASK] on this film.", 3)
    print(f"{name:15}", [piece for piece, _ in first], [piece for piece, _ in second])

# %% [markdown]
# The same twice. `[MASK]` is one vector for all gaps; only the position added to it says *which* gap. So the position
# stays, and it must.

# %% [markdown]
# {{card bert.true_or_false}}


# %% tags=["exercise:bert.true_or_false"]
def true_or_false():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "position": "false",
        "one vector": "true",
        "no positions": "true",
        "attention": "false",
        "patches": "false",
    }
    ### END SOLUTION


# %%
check("bert.true_or_false", true_or_false)

# %% [markdown]
# ## 9 · Left to right, or both sides?
#
# Does it help to see both sides? BERT's authors say it does, and show it in a table (Devlin et al. 2018, §5.1, table
# 5). One row is *BERT-base*; another reads left to right. It is tempting to subtract one from the other. First read
# what the rows are; the card has them.

# %%
paper = left_or_both.PAPER
print(f"{'':15}", *[f"{task:>9}" for task in paper["tasks"]])
for row in ("No NSP", "LTR & No NSP"):
    print(f"{row:15}", *[f"{share:9.1f}" for share in paper[row]])

# %% [markdown]
# {{card bert.fair_comparison}}


# %% tags=["exercise:bert.fair_comparison"]
def fair_comparison():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {"row": "No NSP", "two things": "both of them", "largest gap": "SQuAD", "slower": "fewer answers"}
    ### END SOLUTION


# %%
check("bert.fair_comparison", fair_comparison)

# %% [markdown]
# Here is the fair one, made small. One body, one head, the same text in the same order, as many steps; then both are
# fine-tuned on the sentences of 08. Only the mask and the question differ. Five seeds each, and both once more without
# any pretraining. Predict who wins.

# %%
recorded = json.loads((checkpoints.HERE / "left_or_both.json").read_text("utf-8"))
print(recorded["command"], "·", f"{len(recorded['settings']['seeds'])} seeds, {recorded['settings']['steps']:,} steps")
figures.left_or_both(recorded)

# %%
for name, gap in recorded["intervals"].items():
    print(f"{name:30} {gap['difference']:+.3f}, 95 % from {gap['low']:+.3f} to {gap['high']:+.3f}")
curves = {way: [run[-1]["measured"] for run in runs] for way, runs in recorded["pretraining"].items()}
for way, ends in curves.items():
    print(f"{way:15} tells at the end of pretraining", ", ".join(f"{end:.3f}" for end in ends))

# %% [markdown]
# **We do not find what the paper found.** The masked model is not ahead. The interval holds zero, so it is not shown to
# be behind either; but left to right gains from pretraining for sure, and for the masked one that is not shown. Is the
# paper wrong? Look at what was made equal. Both models read the same text in as many steps. The one is asked at *every*
# token, the other at 15 %: so with the same text it has had a seventh of the answers, and in its first thousand steps
# it learned little but which tokens are common. (Look at the slow start in part 8.) The paper trained for a million
# steps; it finds, too, that the masked model converges a little more slowly, but there it is ahead almost at once
# (appendix C.1), in a figure whose steps are counted by the hundred thousand: more than we have in all. (A run of
# nearly twice our steps gave us the same picture.) And look at the tasks: on sentiment, SST-2, the paper's own gain is
# half a point, less than our interval can see. It is largest where a *place* in a text has to be found.
#
# So: both sides are worth having, if you can pay for the training and if the task asks for them. A comparison at one
# budget says something about this budget.
#
# ### Count the answers
#
# The same windows of text, both ways. How many answers does one step hold?

# %% tags=["explore"]
brief = left_or_both.Settings()
for way, causal in {"left to right": True, "masked": False}.items():
    _, asked = left_or_both.windows_at(corpus.train, brief, causal, seed=0)(0)  # (B, T)
    print(f"{way:15} {int((asked != -100).sum()):,} answers from {asked.numel():,} tokens")

# %% [markdown]
# ### The twin
#
# The recorded runs took a GPU. But the tiny BERT of part 7 has a twin as well, which reads from left to right and
# learns in seconds. It is `live_masked.model(causal=True)`: the same weights under the same names, and a causal mask.
# What it is asked, you write. Predict the traps: the answer must not stand where the model may look, and after the
# last word nothing comes.

# %% [markdown]
# {{card bert.left_or_both}}


# %% tags=["exercise:bert.left_or_both", "explore", "nbval-ignore-output"]
def left_to_right(sentences_at):
    """The twin, trained on sentences_at(0), sentences_at(1), … (ids (B, T) each) to say at each token the next one."""

    ### BEGIN SOLUTION
    def batch_at(step):
        ids = sentences_at(step)  # (B, T)
        labels = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -100)], 1)  # (B, T), the next token
        labels[labels < len(SPECIAL)] = -100
        return ids, torch.zeros_like(ids), (ids != pieces.PAD).long(), labels

    model = live_masked.model(causal=True)
    plan = training.Plan(200, learning_rate=3e-3, warmup=40, weight_decay=0.01, every=40)
    training.train(model, batch_at, plan, live_masked.loss, title="next tokens")
    return model
    ### END SOLUTION


torch.manual_seed(2018)
_ = checkpoints.hand_in(lambda: left_to_right(live_masked.sentences_at), "bert.left_or_both")

# %% tags=["nbval-ignore-output"]
check("bert.left_or_both", "bert.left_or_both.safetensors")

# %% [markdown]
# ### Both, while you watch
#
# Now the two side by side: the same first weights, the same sentences in the same order, the same 320 steps. From time
# to time both are asked for the *same* held-out words. The twin has read what comes before the word; the masked one
# sees all but the word. Predict: who is ahead after as many steps? And after as many *answers*?

# %% tags=["explore", "nbval-ignore-output"]
run = live_twins.race()
figures.race(run)

# %% tags=["explore", "nbval-ignore-output"]
for way, shares in run.told.items():
    error = (shares[-1] * (1 - shares[-1]) / run.n_words) ** 0.5
    print(f"{way:15} {shares[-1]:.3f} of {run.n_words:,} words, standard error {error:.3f}")
print(f"masked, with the right side cut off {run.left_alone:.3f}")

# %% [markdown]
# The same text in as many steps: the one that is asked at every word gets going sooner. Answer for answer it looks the
# other way round, since a gap with both sides in view says more about its word. (Not quite fair either: for as many
# answers the twin needs a seventh of the steps, so it has hardly begun.) And cut off the right side, and the masked
# model falls far behind its twin: it has learned to use what stands there. (In part it stumbles because it never met a
# sentence without its end.)
#
# What does that show? How fast each learns at first, from this much text. It is one seed and one small grammar, and
# the standard error speaks of the held-out words alone: what another seed would give, it does not know. And it does
# not show who is ahead in the end. If you have a minute or two, let them run on,
# `figures.race(live_twins.race(steps=1280))`, and predict first: who has more left to learn? (For us the order turned
# round: one who knows the past alone soon tells all that can be told from it.) Which body is better to *fine-tune* it
# does not show either. For that there are the recorded runs, and the paper's.

# %% [markdown]
# ## 10 · Which model for which task?
#
# BERT has many heirs, and names mislead. Two French ones are mentioned in one breath, and only one of them fills gaps
# as BERT does.

# %% [markdown]
# {{card bert.who_masks}}


# %% tags=["exercise:bert.who_masks"]
def who_masks():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "BERT": "masked tokens",
        "RoBERTa": "masked tokens",
        "CamemBERT": "masked tokens",
        "BARThez": "denoising",
        "T5": "denoising",
        "GPT-2": "next token",
    }
    ### END SOLUTION


# %%
check("bert.who_masks", who_masks)

# %% [markdown]
# Where do the answers come from that all of them learn from? Somebody finds a shelf of novels, and somebody else says
# that it is of no use without labels.

# %% [markdown]
# {{card bert.labels}}


# %% tags=["exercise:bert.labels"]
def labels():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "who is right": "the first",
        "answers from": "the text",
        "name": "self-supervised",
        "sentiment": "fine-tuning",
        "masked": "150",
        "left to right": "all of them",
    }
    ### END SOLUTION


# %%
check("bert.labels", labels)

# %% [markdown]
# Ask BERT to write on. Put one gap at the end, take the likeliest, put the next gap behind it:

# %%
written = "this film is"
for _ in range(8):
    (likeliest, _), *_ = fill_mask.fill_mask(model, tokenizer, written + " [MASK]", 1)[0]
    written = written + likeliest.removeprefix("##") if likeliest.startswith("##") else f"{written} {likeliest}"
print(written)

# %% [markdown]
# A few words, and then full stops: in training a gap nearly always had something on its right. To write was never its
# task. So the question is not which model is *better* but what has to come out.

# %% [markdown]
# {{card bert.or_gpt}}


# %% tags=["exercise:bert.or_gpt"]
def or_gpt():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "hidden": "BERT",
        "next": "GPT",
        "raw text": "neither",
        "all places": "GPT",
        "writes": "GPT",
        "fine-tuned": "both",
        "next sentence": "b after a",
    }
    ### END SOLUTION


# %%
check("bert.or_gpt", or_gpt)

# %% [markdown]
# {{card bert.architectures}}


# %% tags=["exercise:bert.architectures"]
def architectures():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "summarising": "encoder-decoder",
        "sentiment": "encoder",
        "search": "encoder",
        "translation": "encoder-decoder",
        "what decides": "new text",
    }
    ### END SOLUTION


# %%
check("bert.architectures", architectures)

# %% [markdown]
# And `[CLS]`? Its state is often called "the meaning of the sentence". Before any fine-tuning it was trained for one
# thing only. Measure how alike it is for texts that have nothing in common:

# %%
some = ["i loved it.", "a dull film about war.", "who wrote the music?", "my children slept all the way through."]
with torch.no_grad():
    rows = [tokenizer.encode(text, add_special_tokens=False).ids for text in some]
    read = [model.hidden(torch.tensor([[pieces.CLS, *row, pieces.SEP]]))[0] for row in rows]  # (T, D) each
for name, vectors in {"[CLS]": [x[0] for x in read], "mean of tokens": [x[1:-1].mean(0) for x in read]}.items():
    unit = F.normalize(torch.stack(vectors), dim=1)  # (N, D)
    print(f"{name:15} mean cosine between texts {(unit @ unit.T)[~torch.eye(len(some), dtype=torch.bool)].mean():.2f}")

# %% [markdown]
# {{card bert.special_tokens}}


# %% tags=["exercise:bert.special_tokens"]
def special_tokens():
    """For each question on the card the name of an option."""
    ### BEGIN SOLUTION
    return {
        "[CLS]": "the whole input",
        "how": "attention",
        "before": "next sentence",
        "[SEP]": "ends",
        "one text": "one",
        "apart": "segments",
    }
    ### END SOLUTION


# %%
check("bert.special_tokens", special_tokens)

# %% [markdown]
# {{card bert.why}}

# %% [markdown] tags=["written:bert.why"]
# Two or three sentences for each, with something you ran wherever you can.
#
# 1. A masked autoencoder exchanges a token for [MASK]: what of the token stays, and what would go wrong without it?
# 2. Why does pretraining need no labels, and for what are labels needed after all?
# 3. For summarising, sentiment, search and translation: an encoder, or an encoder with a decoder, and why?
# 4. What are BERT's and GPT's objectives, and what can each do that the other cannot?
# 5. What are [CLS] and [SEP] for, and what is the state at [CLS] worth before fine-tuning?
#
# ### BEGIN SOLUTION
# 1. Its position stays (and its segment); only the token's vector is exchanged. With all positions made equal the model
#    said the same at both gaps of one text: equal inputs keep equal states in every layer.
# 2. The answers stand in the text: the tokens that were hidden, or that come next. So any text will do. Labels say what
#    the *task* is, and few are enough, since the body can read already.
# 3. Summarising and translation write a new text of unknown length, so a decoder writes it while it looks at what the
#    encoder read. Sentiment and search say something about a text that is there: an encoder and a small head, or a
#    vector for each text. A decoder alone, with the source as a prefix, could do all four.
# 4. BERT: hidden tokens from both sides, and whether b comes right after a. GPT: the next token from those before. GPT
#    can write, as it was trained to; BERT, asked to go on, has never had to write without a right side. BERT
#    sees both sides of a gap, and has answers at 15 % of the tokens only.
# 5. [CLS] is a place that reads all others, from which a head can answer for the whole input; [SEP] ends each text.
#    Before fine-tuning the state at [CLS] was trained for the next sentence alone, and is no summary for other
#    purposes.
# ### END SOLUTION

# %% [markdown]
# ## 11 · The map
#
# The course began as a pile of questions that students are asked about Transformers. Here they all are, with the
# exercises that answer each, and what you have reached there. (A dash: nothing yet.)

# %% tags=["nbval-ignore-output"]
from autograder.map import the_map

the_map()

# %% [markdown]
# Read it as four threads:
#
# - **Attention** is a weighted mean, whose weights come from who asks and who answers (01). It has no order (03), it
#   looks where a mask lets it (02), and it pays with the square of the length (04).
# - **A Transformer** is attention, a feed-forward layer, sums and norms, and you can count it to the last number (05).
# - **What it is asked** makes it what it is: the other language's next word (06), this one's (07), a gap (09).
# - **What it has learned** goes over to tasks that have few labels (08), and one finds out by measuring: with seeds, an
#   interval, something simple beside it, and a question that cannot be answered by copying.

# %% [markdown]
# ## What you can do now
#
# - Cut words into pieces, and lay out texts with segments and masks.
# - Say why three vectors may be added, and show that next to nothing is lost.
# - Hide tokens in the right shares, and measure a model where it cannot copy.
# - Build BERT to the last digit, and pretrain one.
# - Compare two models that differ in one thing, report what you found even if it is not what you hoped for, and say
#   why.
# - Choose between an encoder, a decoder and both.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Devlin et al. 2018, *BERT*, §3 for the model, §5.1 and table 5 for what each part brings, §A.1 for masking in
#   detail, §C.1 for how long to train. (Numbered as in the version of May 2019.)
# - Wu et al. 2016, *Google's Neural Machine Translation System*, §4.1: pieces of words.
# - Liu et al. 2019, *RoBERTa*, §4: new masks each time, no next sentences, and more of everything.
# - Radford et al. 2018, *Improving Language Understanding by Generative Pre-Training*: the other way.
# - Raffel et al. 2019, *Exploring the Limits of Transfer Learning*, §3: objectives and shapes side by side.
# - He et al. 2021, *Masked Autoencoders Are Scalable Vision Learners*: the same with pictures.
#
# You have come to the end. Thank you for coming along.
