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
# In *the cat sat on the mat because it was tired*, what is *it*? To know, the word has to look at the others and decide
# how much each of them matters. **Attention** is this look, as a formula of two products and a softmax. All of a
# Transformer is built around it.
#
# **You will be able to**
# - write attention from nothing, with masks, and read its weights as a map;
# - say why scores are divided by $\sqrt{d_k}$, and show what happens if they are not;
# - keep apart who asks and who answers, in an encoder, in a decoder and between the two;
# - build the multi-head layer, with the numbers that PyTorch's own gives;
# - count what it costs, and say what heads are for.
#
# **Time** about three and a half hours. **Before this** 00_start_here, and tensors: `@`, `softmax`, broadcasting.

# %%
import math

import torch
from torch import nn

from autograder import check, progress
from helpers import attention, counting
from helpers.figures import attention as figures

# %% [markdown]
# ## 1 · Everyone asks everyone
#
# Every token brings three vectors. Its **query** says what it is looking for, its **key** what it has to offer, its
# **value** what it hands over if it is chosen. Query $i$ and key $j$ fit well if they point the same way, and that is
# what a dot product measures. So there is a *score* for each pair, and a single product of matrices has them all:
#
# $$S = \frac{Q K^\top}{\sqrt{d_k}}$$
#
# Row $i$ belongs to the one who asks, column $j$ to the one who may answer (Vaswani et al. 2017, §3.2.1). Why there
# is a $\sqrt{d_k}$ is the next part's question.

# %% [markdown]
# {{card attention.scores}}


# %% tags=["exercise:attention.scores"]
def scores(q, k):
    """q (…, Tq, d_k) and k (…, Tk, d_k) to scores (…, Tq, Tk): q kᵀ / √d_k."""
    ### BEGIN SOLUTION
    d_k = q.shape[-1]
    return q @ k.transpose(-2, -1) / math.sqrt(d_k)  # (…, Tq, Tk)
    ### END SOLUTION


# %%
check("attention.scores", scores)

# %% [markdown]
# This table is all that tokens ever learn about each other. Note what is *not* in it: where in the text they stand.

# %% [markdown]
# ## 2 · Why $\sqrt{d_k}$?
#
# Ask around and you will hear three things: scores are divided by $d_k$; by $\sqrt{d_k}$; or it hardly matters, it only
# keeps large numbers from overflowing. Which do you believe? Write it down, then let us see.
#
# The last is quickly tried. Here are scores far larger than any that you will meet:

# %%
torch.tensor([1000.0, 800.0, 600.0]).softmax(-1).tolist()

# %% [markdown]
# No overflow: PyTorch takes the largest score away from all of them before it does anything else. But look at what the
# softmax made of them: one takes all.
#
# How large do dot products get, then? Take queries and keys whose features are independent, with mean 0 and standard
# deviation 1, and measure. Predict first: if $d_k$ becomes 4 times as large, what becomes of the spread?

# %% [markdown]
# {{card attention.score_std}}


# %% tags=["exercise:attention.score_std"]
def score_std(d_k):
    """Standard deviation of q·k, unscaled, for q and k of d_k independent unit normals."""
    ### BEGIN SOLUTION
    # Each product of two unit normals has variance 1, and variances of independent terms add up.
    variance = d_k * 1.0
    return math.sqrt(variance)
    ### END SOLUTION


# %%
check("attention.score_std", score_std)

# %% [markdown]
# Was your prediction right? Here is the spread, measured on 100,000 draws:

# %%
for width in (4, 16, 64):
    one, other = torch.randn(2, 100_000, width, generator=torch.Generator().manual_seed(0))  # (draws, d_k) each
    print(f"d_k = {width:2}: spread {(one * other).sum(-1).std():.1f}")

# %% [markdown]
# Four times the width, twice the spread. This is footnote 4 of Vaswani et al. 2017, and the scale follows from it:
# divide by the standard deviation, and the scores have a spread of 1 at any width. What the other two choices do, you
# can see on random queries with 32 keys each:

# %% tags=["explore"]
figures.saturation()

# %% [markdown]
# - **Unscaled**, a wide query gives all its weight to one key, at random and before anything was learned. The softmax
#   is *saturated*: the gradient first grows with the length of the keys, and then hardly any of it gets through.
# - **Divided by $d_k$**, all keys look alike, and what reaches the query shrinks with the width, too.
# - **Divided by $\sqrt{d_k}$**, both curves are flat. The width has become a free choice.

