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
# # 02 · Masks: who may look at whom
#
# Attention lets every token read every other. Often that is too much: a model that is to *predict* the next word must
# not read it, and nobody should read the padding at the end of a short sentence. A **mask** is the table that says who
# may look at whom.
#
# **You will be able to**
# - build causal, padding, window and prefix masks, and combine them;
# - translate between the conventions in use, which contradict each other;
# - survive a query with nothing to see;
# - catch a model that cheats, from the outside;
# - say what exactly a mask makes zero, and when it can be left out.
#
# **Time** about two and a half hours. **Before this** 01_attention.

# %%
import math

import torch
from torch import nn

from autograder import check, progress
from helpers import masks
from helpers.attention import MultiHeadAttention
from helpers.figures import masks as figures
from helpers.models import LanguageModel

# %% [markdown]
# ## 1 · The future is hidden
#
# A language model is trained on all positions of a text at once: from *the* it guesses *cat*, from *the cat* it guesses
# *sat*, and so on, in a single pass. That is only honest if position $i$ reads nothing after $i$.
#
# The trick is to add a matrix to the scores before the softmax: 0 where one may look, $-\infty$ where one may not.
# Since $e^{-\infty} = 0$, a forbidden key gets no weight, and the others share it all (Vaswani et al. 2017, §3.2.3).
# **Rows ask, columns answer.**

# %% tags=["explore"]
figures.causal("the cat sat on the mat")

# %% [markdown]
# {{card masks.causal}}


# %% tags=["exercise:masks.causal"]
def causal(n):
    """The additive causal mask, (n, n): 0 where query i may see key j ≤ i, −inf where j > i."""
    ### BEGIN SOLUTION
    future = torch.ones(n, n, dtype=torch.bool).triu(1)  # (n, n)
    return torch.zeros(n, n).masked_fill(future, -math.inf)
    ### END SOLUTION


# %%
check("masks.causal", causal)

# %% [markdown]
# ## 2 · Padding is hidden
#
# Sentences in a batch have different lengths, tensors do not: short sentences are filled up with a padding token. Every
# query may read the real tokens and no pad. So here whole *columns* disappear, and each sentence has a mask of its own.
#
# The shape does the rest. A mask `(B, 1, 1, T)` broadcasts to the scores `(B, H, T, T)`: the same for all heads, the
# same for all queries.

# %% tags=["explore"]
sentences = ["they read a long book", "we like it PAD PAD", "go PAD PAD PAD PAD"]
numbers = torch.tensor([[0 if word == "PAD" else len(word) for word in s.split()] for s in sentences])  # (B, T)
figures.padding(sentences, masks.padding(numbers, pad_id=0))

# %% [markdown]
# The rows of pads stay open: a pad may ask, but as nobody reads it, its answer goes nowhere. Close its row and you get
# the trouble of part 5.

# %% [markdown]
# {{card masks.padding}}


# %% tags=["exercise:masks.padding"]
def padding(ids, pad_id):
    """For ids (B, T) a boolean mask (B, 1, 1, T): True at real tokens, False at pads."""
    ### BEGIN SOLUTION
    real = ids != pad_id  # (B, T)
    return real[:, None, None, :]  # (B, 1, 1, T)
    ### END SOLUTION


# %%
check("masks.padding", padding)

# %% [markdown]
# See it happen. Here a sentence is
# encoded by itself, and then with two pads, without a mask and with one.

# %%
torch.manual_seed(1)
encode, embedding = MultiHeadAttention(8, 2), nn.Embedding(10, 8)
alone, padded = torch.tensor([[4, 7, 2]]), torch.tensor([[4, 7, 2, 0, 0]])  # (1, T) each
with torch.no_grad():
    wanted = encode(embedding(alone))  # (1, 3, D)
    for title, hide in {"without a mask": None, "with a mask": masks.padding(padded, pad_id=0)}.items():
        got = encode(embedding(padded), mask=hide)[:, :3]  # (1, 3, D)
        print(f"{title}: as if alone? {torch.allclose(got, wanted, atol=1e-6)}")

# %% [markdown]
# ## 3 · One mask, three spellings
#
# The same table is written in at least three ways, and two of them are each other's opposite:
#
# - **boolean, True = may look**: this course, and `torch.nn.functional.scaled_dot_product_attention`;
# - **additive, 0 = may look, −∞ = may not**: understood everywhere;
# - **boolean, True = hidden**: `nn.MultiheadAttention` and the layers built on it.

