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
# # 01 · Attention: who looks at whom
#
# A word means little by itself. *Bank* wants to know whether *river* or *money* stands nearby. **Attention** lets every
# token ask all others a question, weigh their answers, and take a mean of what they say. You will write it from two
# tensors up to the layer that all Transformers are made of.
#
# **You will be able to**
# - compute scores, weights and outputs of attention, with masks and for unequal lengths;
# - say who asks and who answers, in any diagram;
# - explain the $\sqrt{d_k}$, with a measurement in hand;
# - build a multi-head layer, say what heads cost, and set two of them by hand.
#
# **Time** about three hours. **Before this** 00_start_here.

# %%
import math

import torch
from torch import nn

from autograder import check, progress
from helpers import attention, counting
from helpers.figures import attention as figures
from helpers.widgets.attention import attention_explorer

# %% [markdown]
# ## 1 · A question meets all keys
#
# Each token sends out a **query** $q$, and every token offers a **key** $k$. How well they fit is their dot product.
# For all pairs at once that is one matrix product, and it is divided by $\sqrt{d_k}$, the root of the vectors' length
# (Vaswani et al. 2017, §3.2.1, equation 1):
#
# $$\text{scores} = \frac{q\,k^\top}{\sqrt{d_k}}$$
#
# **Rows ask, columns answer**: there are `Tq` queries and `Tk` keys, and the two need not be equal.

# %% [markdown]
# {{card attention.scores}}


# %% tags=["exercise:attention.scores"]
def scores(q, k):
    """How well each query fits each key: q (…, Tq, d_k), k (…, Tk, d_k) → (…, Tq, Tk)."""
    ### BEGIN SOLUTION
    return torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5  # (…, Tq, Tk)
    ### END SOLUTION


# %%
check("attention.scores", scores)

# %% [markdown]
# ## 2 · Why the root?
#
# People often say that one divides by $d_k$. Before you read on, guess: if the entries of $q$ and $k$ are unit normals,
# how far do their dot products spread when $d_k$ is 4, 64, 1024? A sum of $d_k$ products of mean 0 and variance 1 has
# variance $d_k$. So its standard deviation is … Measure it, or reason, or both.

# %% [markdown]
# {{card attention.score_std}}


# %% tags=["exercise:attention.score_std"]
def score_std(d_k):
    """Standard deviation of the unscaled q·k for unit normal q and k of length d_k."""
    ### BEGIN SOLUTION
    return math.sqrt(d_k)
    ### END SOLUTION


# %%
check("attention.score_std", score_std)

# %% [markdown]
# Here is the measurement on $10^5$ draws, beside the three candidates.

# %%
generator = torch.Generator().manual_seed(0)
for d_k in (4, 64, 256):
    q, k = (torch.randn(100_000, d_k, generator=generator) for _ in range(2))
    print(f"d_k = {d_k:<4} measured {(q * k).sum(-1).std():6.1f}   √d_k = {math.sqrt(d_k):5.1f}   d_k = {d_k}")

# %% [markdown]
# What does a large spread do? The softmax turns into an argmax, and where nothing but the largest counts, a small step
# of the others changes nothing: the gradient is gone. Dividing by $d_k$ overshoots to the other side, where all keys
# look alike.

# %% tags=["explore"]
figures.saturation()

# %% [markdown]
# ## 3 · From scores to answers
#
# A softmax over the **keys** turns each row of scores into weights that add up to 1, and the output is the weighted
# mean of the **values** $v$. A mask says where one may not look; the next notebook is all about masks. Here two kinds
# must work: boolean, where True *may* look, and additive, 0 or $-\infty$, which is added to the scores.

# %% [markdown]
# {{card attention.attend}}


# %% tags=["exercise:attention.attend"]
def attend(q, k, v, mask=None):
    """q (…, Tq, d_k), k (…, Tk, d_k), v (…, Tk, d_v) → output (…, Tq, d_v) and weights (…, Tq, Tk)."""
    ### BEGIN SOLUTION
    fit = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, Tq, Tk)
    if mask is not None:
        fit = fit.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else fit + mask
    weights = fit.softmax(-1)
    return weights @ v, weights  # (…, Tq, d_v), (…, Tq, Tk)
    ### END SOLUTION


# %%
check("attention.attend", attend)

# %% [markdown]
# Play with it. Four heads were built by hand so that each does one thing. Type a sentence of your own, hover over a
# word, and turn the sharpness down to see every head become a mean.

# %% tags=["explore", "nbval-ignore-output"]
attention_explorer()