# %% [markdown]
# ## 3 · Attend
#
# A softmax over each row turns scores into **weights**: none is negative, and each row adds up to 1.

# %% tags=["explore"]
figures.steps("the cat sat on the mat")

# %% [markdown]
# The weights then mix the values: the output of a query is a weighted mean of what the keys hand over.
#
# $$\text{attention}(Q, K, V) = \text{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V$$

# %% tags=["explore"]
figures.mix()

# %% [markdown]
# A mean never leaves the range of what it averages: attention by itself chooses and mixes, and makes nothing new.
#
# Sometimes a query must not see a key. A **mask** takes care of that before the softmax, so that the others share out
# the whole 1. It comes in two spellings: boolean, where True means *may look*, and additive, 0 where one may look and
# $-\infty$ where not. (02_masks is all about them.)

# %% [markdown]
# {{card attention.attend}}


# %% tags=["exercise:attention.attend"]
def attend(q, k, v, mask=None):
    """q (…, Tq, d_k), k (…, Tk, d_k), v (…, Tk, d_v) to output (…, Tq, d_v) and weights (…, Tq, Tk).

    The mask is None, boolean (True: may look) or additive, and broadcasts to the weights.
    """
    ### BEGIN SOLUTION
    fit = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, Tq, Tk)
    if mask is not None and mask.dtype == torch.bool:
        fit = fit.masked_fill(~mask, -math.inf)
    elif mask is not None:
        fit = fit + mask
    weights = fit.softmax(dim=-1)  # (…, Tq, Tk)
    return weights @ v, weights  # (…, Tq, d_v), (…, Tq, Tk)
    ### END SOLUTION


# %%
check("attention.attend", attend)

# %% [markdown]
# An experiment with the reference. Shuffle the tokens, attend, and compare with attending first and shuffling
# afterwards. Is *machine translating* the same as *translating machine*?

# %%
generator = torch.Generator().manual_seed(0)
x = torch.randn(6, 4, generator=generator)  # (T, D)
order = torch.randperm(6, generator=generator)  # (T,)
shuffled = x[order]  # (T, D)
before, after = attention.attend(shuffled, shuffled, shuffled)[0], attention.attend(x, x, x)[0][order]  # (T, D) each
print("the same outputs, in the new order:", torch.allclose(before, after, atol=1e-6))

# %% [markdown]
# To attention a text is a bag of words. If the order matters, the tokens must carry it: that is 03_positions.

# %% [markdown]
# ## 4 · Who asks, who answers?
#
# Queries need not come from the same text as keys and values. A translator that writes French looks at the English
# original: French asks, English answers. Such a thing is often written as "attention of *y* over *x*", and people read
# that both ways. In this course we say **x attends to y**: queries from x, keys and values from y.

# %% tags=["explore"]
figures.roles()

# %% [markdown]
# Whoever asks decides the number of rows, and gets a vector for each of them. Whoever answers gives the content. So if
# you are ever in doubt, ask: *who needs a vector for each of its tokens?*

# %% [markdown]
# {{card attention.roles}}


# %% tags=["exercise:attention.roles"]
def roles(x, y):
    """x (B, Tx, D) and y (B, Ty, D): for each of three kinds of attention, where (q, k, v) come from.

    Keys "self-attention over x", "x attends to y", and "decoder attends to encoder", where x is the decoder's state
    and y the encoder's output.
    """
    ### BEGIN SOLUTION
    return {
        "self-attention over x": (x, x, x),
        "x attends to y": (x, y, y),
        "decoder attends to encoder": (x, y, y),
    }
    ### END SOLUTION


# %%
check("attention.roles", roles)

# %% [markdown]
# Shapes and gradients tell the same story. The gradient of an output with respect to the values says whose content has
# arrived:

# %%
decoder = torch.randn(1, 4, 8, generator=generator, requires_grad=True)  # (1, Tx, D)
encoder = torch.randn(1, 7, 8, generator=generator, requires_grad=True)  # (1, Ty, D)
for title, (ask, offer, say) in attention.roles(decoder, encoder).items():
    heard, table = attention.attend(ask.detach(), offer.detach(), say)  # (1, Tq, D), (1, Tq, Tk)
    from_x, from_y = torch.autograd.grad(heard.sum(), (decoder, encoder), allow_unused=True)
    print(f"{title:27} weights {tuple(table.shape)}, content of {'x' if from_y is None else 'y'}")