# %% tags=["explore"]
figures.conventions()

# %% [markdown]
# Nothing warns you if you mix them up: the inverted mask has the right shape and dtype, the loss even falls. Predict:
# with the course's boolean causal mask handed over as it is, whom does the first token of an `nn.MultiheadAttention`
# read?

# %%
theirs = nn.MultiheadAttention(8, 2, batch_first=True).eval()
words = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0))  # (1, T, D)
with torch.no_grad():
    found = theirs(words, words, words, attn_mask=masks.boolean(masks.causal(4)))[1]  # (1, T, T)
print("read by the first token:", (found[0, 0] > 0).tolist())
print("NaN in the last row:    ", found[0, -1].isnan().tolist())

# %% [markdown]
# Precisely the future, and the last token, which has none, is left with nothing to see.

# %% [markdown]
# {{card masks.to_torch}}


# %% tags=["exercise:masks.to_torch"]
def to_torch(mask):
    """`mask`, boolean (True: may look) or additive, as `nn.MultiheadAttention` wants it. The shape stays."""
    ### BEGIN SOLUTION
    if mask.dtype == torch.bool:
        return ~mask
    return mask
    ### END SOLUTION


# %%
check("masks.to_torch", to_torch)

# %% [markdown]
# Additive masks mean the same everywhere. When in doubt, pass one of those.

# %% [markdown]
# ## 4 · Two masks at once
#
# A decoder's own sentence is causal *and* padded. A key may be read if **all** masks agree, and each spelling has its
# way to say "and": `&` for booleans, `+` for additive masks, since $0 + 0 = 0$ and anything plus $-\infty$ is
# $-\infty$.

# %% [markdown]
# {{card masks.combine}}


# %% tags=["exercise:masks.combine"]
def combine(*masks):
    """One mask that allows what all of them allow, broadcast: boolean if all are boolean, otherwise additive."""
    ### BEGIN SOLUTION
    floats = [mask for mask in masks if mask.dtype != torch.bool]
    if not floats:
        result = masks[0]
        for mask in masks[1:]:
            result = result & mask
        return result
    result = 0
    for mask in masks:
        if mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=floats[0].dtype).masked_fill(~mask, -math.inf)
        result = result + mask
    return result
    ### END SOLUTION


# %%
check("masks.combine", combine)

# %% [markdown]
# Shapes meet by broadcasting: `(T, T)` and `(B, 1, 1, T)` make `(B, 1, T, T)`, a causal mask for every sentence of
# the batch. Play with some of them and hover over a cell for its numbers. Which of them leave a query with nothing to
# see (∅)?

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.masks import mask_explorer

mask_explorer()

# %% [markdown]
# ## 5 · Nothing to see
#
# Pad on the left, add a causal mask, and the first rows may look nowhere at all. What is the softmax of nothing? There
# are three answers in circulation.

# %% tags=["explore"]
figures.blind_row()

# %% [markdown]
# - With **−∞**, $0/0$ is NaN, and one NaN spreads through the sums to every token of the next layer.
# - With a **large negative number** such as −1e9 nothing crashes, and that is the trouble: the row reads all the tokens
#   that it was told not to, in equal parts, without a word.
# - **Zeros** say what is meant: nobody was read, nothing comes back. `scaled_dot_product_attention` does this.
#
# And a large number is large only as long as it fits:

# %%
print("−1e9 in float32:", torch.tensor(-1e9).item())
print("−1e9 in float16:", torch.tensor(-1e9).half().item())
print("0 · −1e9 in float16:", (torch.tensor(0.0).half() * torch.tensor(-1e9).half()).item())

# %% [markdown]
# So masks that are made as `(1 − mask) * -1e9`, as many are, turn into NaN in half precision.
#
# One more trap. Replacing NaN by 0 *after* the softmax mends the weights, but not the gradient: it flows back through
# $0/0$ all the same. Predict what the two lines print.

# %%
blind_scores = torch.zeros(3, requires_grad=True)
mended = (blind_scores + torch.full((3,), -math.inf)).softmax(-1).nan_to_num(0)
mended.sum().backward()
print("weights: ", mended.tolist())
print("gradient:", blind_scores.grad.tolist())

# %% [markdown]
# {{card masks.masked_softmax}}