# %% [markdown]
# ## 4 · Who asks and who answers
#
# "The attention of $y$ over $x$": does $y$ look at $x$, or is it looked at? The phrase is used both ways, and answer
# sheets get it wrong. So say instead **who asks**. Whoever asks gives the queries; whoever is looked at gives keys
# *and* values. The shape of the map tells which is which, and so do gradients.

# %% tags=["explore"]
figures.roles()

# %% [markdown]
# {{card attention.roles}}


# %% tags=["exercise:attention.roles"]
def roles(x, y):
    """A dict from each of the three names on the card to its (q, k, v), taken from x (B, Tx, D) and y (B, Ty, D)."""
    ### BEGIN SOLUTION
    asks_y = (x, y, y)
    return {"self-attention over x": (x, x, x), "x attends to y": asks_y, "decoder attends to encoder": asks_y}
    ### END SOLUTION


# %%
check("attention.roles", roles)

# %% [markdown]
# Another thing that is often said: self-attention looks at the *neighbourhood* of a token. Does it? Here the gradient
# asks which of 9 inputs the output of token 4 depends on.

# %%
torch.manual_seed(1)
layer, x = attention.MultiHeadAttention(8, 2), torch.randn(1, 9, 8, requires_grad=True)
layer(x)[0, 4].sum().backward()
print("token 4 depends on tokens", (x.grad[0].abs().sum(-1) > 0).nonzero().flatten().tolist())

# %% [markdown]
# All of them. Without a mask nothing in attention knows what near and far are: that is a convolution's habit. (Whether
# it knows the *order* at all is a question for notebook 03.)

# %% [markdown]
# ## 5 · The other way to score
#
# The first attention, made for translation, did not multiply queries and keys. It sent both through a small network
# (Bahdanau et al. 2015, appendix A.1.2):
#
# $$\text{score}(q, k) = v^\top \tanh(q\,W_q + k\,W_k)$$

# %% [markdown]
# {{card attention.additive_scores}}


# %% tags=["exercise:attention.additive_scores"]
def additive_scores(q, k, w_q, w_k, v):
    """q (…, Tq, d_k), k (…, Tk, d_k), w_q and w_k (d_k, d_hidden), v (d_hidden,) → (…, Tq, Tk)."""
    ### BEGIN SOLUTION
    asked = (q @ w_q).unsqueeze(-2)  # (…, Tq, 1, d_hidden)
    offered = (k @ w_k).unsqueeze(-3)  # (…, 1, Tk, d_hidden)
    return torch.tanh(asked + offered) @ v  # (…, Tq, Tk)
    ### END SOLUTION


# %%
check("attention.additive_scores", additive_scores)

# %% [markdown]
# Why did dot products win? Two reasons are often given: that the network is hard to differentiate, and that it learns
# worse. Test the first: is there a gradient?

# %%
generator = torch.Generator().manual_seed(2)
q, k = torch.randn(3, 4, generator=generator), torch.randn(5, 4, generator=generator)
w = torch.randn(4, 6, generator=generator, requires_grad=True)
attention.additive_scores(q, k, w, w, torch.ones(6)).sum().backward()
print("gradient everywhere:", bool((w.grad != 0).all()))

# %% [markdown]
# And the second: how much gradient does the softmax leave to each kind of scores, as $d_k$ grows?

# %%
for kind, left in figures.gradient_left().items():
    print(f"{kind:<16}", "   ".join(f"d_k = {d}: {g:.3f}" for d, g in zip((4, 64, 512), left, strict=True)))

# %% [markdown]
# Additive scores do *better* than unscaled dot products at large $d_k$, as the paper says (Vaswani et al. 2017,
# §3.2.1), and the root closes the gap. What is left is the hardware: a dot product is one matrix product. So count.

# %% [markdown]
# {{card attention.dot_cost}}


# %% tags=["exercise:attention.dot_cost"]
def dot_cost(n, d_k):
    """FLOPs of the scores of n queries and n keys: two for each multiply-add of a matrix product."""
    ### BEGIN SOLUTION
    return 2 * d_k * n**2
    ### END SOLUTION


# %%
check("attention.dot_cost", dot_cost)

# %% [markdown]
# {{card attention.additive_cost}}


# %% tags=["exercise:attention.additive_cost"]
def additive_cost(n, d_k, d_hidden):
    """FLOPs of additive scores: both projections once for each token, then the product with v for each pair."""
    ### BEGIN SOLUTION
    projections = 2 * (2 * n * d_k * d_hidden)
    return projections + 2 * n**2 * d_hidden
    ### END SOLUTION