# %% [markdown]
# Another thing that one hears: self-attention looks at a token's *neighbourhood*, and only attention from decoder to
# encoder sees a whole text. Predict: in a single layer of self-attention over 49 tokens, how many inputs can move the
# output in the middle?

# %% tags=["explore"]
figures.reach_of_one_layer()

# %% [markdown]
# All of them, the far ones as well as the near ones. A neighbourhood is what a convolution has; attention has one only
# if a mask gives it one. The two kinds of attention differ in where keys and values come from, and in nothing else.

# %% [markdown]
# ## 5 · The other way to score
#
# The first attention in translation did not multiply queries with keys. It *added* them, sent the sum through a tanh,
# and asked a vector $v$ for a verdict (Bahdanau et al. 2015, §3.1 and appendix A.1.2):
#
# $$s_{ij} = v^\top \tanh(q_i W_q + k_j W_k)$$
#
# It is a small network of one hidden layer, run for every pair.

# %% [markdown]
# {{card attention.additive_scores}}


# %% tags=["exercise:attention.additive_scores"]
def additive_scores(q, k, w_q, w_k, v):
    """vᵀ tanh(q w_q + k w_k) for each query and key, (…, Tq, Tk).

    q (…, Tq, d_k), k (…, Tk, d_k), w_q and w_k (d_k, d_hidden), v (d_hidden,).
    """
    ### BEGIN SOLUTION
    asked = (q @ w_q).unsqueeze(-2)  # (…, Tq, 1, d_hidden)
    offered = (k @ w_k).unsqueeze(-3)  # (…, 1, Tk, d_hidden)
    hidden = torch.tanh(asked + offered)  # (…, Tq, Tk, d_hidden)
    return hidden @ v  # (…, Tq, Tk)
    ### END SOLUTION


# %%
check("attention.additive_scores", additive_scores)

# %% [markdown]
# Hardly anyone uses it today. Why did dot products win? Three explanations are in circulation:
#
# 1. a tanh gets in the way of the gradient, additive scores are not properly differentiable;
# 2. dot products learn better;
# 3. dot products are cheaper.
#
# Put a mark at those you believe, and take them one by one. For the first, PyTorch compares a function's gradient with
# tiny steps in each direction:

# %%
shapes = [(3, 4), (5, 4), (4, 6), (4, 6), (6,)]  # q, k, w_q, w_k, v
inputs = [torch.randn(s, generator=generator, dtype=torch.float64, requires_grad=True) for s in shapes]
print("the gradient is right:", torch.autograd.gradcheck(attention.additive_scores, inputs))

# %% [markdown]
# Differentiable everywhere, like any network with a tanh in it. For the second, let three kinds of scores learn the
# same thing: find the one key in eight that belongs to a query, and say what value it has. The projections are trained
# from scratch, at several widths, with the same optimiser and the same number of steps.

# %% tags=["explore"]
figures.accuracy()

# %% [markdown]
# Additive scores learn this at any width. *Unscaled* dot products fall behind as $d_k$ grows, for the reason that you
# saw in part 2; with the scale the gap is gone. This is how Vaswani et al. 2017, §3.2.1 tell it, too: additive
# attention outperforms dot products *without scaling* at larger $d_k$.
#
# There remains the cost. Begin with FLOPs: two for each multiply-add of a product of matrices, and nothing else.

# %% [markdown]
# {{card attention.dot_cost}}


# %% tags=["exercise:attention.dot_cost"]
def dot_cost(n, d_k):
    """FLOPs of the scores q kᵀ alone, for n queries and n keys of length d_k."""
    ### BEGIN SOLUTION
    pairs = n * n
    return pairs * d_k * 2
    ### END SOLUTION


# %%
check("attention.dot_cost", dot_cost)

# %% [markdown]
# Each of the $n^2$ pairs costs $2 d_k$. And the additive scores?

# %% [markdown]
# {{card attention.additive_cost}}