# %% tags=["exercise:masks.masked_softmax"]
def masked_softmax(scores, mask):
    """Softmax over the keys of scores (…, Tq, Tk) under a boolean mask that broadcasts to them.

    A row with nothing to see gives zeros, and zeros flow back through it.
    """
    ### BEGIN SOLUTION
    blind = ~mask.any(-1, keepdim=True)  # (…, Tq, 1)
    # A blind row is softmaxed as if it saw everything, which is harmless, and emptied afterwards.
    seen = scores.masked_fill(~(mask | blind), -math.inf)  # (…, Tq, Tk)
    return seen.softmax(-1).masked_fill(blind, 0)  # (…, Tq, Tk)
    ### END SOLUTION


# %%
check("masks.masked_softmax", masked_softmax)

# %% [markdown]
# ## 6 · What becomes zero?
#
# One can often hear that a causal mask *sets the values of later tokens to zero*. Does it? Four things take part in
# attention: **scores**, **weights**, **values** and **output**. Before you go on, write down which of them contain
# exact zeros, at the blocked places, once a mask is on.
#
# Then let an experiment decide.

# %% [markdown]
# {{card masks.what_becomes_zero}}


# %% tags=["exercise:masks.what_becomes_zero"]
def what_becomes_zero(q, k, v, mask):
    """Which of "scores", "weights", "values", "output" masking turns into exact zeros, as a dict of bool.

    q (…, Tq, d_k), k (…, Tk, d_k), v (…, Tk, d_v). Look at scores and weights where the mask blocks, at values
    whose key is hidden from some query, and at the output of queries from which some key is hidden.
    """
    ### BEGIN SOLUTION
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, Tq, Tk)
    hidden = ~mask if mask.dtype == torch.bool else mask == -math.inf
    hidden = hidden.expand(scores.shape)  # (…, Tq, Tk)
    scores = scores.masked_fill(hidden, -math.inf)
    blind = hidden.all(-1, keepdim=True)  # (…, Tq, 1)
    weights = scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)  # (…, Tq, Tk)

    def zero(x, where):
        return bool(where.any() and (x[where] == 0).all())

    return {
        "scores": zero(scores, hidden),
        "weights": zero(weights, hidden),
        "values": zero(v, hidden.any(-2)),
        "output": zero(weights @ v, hidden.any(-1)),
    }
    ### END SOLUTION


# %%
check("masks.what_becomes_zero", what_becomes_zero)

# %% [markdown]
# Let the reference look at a random layer, under a causal mask:

# %%
asks, keys, contents = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))  # (T, d_k) each
masks.what_becomes_zero(asks, keys, contents, masks.causal(5))

# %% [markdown]
# Only the weights. The blocked scores are −∞, the opposite of zero in spirit. The values stay exactly as they were, and
# they must: token 4 is hidden from token 2, but token 5 reads it. A mask is a matter between *two* tokens; a value
# belongs to *one*. And an output is a mean over those that are left, not nothing.

# %% [markdown]
# ## 7 · Relatives of the causal mask
#
# A **sliding window** lets a token read itself and the `window − 1` before it: the cost grows with `n · window` in
# place of `n²` (Beltagy et al. 2020, §3.1). A **prefix** mask lets a question be read in both directions while the
# answer is written from left to right (Raffel et al. 2020, §3.2.1).

# %% tags=["explore"]
figures.window_and_prefix(9, window=3, n_prefix=4)

# %% [markdown]
# {{card masks.sliding_window}}


# %% tags=["exercise:masks.sliding_window"]
def sliding_window(n, window):
    """The additive mask (n, n) of a causal window: query i sees key j where 0 ≤ i − j < window."""
    ### BEGIN SOLUTION
    near = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - window)  # (n, n)
    return torch.zeros(n, n).masked_fill(~near, -math.inf)
    ### END SOLUTION


# %%
check("masks.sliding_window", sliding_window)

# %% [markdown]
# Is everything outside the window lost? Not with more than one layer: what I read has itself been reading.

# %% tags=["explore"]
figures.reach(10, window=3, n_layers=3)

# %% [markdown]
# {{card masks.prefix}}