# %%
check("attention.additive_cost", additive_cost)

# %%
n, d = 512, 64
print(f"dot {counting.dot_cost(n, d):,} and additive {counting.additive_cost(n, d, d):,} FLOPs: about the same")
print(f"but on the way {n * n:,} numbers for the dot product, {n * n * d:,} for additive scores")

# %% [markdown]
# The FLOPs are alike, and a counter that looks at matrix products alone misses the difference. Clock and memory do not.

# %% tags=["explore"]
figures.dot_or_additive()

# %% [markdown]
# ## 6 · Many heads
#
# One softmax gives each query *one* set of weights. **Heads** give it several: the features are cut into `n_heads`
# slices of $d_k = d_\text{model} / h$, and each slice attends for itself (Vaswani et al. 2017, §3.2.2). First the
# cutting, which hides the most popular bug of all.

# %% [markdown]
# {{card attention.split_heads}}


# %% tags=["exercise:attention.split_heads"]
def split_heads(x, n_heads):
    """(B, T, D) → (B, n_heads, T, D // n_heads): head h takes the features h·d_k … (h+1)·d_k − 1."""
    ### BEGIN SOLUTION
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)  # (B, H, T, K)
    ### END SOLUTION


# %%
check("attention.split_heads", split_heads)

# %% [markdown]
# {{card attention.merge_heads}}


# %% tags=["exercise:attention.merge_heads"]
def merge_heads(x):
    """(B, H, T, K) → (B, T, H·K): puts back what `split_heads` took apart."""
    ### BEGIN SOLUTION
    b, h, t, k = x.shape
    return x.transpose(1, 2).reshape(b, t, h * k)  # (B, T, D)
    ### END SOLUTION


# %%
check("attention.merge_heads", merge_heads)

# %% [markdown]
# Why not `view(B, n_heads, T, d_k)` at once? The shape would be right. Number the entries and see whose they are.

# %%
x = torch.arange(2 * 4).view(1, 2, 4)  # (B, T, D): token 0 holds 0 … 3, token 1 holds 4 … 7
print("head 0, split:     ", attention.split_heads(x, 2)[0, 0].tolist())
print("head 0, only view: ", x.view(1, 2, 2, 2)[0, 0].tolist())

# %% [markdown]
# With `view` alone head 0 holds token 0 twice and never meets token 1. No error, and the loss still falls a little.
#
# Now the whole layer. Four linear maps: queries, keys and values in, one out. The last one mixes what the heads found.

# %% [markdown]
# {{card attention.MultiHeadAttention}}