# %% tags=["exercise:attention.additive_cost"]
def additive_cost(n, d_k, d_hidden):
    """FLOPs of vᵀ tanh(q w_q + k w_k) alone: both projections once for each token, then v for each pair."""
    ### BEGIN SOLUTION
    projections = 2 * (n * d_k * d_hidden)  # multiply-adds, queries and keys
    verdicts = n * n * d_hidden
    return 2 * (projections + verdicts)
    ### END SOLUTION


# %%
check("attention.additive_cost", additive_cost)

# %%
for n in (64, 512, 4096):
    ratio = counting.additive_cost(n, 64, 64) / counting.dot_cost(n, 64)
    print(f"{n:5} tokens: additive takes {ratio:.2f} times the FLOPs")

# %% [markdown]
# For long texts that is no difference at all. So it is not FLOPs either? Now measure, on this very machine, what is
# kept in memory for the gradient, and how long it takes:

# %% tags=["explore", "nbval-ignore-output"]
figures.dot_against_additive()

# %% [markdown]
# Here is the reason. Additive scores need a vector of $d_{hidden}$ numbers *for each pair* before $v$ can make one of
# it, and every one goes through memory and a tanh. A dot product is one product of matrices, the thing that hardware
# does best, and keeps one number for each pair. Same slope, another world.

# %% [markdown]
# ## 6 · Many heads
#
# One softmax has one set of weights for each query. If a verb wants its subject *and* its object, it has to blur the
# two. So the layer attends several times side by side, with several **heads**, each on its own $d_k = d_{model} /
# n_{heads}$ features (Vaswani et al. 2017, §3.2.2).
#
# Nothing in `attend` needs to change: heads are one more axis in front, `(B, H, T, K)`. The only question is how to get
# there. Each *token's features* are cut, never the text:

# %% tags=["explore"]
figures.two_cuts()

# %% [markdown]
# The picture on the right has the very same shape, and no error will ever tell you. Its head 0 has never seen the
# second half of the text.

# %% [markdown]
# {{card attention.split_heads}}


# %% tags=["exercise:attention.split_heads"]
def split_heads(x, n_heads):
    """x (B, T, D) to (B, n_heads, T, D / n_heads); head h gets the h-th block of each token's features."""
    ### BEGIN SOLUTION
    batch, time, d_model = x.shape
    x = x.reshape(batch, time, n_heads, d_model // n_heads)  # (B, T, H, K)
    return x.transpose(1, 2)  # (B, H, T, K)
    ### END SOLUTION


# %%
check("attention.split_heads", split_heads)

# %% [markdown]
# And back: the heads' outputs are laid side by side again, token by token.

# %% [markdown]
# {{card attention.merge_heads}}


# %% tags=["exercise:attention.merge_heads"]
def merge_heads(x):
    """x (B, H, T, K) to (B, T, H · K), the way back from `split_heads`."""
    ### BEGIN SOLUTION
    batch, n_heads, time, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, time, n_heads * d_k)  # (B, T, D)
    ### END SOLUTION


# %%
check("attention.merge_heads", merge_heads)

# %% [markdown]
# Now the whole layer. Three projections make queries, keys and values; heads attend; a fourth projection mixes what the
# heads have found, which otherwise would stay in separate drawers.

# %% [markdown]
# {{card attention.MultiHeadAttention}}


# %% tags=["exercise:attention.MultiHeadAttention"]
class MultiHeadAttention(nn.Module):
    """n_heads heads side by side; submodules q_proj, k_proj, v_proj, out_proj, linear, with biases.

    forward: x (B, Tq, D) attends to memory (B, Tk, D), or to itself; the mask broadcasts to (B, H, Tq, Tk).
    Returns (B, Tq, D).
    """

    def __init__(self, d_model, n_heads):
        super().__init__()
        ### BEGIN SOLUTION
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x, memory=None, mask=None):
        ### BEGIN SOLUTION
        def heads(features):
            return features.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, K)

        source = x if memory is None else memory
        q, k, v = heads(self.q_proj(x)), heads(self.k_proj(source)), heads(self.v_proj(source))  # (B, H, T, K) each
        fit = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, H, Tq, Tk)
        if mask is not None and mask.dtype == torch.bool:
            fit = fit.masked_fill(~mask, -math.inf)
        elif mask is not None:
            fit = fit + mask
        found = fit.softmax(dim=-1) @ v  # (B, H, Tq, K)
        return self.out_proj(found.transpose(1, 2).flatten(2))  # (B, Tq, D)
        ### END SOLUTION