# %% tags=["exercise:masks.prefix"]
def prefix(n, n_prefix):
    """The additive mask (n, n) where the first n_prefix positions see each other both ways, and the rest is causal."""
    ### BEGIN SOLUTION
    allowed = torch.ones(n, n, dtype=torch.bool).tril()  # (n, n)
    allowed[:, :n_prefix] = True
    return torch.zeros(n, n).masked_fill(~allowed, -math.inf)
    ### END SOLUTION


# %%
check("masks.prefix", prefix)

# %% [markdown]
# ## 8 · Catch a cheat
#
# A model that sees the future has a wonderful loss and is good for nothing. The mask may be right and the model leak
# all the same: through a normalisation over time, through a convolution that is one step too wide, through a shift in
# the wrong direction. So do not trust the code: ask the model.
#
# Change *one* token and see which predictions move. In an honest model only those at that place and after it can. Here
# are an honest model, and three that make use of it to cheat.

# %%
torch.manual_seed(0)
honest = LanguageModel(vocab_size=11, d_model=8, n_heads=2, d_ff=16, n_layers=2).eval()


def peeks(ids):
    """Adds to each prediction a little of the next one: one step from the future."""
    logits = honest(ids)  # (B, T, V)
    return logits + 0.3 * torch.cat([logits[:, 1:], logits[:, -1:]], 1)


def centres(ids):
    """Takes away the mean over time: a normalisation over the wrong axis."""
    logits = honest(ids)  # (B, T, V)
    return logits - logits.mean(1, keepdim=True)


def seven(ids):
    """Honest, unless the last token happens to be a 7."""
    return honest(ids) + (ids[:, -1] == 7)[:, None, None] * 0.5


models = {"honest": honest, "one step ahead": peeks, "mean over time": centres, "if it ends in a 7": seven}

# %% tags=["explore"]
figures.leaks(models, vocab_size=11, n=8)

# %% [markdown]
# Blue is allowed, orange is a leak. The last model is the sly one: it leaks from one position, and for one token only.
# The figure finds it because every token is tried at every position.

# %% [markdown]
# {{card masks.leaks_future}}


# %% tags=["exercise:masks.leaks_future"]
def leaks_future(model, vocab_size, n):
    """Whether a prediction depends on a later token. `model(ids (B, T))` gives logits (B, T, V), for any T ≤ n."""
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(0)
    starts = torch.randint(vocab_size, (20, 1, n), generator=generator)  # (S, 1, T)
    for position in range(1, n):
        ids = starts.repeat(1, vocab_size, 1)  # (S, V, T)
        ids[:, :, position] = torch.arange(vocab_size)  # every token there, and nothing else changed
        with torch.no_grad():
            logits = model(ids.flatten(0, 1)).unflatten(0, ids.shape[:2])  # (S, V, T, V)
        past = logits[:, :, :position]  # (S, V, position, V)
        if not torch.allclose(past, past[:, :1], atol=1e-5):
            return True
    return False
    ### END SOLUTION


# %%
check("masks.leaks_future", leaks_future)

# %% [markdown]
# These few lines belong in the tests of every language model: a leak found here costs a second, one found after
# training costs the training. The book's version, on the four suspects:

# %%
{title: masks.leaks_future(suspect, vocab_size=11, n=8) for title, suspect in models.items()}

# %% [markdown]
# ## 9 · Is the mask needed when writing?
#
# While a model writes, the future does not exist yet: there are only tokens that were written already. So the causal
# mask can go? Think of the two ways to write token after token with two or more layers:
#
# - **the prefix is fed again**: all tokens so far go through all layers, at each step;
# - **a cache**: keys and values of earlier tokens are kept, and only the newest token goes through.
#
# Commit to a prediction: it is the answer to this exercise.

# %% [markdown]
# {{card masks.needed_when_decoding}}


# %% tags=["exercise:masks.needed_when_decoding"]
def needed_when_decoding():
    """Does leaving the causal mask out change the next token? A dict of bool: "with_cache" and "without_cache"."""
    ### BEGIN SOLUTION
    return {"with_cache": False, "without_cache": True}
    ### END SOLUTION


# %%
check("masks.needed_when_decoding", needed_when_decoding)

# %% [markdown]
# Whether right or wrong, now look at the reason. Two layers of attention, the newest position's output, both ways to
# write:

# %%
torch.manual_seed(0)
layers = [MultiHeadAttention(8, 2), MultiHeadAttention(8, 2)]