# %% tags=["exercise:attention.MultiHeadAttention"]
class MultiHeadAttention(nn.Module):
    """n_heads heads side by side; its weights are q_proj, k_proj, v_proj and out_proj, linear with biases."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        ### BEGIN SOLUTION
        self.n_heads = n_heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x, memory=None, mask=None):
        """x (B, Tq, D) asks, memory (B, Tk, D) or x itself answers → (B, Tq, D)."""
        ### BEGIN SOLUTION
        source = x if memory is None else memory
        projected = self.q_proj(x), self.k_proj(source), self.v_proj(source)  # (B, T, D) each
        asks, offers, says = (p.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for p in projected)  # (B, H, T, K)
        fit = asks @ offers.mT / math.sqrt(asks.shape[-1])  # (B, H, Tq, Tk)
        if mask is not None:
            fit = fit.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else fit + mask
        heard = fit.softmax(-1) @ says  # (B, H, Tq, K)
        return self.out_proj(heard.transpose(1, 2).flatten(2))  # (B, Tq, D)
        ### END SOLUTION


# %%
check("attention.MultiHeadAttention", MultiHeadAttention)

# %% [markdown]
# That is the layer. Everything else in a Transformer is residuals, norms, and a two-layer network for each token.
#
# ## 7 · What heads cost
#
# Small heads are cheaper than a big one, people say, in time and in memory. Count one self-attention with its four
# projections, and watch what becomes of `n_heads`.

# %% [markdown]
# {{card attention.head_flops}}


# %% tags=["exercise:attention.head_flops"]
def head_flops(n, d_model, n_heads):
    """FLOPs of one multi-head self-attention over n tokens, its four projections included."""
    ### BEGIN SOLUTION
    d_k = d_model // n_heads
    projections = 4 * 2 * n * d_model**2
    scores_and_sum = n_heads * 2 * (2 * n**2 * d_k)
    return projections + scores_and_sum
    ### END SOLUTION


# %%
check("attention.head_flops", head_flops)

# %% tags=["explore"]
figures.heads()

# %% [markdown]
# Neither is saved: `n_heads · d_k` is `d_model` again, and each head keeps a table of weights of its own. So what are
# heads for?
#
# ## 8 · Two habits at once
#
# Set two heads by hand. With inputs `eye(n)` row $i$ of `w_q[h]` *is* the query of token $i$.

# %% [markdown]
# {{card attention.two_patterns}}


# %% tags=["exercise:attention.two_patterns"]
def two_patterns(n):
    """(w_q, w_k), each (2, n, n): head 0 looks at the token before (row 0 is free), head 1 at the first."""
    ### BEGIN SOLUTION
    strength = 100 * math.sqrt(n)
    table = torch.zeros(2, n, n)
    for i in range(n):
        table[0, i, max(i - 1, 0)] = strength
        table[1, i, 0] = strength
    return table, torch.stack([torch.eye(n), torch.eye(n)])  # (2, n, n) each
    ### END SOLUTION


# %%
check("attention.two_patterns", two_patterns)

# %% tags=["explore"]
figures.patterns()

# %% [markdown]
# Heads in trained models have such habits too: some look at the token before, some at the first token or at a
# separator, some at the object of a verb (Clark et al. 2019, §3). And many can be taken out afterwards at little loss
# (Michel et al. 2019, §3).
#
# ## 9 · How far a layer hears
#
# Replace the softmax by an argmax, so that each head copies the value of *one* token. From how many inputs can a
# value then reach a node, after several layers, if the choices are held fixed? Draw the tree: one head, two heads,
# and with the residual path, which brings a token's own value along.

# %% [markdown]
# {{card attention.receptive_field}}


# %% tags=["exercise:attention.receptive_field"]
def receptive_field(n_layers, n_heads, residual):
    """The most inputs whose values can reach one node of argmax attention."""
    ### BEGIN SOLUTION
    branches = n_heads + 1 if residual else n_heads
    return branches**n_layers
    ### END SOLUTION


# %%
check("attention.receptive_field", receptive_field)

# %% [markdown]
# Count it on a network built for it: node $i$ of each layer copies from $h\cdot i, h\cdot i + 1, …$, and the gradient
# tells which inputs arrive.

# %%
for h in (1, 2, 3):
    x = torch.ones(3**3, requires_grad=True)
    y = x
    for _ in range(3):
        chosen = torch.arange(len(y) // h)[:, None] * h + torch.arange(h)  # (T, H)
        y = y[chosen].sum(-1)  # (T,)
    (slope,) = torch.autograd.grad(y[0], x)
    print(f"{h} heads, 3 layers: {int((slope > 0).sum())} inputs reach node 0, {h}³ = {h**3}")

# %% tags=["explore"]
figures.reach()

# %% [markdown]
# ## 10 · Say it

# %% [markdown]
# {{card attention.why}}

# %% [markdown] tags=["written:attention.why"]
# ### BEGIN SOLUTION
# 1. The spread of $q\cdot k$ grows like $\sqrt{d_k}$ (8 at $d_k$ = 64, measured above). Scores that wide saturate the
#    softmax and its gradient vanishes; dividing by $d_k$ makes them so narrow that all keys get nearly the same weight.
# 2. In self-attention queries, keys and values come from the same tokens; a decoder that attends to an encoder takes
#    queries from its own state, keys and values from the encoder. Both can look at every position, unless masked.
# 3. Hardware: one matrix product and $n^2$ numbers, where additive scores need $n^2 d_\text{hidden}$ on the way.
#    Additive scores are differentiable, and better than *unscaled* dot products at large $d_k$; the root closes that
#    gap.
# 4. Heads cost the same FLOPs and $h$ times the memory for weights; they bring several places to look at in one layer.
# 5. The token before and the first token: a single softmax has one set of weights for each query and would blur the
#    two.
# ### END SOLUTION

# %% [markdown]
# ## What you can do now
#
# Write attention from two tensors up; say who asks and who answers; defend the root; build, cost and set heads. Next,
# 02_masks: who must *not* look at whom.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Read on.** Vaswani et al. 2017, *Attention is all you need*, §3.2. Bahdanau et al. 2015, *Neural machine translation
# by jointly learning to align and translate*, §3 and appendix A.1.2. Clark et al. 2019, *What does BERT look at?*, §3.
# Michel et al. 2019, *Are sixteen heads really better than one?*, §3.