# %%
check("attention.MultiHeadAttention", MultiHeadAttention)

# %% [markdown]
# This is the real thing. Give PyTorch's own layer the reference's weights (it keeps the first three projections in one
# matrix), and the two agree:

# %%
torch.manual_seed(0)
ours, theirs = attention.MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
with torch.no_grad():
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in (ours.q_proj, ours.k_proj, ours.v_proj)]))  # (3 · D, D)
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in (ours.q_proj, ours.k_proj, ours.v_proj)]))  # (3 · D,)
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    text, original = torch.randn(2, 5, 12), torch.randn(2, 7, 12)  # (B, Tq, D), (B, Tk, D)
    same = torch.allclose(ours(text, original), theirs(text, original, original)[0], atol=1e-6)
print("the same numbers:", same)

# %% [markdown]
# ## 7 · What do heads cost?
#
# "Several small heads do as much as a big one, but in less time and memory." It sounds right: each head works on a
# fraction of the features. Predict what 8 heads save against 1, in FLOPs, and in memory for the attention weights. Then
# count.

# %% [markdown]
# {{card attention.head_flops}}


# %% tags=["exercise:attention.head_flops"]
def head_flops(n, d_model, n_heads):
    """FLOPs of one multi-head self-attention over n tokens, with its four projections."""
    ### BEGIN SOLUTION
    d_k = d_model // n_heads
    projection = 2 * n * d_model * d_model
    one_head = 2 * n * d_k * n  # its scores; its mix of the values takes as many
    return 4 * projection + n_heads * 2 * one_head
    ### END SOLUTION


# %%
check("attention.head_flops", head_flops)

# %% [markdown]
# Count it the other way round as well: a counter that listens to a layer while it runs, and the size of its weights.

# %% tags=["explore"]
figures.head_cost()

# %% [markdown]
# Each head is cheaper by exactly the factor by which there are more of them. And each has an $n \times n$ table of
# weights of its own, so there memory even grows. (Fused kernels never write that table down: Dao et al. 2022, §3.1.
# Then heads cost nothing, and still save nothing.)

# %% [markdown]
# ## 8 · What do heads bring?
#
# Not savings, then, but several places to look at in the same layer. In trained models one finds heads that look at
# the token before and others that gather at one special token (Clark et al. 2019, §3.1 and §3.2). Could one head do
# both?

# %% tags=["explore"]
figures.patterns()

# %% [markdown]
# Two softmaxes give 1 to each of two places; a single one has to share. (The first token has nothing before it. Where
# it looks in head 0 is left to you; here it looks at the end.) Build such heads by hand.

# %% [markdown]
# {{card attention.two_patterns}}


# %% tags=["exercise:attention.two_patterns"]
def two_patterns(n):
    """w_q and w_k, each (2, n, n), for inputs eye(n): head 0 looks at the token before, head 1 at the first."""
    ### BEGIN SOLUTION
    loud = 25 * math.sqrt(n)  # scores are divided by √n: a score of 25 among zeros takes all the weight
    w_q = torch.zeros(2, n, n)
    for i in range(n):
        w_q[0, i, max(i - 1, 0)] = loud
        w_q[1, i, 0] = loud
    w_k = torch.stack([torch.eye(n), torch.eye(n)])  # (2, n, n)
    return w_q, w_k
    ### END SOLUTION


# %%
check("attention.two_patterns", two_patterns)

# %% [markdown]
# Here are heads with characters of their own, on a sentence of yours. Type, choose heads, and hover over a word to see
# whom it asks. With low sharpness every head becomes the last one. Why?

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.attention import attention_explorer

attention_explorer("the cat saw the other cats and the dog")

# %% [markdown]
# Are all heads needed? After training, many can be taken out with little loss, in some layers all but one (Michel et
# al. 2019, §3). What is useful to learn with is not always needed in the end.

# %% [markdown]
# ## 9 · How far does a node see?
#
# In a stack of layers, what a token reads has itself been reading. To count how far that goes, make attention as narrow
# as it can be: **argmax attention**, where each head brings the value of exactly one token. In a layer with a
# **residual path** a token keeps its own value too. Follow the lines down from the node at the top:

# %% tags=["explore"]
figures.trees()