def fed_again(x, mask):
    """All of x (1, T, D) through both layers; the newest position's output (1, 1, D)."""
    for layer in layers:
        x = x + layer(x, mask=mask)  # (1, T, D)
    return x[:, -1:]  # (1, 1, D)


def cached(x, mask):
    """One token after another; each layer keeps what it has read. The newest position's output (1, 1, D)."""
    kept = [[], []]
    for t in range(x.shape[1]):
        h = x[:, t : t + 1]  # (1, 1, D)
        for layer, memory in zip(layers, kept, strict=True):
            memory.append(h)
            h = h + layer(h, torch.cat(memory, 1), mask[t : t + 1, : t + 1])  # (1, 1, D)
    return h


# %% tags=["explore"]
text = torch.randn(1, 8, 8, generator=torch.Generator().manual_seed(4))  # (1, T, D)
gaps = {"fed again": [], "from the cache": []}
with torch.no_grad():
    for end in range(1, 9):
        for title, way in (("fed again", fed_again), ("from the cache", cached)):
            gap = way(text[:, :end], masks.causal(end)) - way(text[:, :end], torch.zeros(end, end))  # (1, 1, D)
            gaps[title].append(gap.abs().max().item())
figures.decoding(gaps)

# %% [markdown]
# The newest token may look everywhere in any case: its row of the mask is all zeros. What the mask protects are the
# **earlier** tokens. Fed again without it, token 2 suddenly reads token 5 in the first layer, and in the second layer
# the newest token reads a token 2 that it never met in training. A cache froze token 2 when it was the newest: there
# is nothing left to protect. (With a single layer neither way would need the mask. Why?)

# %% [markdown]
# ## 10 · The other mask
#
# BERT is trained by *masking*, too: some input tokens are replaced by the token `[MASK]`, to be guessed from both sides
# (Devlin et al. 2018, §3.1). It has the same name, and people do mix them up: one reads that tokens are masked *when
# attention is calculated*. Predict which of these two pictures has a column of zeros, then look.

# %% tags=["explore"]
figures.bert_mask("the cat sat on the mat", hidden=1)

# %% [markdown]
# `[MASK]` is a token with an embedding, a position, keys and values. Everybody may look at it, and it looks at
# everybody: that is how its place collects what is needed for the guess. An attention mask, on the other hand,
# changes no input; it closes a door between two positions.

# %% [markdown]
# {{card masks.why}}

# %% [markdown] tags=["written:masks.why"]
# In your own words, a few sentences each:
#
# 1. Why does a language model need a causal mask in *training*, and what exactly does the mask make zero, at which
#    step?
# 2. When, while writing text token by token, can it be left out, and why?
# 3. What is the difference between BERT's `[MASK]` and an attention mask?
#
# ### BEGIN SOLUTION
# 1. In training all positions are predicted in one pass, and the answer to position i stands at position i + 1 of the
#    same input. Without a mask the model would copy it, and learn nothing that helps once there is no answer to copy.
#    The mask adds −∞ to the scores of later keys before the softmax, so their weights become exactly 0. Scores, values
#    and outputs do not: the values are still read by later queries, and the output is a mean of what may be seen.
# 2. With cached keys and values: only the newest token asks, and all that is cached is its past, so its row of the mask
#    blocks nothing. If the whole prefix is fed again the mask is needed (with two layers or more): without it earlier
#    tokens would read later ones, and the newest would read these changed states.
# 3. `[MASK]` replaces an input token, so that there is something to guess. Its position takes part in attention like
#    any other, in both directions. An attention mask leaves the inputs alone and decides which query may read which
#    key.
# ### END SOLUTION

# %% [markdown]
# ## What you can do now
#
# - Build the masks that models use, in any of the spellings, and combine them.
# - Keep a softmax and its gradient finite where there is nothing to see.
# - Prove from the outside that a model does not read ahead.
# - Say what masking does: it makes weights zero, between pairs of tokens, and nothing else.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Vaswani et al. 2017, *Attention Is All You Need*, §3.2.3: three uses of attention, and the mask of the decoder.
# - Devlin et al. 2018, *BERT*, §3.1: masked language modelling.
# - Raffel et al. 2020, *Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer*, §3.2.1:
#   masks as architectures.
# - Beltagy et al. 2020, *Longformer*, §3.1: windows, and how far they reach through layers.
#
# **Next** is 03_positions: attention does not know where a token stands, so it has to be told.