# %% [markdown]
# We count *values*, with the choices held fixed. Who is chosen depends on all keys, of course; that is another way in,
# and argmax lets no gradient through it.
#
# How many inputs can reach one node at most, after any number of layers?

# %% [markdown]
# {{card attention.receptive_field}}


# %% tags=["exercise:attention.receptive_field"]
def receptive_field(n_layers, n_heads, residual):
    """The most inputs whose values can reach one node, n_layers up; a text as long as you need."""
    ### BEGIN SOLUTION
    branches = n_heads + 1 if residual else n_heads
    return branches**n_layers
    ### END SOLUTION


# %%
check("attention.receptive_field", receptive_field)

# %% [markdown]
# Do not take a formula's word for it. `count_inputs` builds the network, with weights of 0 and 1, and counts the inputs
# that have a gradient at its top node:

# %%
for h, keeps in [(1, False), (1, True), (2, False), (2, True), (5, False)]:
    counted = [figures.count_inputs(depth, h, keeps) for depth in (1, 2, 3, 4)]
    print(f"heads: {h}, residual path: {keeps!s:5} → inputs after 1 to 4 layers: {counted}")

# %% tags=["explore"]
figures.growth()

# %% [markdown]
# One hard head without a residual path never sees more than a single input, however deep the network. A second branch,
# from a second head or from the residual path, and it grows exponentially. (A softmax reads everybody at once, but the
# more evenly, the less each of them counts.)

# %% [markdown]
# ## 10 · In your own words

# %% [markdown]
# {{card attention.why}}

# %% [markdown] tags=["written:attention.why"]
# Two or three sentences each, with a number from this notebook wherever there is one:
#
# 1. Why are scores divided by $\sqrt{d_k}$, and not by $d_k$ or by nothing?
# 2. What is the difference between self-attention and a decoder's attention to an encoder, and how far can each look?
# 3. Why did dot products win over additive scores?
# 4. What do many heads cost, and what do they bring?
# 5. Name two patterns that two heads of one layer can follow at once and a single head cannot.
#
# ### BEGIN SOLUTION
# 1. The dot product of two vectors of d_k unit normals has standard deviation √d_k: 8 for d_k = 64. Unscaled, such
#    scores saturate the softmax: nearly all weight on one key, and hardly any gradient. Divided by d_k they would have
#    a spread of 1/8, so that all keys look alike. By √d_k the spread is 1 at any width.
# 2. In self-attention queries, keys and values come from the same tokens. Between decoder and encoder, queries come
#    from the decoder, keys and values from the encoder, so there is an output for each token of the decoder. Both reach
#    every position in one layer (49 of 49 in the experiment), unless a mask forbids it.
# 3. They fit the hardware: one product of matrices, and one number for each pair, where additive scores need d_hidden
#    numbers for each pair. FLOPs are nearly the same (1.25 times at 512 tokens, 1.03 at 4096). Additive scores are
#    differentiable and learn well; they beat unscaled dot products at large d_k, and the scale closes that gap.
# 4. No FLOPs more and none less: each head has d_model / n_heads features, and there are n_heads of them. The weights
#    take n_heads · n² numbers, so no memory is saved either. They bring several places to look at in one layer.
# 5. The token before and the first token: from position 5, one head gives 0.99 to position 4 and the other to position
#    0. A single softmax adds up to 1 and must share it, about half to each.
# ### END SOLUTION

# %% [markdown]
# ## What you can do now
#
# - Write attention in five lines, and the multi-head layer in twenty.
# - Defend $\sqrt{d_k}$ with a measurement.
# - Say who asks and who answers, and check it by the shape of the output.
# - Count what attention costs, and know when FLOPs are not what matters.
# - Say what heads bring (places to look at) and what they do not (savings).

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Vaswani et al. 2017, *Attention Is All You Need*, §3.2 with footnote 4: short, and all of this notebook is in it.
# - Bahdanau et al. 2015, *Neural Machine Translation by Jointly Learning to Align and Translate*, §3.1 and appendix
#   A.1.2: where it began.
# - Clark et al. 2019, *What Does BERT Look At?*, §3: what trained heads do.
# - Michel et al. 2019, *Are Sixteen Heads Really Better than One?*, §3: how many a trained model can do without.
# - Dao et al. 2022, *FlashAttention*, §3.1: the same numbers without ever writing the weights down.
#
# **Next** is 02_masks: who may *not* look at whom.
