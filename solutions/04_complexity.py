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
# # 04 · Complexity: what a layer costs
#
# Why did attention take the place of recurrence? Not because it is cheap: everybody knows that it is quadratic. But
# quadratic in what, compared with whom, and from which length on? In this notebook nothing of the kind is believed.
# Every claim is a line, and you count or measure the points that should lie on it.
#
# **You will be able to**
# - say for four kinds of layer what they cost, what has to wait, and how far a signal travels;
# - read an exponent off measurements;
# - tell what "quadratic" leaves out, and at which length it begins to matter;
# - count the memory of the attention weights, and what a cache saves;
# - choose a layer for a sentence and for a book, with numbers.
#
# **Time** about two and a half hours. **Before this** 01_attention; sums and logarithms.

# %%
import math

import sympy
import torch

from autograder import check, progress
from helpers import complexity
from helpers.figures import complexity as figures

# %% [markdown]
# ## 1 · Three questions for a layer
#
# A layer takes $n$ tokens of width $d$ and gives back as many. There are several ways to let the tokens know of each
# other:

# %% tags=["explore"]
figures.four_layers()

# %% [markdown]
# - **Self-attention**: every output reads every input.
# - **Recurrent**: each token is mixed with the state that its neighbour has left, and hands on a new one. Here it runs
#   from right to left, so that in all four pictures the first output would like to hear from the last input.
# - **Convolutional**: each output reads $k$ tokens side by side, through a matrix for each of the $k$ places.
# - **Restricted self-attention**: attention that sees only $r$ tokens.
#
# Vaswani et al. 2017, §4, ask three questions of each:
#
# 1. **Cost**: how many operations does a layer take?
# 2. **Sequential operations**: how many of them must wait for one another, however large the machine?
# 3. **Path**: how many layers or steps does a signal take from one end of the text to the other?
#
# The answer is what each *grows* like. $3n^2$ and $n^2/2$ count as the same, and so do $n^2$ and $n^2 + n$. For
# attention, count scores and weighted sum alone for now, as the paper does. Kernels are contiguous. What is your guess?

# %% [markdown]
# {{card complexity.table}}


# %% tags=["exercise:complexity.table"]
def table():
    """For each of the four kinds of layer (cost, sequential, path), as SymPy expressions in n, d, k, r."""
    n, d, k, r = sympy.symbols("n d k r", positive=True)
    ### BEGIN SOLUTION
    # Path: each layer of a contiguous kernel carries a signal about k tokens further.
    return {
        "self-attention": (n**2 * d, 1, 1),
        "recurrent": (n * d**2, n, n),
        "convolutional": (k * n * d**2, 1, n / k),
        "restricted self-attention": (r * n * d, 1, n / r),
    }
    ### END SOLUTION


# %%
check("complexity.table", table)

# %% [markdown]
# Twelve claims. Now they are put to the test, column by column.

# %% [markdown]
# ## 2 · How to read an exponent
#
# Say that you have counted the cost at a few sizes. If $\text{cost} = c \cdot \text{size}^p$, then
#
# $$\log \text{cost} = p \cdot \log \text{size} + \log c.$$
#
# A power is a straight line once both axes are logarithmic. Its slope is the exponent, and the constant only moves it
# up or down. So the exponent can be had without knowing the constant:

# %% [markdown]
# {{card complexity.fit_exponent}}


# %% tags=["exercise:complexity.fit_exponent"]
def fit_exponent(sizes, costs):
    """The slope of the least-squares line through (log size, log cost)."""
    ### BEGIN SOLUTION
    x = [math.log(size) for size in sizes]
    y = [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    together = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return together / sum((a - mean_x) ** 2 for a in x)
    ### END SOLUTION


# %%
check("complexity.fit_exponent", fit_exponent)

# %% [markdown]
# ## 3 · Cost, measured
#
# `helpers.complexity.LAYERS` has the four layers as plain products of matrices, a few lines each. PyTorch can listen to
# them and count: two FLOPs for each multiply-add. Here is the count, divided by the table's entry:

# %%
for kind, layer in complexity.LAYERS.items():
    ratios = [
        complexity.measured_flops(layer, n, d, width=8) / figures.claim(kind, 0, n=n, d=d, k=8)
        for n, d in [(16, 64), (128, 32), (100, 300)]
    ]
    print(f"{kind:25} count / claim: {ratios}")

# %% [markdown]
# The same number at each size: that is the constant which the table leaves out. Two products or one, at two FLOPs for
# a multiply-add. Now vary $n$, $d$ and $k$ by themselves, and read the exponents:

# %% tags=["explore"]
figures.cost()

# %% [markdown]
# Look at attention, the blue line. It is the steepest against $n$ and one of the flattest against $d$. *Tokens meet
# tokens* in attention, *features meet features* in recurrence and convolution. So neither is "the cheap one": it
# depends on which of $n$ and $d$ is larger.

# %% [markdown]
# ## 4 · Is a layer of attention quadratic?
#
# You will hear "attention is $O(n^2 d)$: twice the text, four times the work". Take a real layer then, of width 512,
# with its projections for queries, keys, values and output. Predict its exponent in $n$: for sentences of 16 to 64
# tokens, and for texts of 4096 to 16384.

# %%
for lengths in ([16, 32, 64], [4096, 8192, 16384]):
    counts = [figures.layer_flops(n, 512) for n in lengths]
    print(f"n = {lengths}: exponent {complexity.fit_exponent(lengths, counts):.2f}")

# %% [markdown]
# For sentences it is almost *linear*. Where does the rest of the work go? Write down all of its products, and count
# exactly this time, with every factor.

# %% [markdown]
# {{card complexity.attention_flops}}


# %% tags=["exercise:complexity.attention_flops"]
def attention_flops(n, d_model):
    """FLOPs of one self-attention over n tokens, with the projections of queries, keys, values and output."""
    ### BEGIN SOLUTION
    projections = 4 * (2 * n * d_model * d_model)
    scores = 2 * n * d_model * n
    weighted_sum = 2 * n * n * d_model
    return projections + scores + weighted_sum
    ### END SOLUTION


# %%
check("complexity.attention_flops", attention_flops)

# %% tags=["explore"]
figures.projections()

# %% [markdown]
# The layer is the sum of two lines, and the larger one rules. Up to $n = 2 \, d_{model}$ that is the projections. The
# table's $n^2 d$ is true of scores and weighted sum; the layer as it is built is $n d^2 + n^2 d$.
#
# The right half answers another common claim, that attention is quadratic in its *width*. The projections are, scores
# and weighted sum are not: a wider token makes each meeting longer, and no more meetings.

# %% [markdown]
# ## 5 · Where do the lines cross?
#
# Self-attention is faster than recurrence as long as $n$ is smaller than $d$: so Vaswani et al. 2017, §4. Find the
# exact point, for the simplest recurrent layer there is, and for scores and weighted sum alone.

# %% [markdown]
# {{card complexity.crossover}}


# %% tags=["exercise:complexity.crossover"]
def crossover(d_model):
    """The n at which scores and weighted sum cost as many FLOPs as an Elman layer's two products."""
    ### BEGIN SOLUTION
    # 2 products of n² · d against 2 products of n · d²: divide both by 2 · n · d.
    return d_model
    ### END SOLUTION


# %%
check("complexity.crossover", crossover)

# %% [markdown]
# But who compares with an Elman layer? A GRU has three times its products, an LSTM four times. And a real layer of
# attention has projections. Let SymPy solve all six equations. Before you look: in which of them is attention
# cheaper at *no* length?

# %%
n, d = sympy.symbols("n d", positive=True)
for name, products in {"Elman layer": 2, "GRU": 6, "LSTM": 8}.items():
    alone, whole = (sympy.solve(extra + 4 * n**2 * d - products * 2 * n * d**2, n) for extra in (0, 8 * n * d**2))
    print(f"{name:11} meets scores and sum at n = {alone}, attention with projections at n = {whole}")

# %% [markdown]
# An empty list: they never meet. With its projections, attention costs more than an Elman layer at *any* length.
# Against an LSTM it is cheaper up to $n = 2d$. One sentence, six answers.

# %% tags=["explore"]
figures.crossing()

# %% [markdown]
# Try it yourself. Which layer costs least for a sentence, a page, a book? Then tick the box. (The slider $k$ is both
# the width of the kernel and what restricted attention sees.)

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.complexity import cost_explorer

cost_explorer()

# %% [markdown]
# ## 6 · Two texts
#
# A translator has three attentions: the encoder's over $M$ source tokens, the decoder's over $N$ target tokens, and the
# one from decoder to encoder. Let $k$ be the width. If the source gets twice as long, which of the three gets dearer,
# and how much?

# %% [markdown]
# {{card complexity.encoder_decoder}}


# %% tags=["exercise:complexity.encoder_decoder"]
def encoder_decoder(M, N, k):
    """What the encoder's self-attention, the cross-attention and the decoder's self-attention grow like."""
    ### BEGIN SOLUTION
    askers_and_answerers = {"encoder": (M, M), "cross": (N, M), "decoder": (N, N)}
    return {name: askers * answerers * k for name, (askers, answerers) in askers_and_answerers.items()}
    ### END SOLUTION


# %%
check("complexity.encoder_decoder", encoder_decoder)

# %% tags=["explore"]
figures.encoder_decoder()

# %% [markdown]
# And the width? The same for all three:

# %%
widths = [16, 64, 256]
for name, (askers, answerers) in {"encoder": (50, 50), "cross": (20, 50), "decoder": (20, 20)}.items():
    counts = [figures.meetings(askers, answerers, width) for width in widths]
    print(f"{name:8} exponent in k: {complexity.fit_exponent(widths, counts):.2f}")

# %% [markdown]
# To summarise a book in a paragraph is the encoder's work. This is why long documents want another kind of attention in
# the *encoder* first.

# %% [markdown]
# ## 7 · Waiting
#
# Costs can be shared out among thousands of cores, but only if the work need not be done one after the other. To count
# what must wait, follow the result back to the input, and take the longest chain of products on the way:

# %% tags=["explore"]
figures.waiting()

# %% [markdown]
# In attention the weighted sum waits for the scores. That is all, however long the text. In recurrence each state waits
# for the one before it. How much is that in time? Part 5 has given us a fair race: at $n = d$, attention (scores and
# sum) and the Elman layer take the same FLOPs. On this machine:

# %% tags=["explore", "nbval-ignore-output"]
figures.same_flops()

# %% [markdown]
# The same work, and the chain of small steps loses. A few cores are enough to see it; the wider the device, the more of
# it stands idle while it waits.

# %% [markdown]
# ## 8 · How far does a signal travel?
#
# The third column. One layer says who reads whom, as a table of True and False; layers on top of each other reach
# further. How many until everybody can know of everybody?

# %% [markdown]
# {{card complexity.path_length}}


# %% tags=["exercise:complexity.path_length"]
def path_length(reads):
    """The least number of equal layers until every output depends on every input; None if that never happens.

    reads (n, n) is True where output i of a layer reads input j.
    """
    ### BEGIN SOLUTION
    n = reads.shape[0]
    one_layer = reads.float()
    reached = reads
    for n_layers in range(1, (n - 1) ** 2 + 2):  # whatever fills up has done so by then
        if reached.all():
            return n_layers
        reached = one_layer @ reached.float() > 0  # (n, n)
    return None
    ### END SOLUTION


# %%
check("complexity.path_length", path_length)

# %% [markdown]
# Ask it about a few patterns over 13 tokens. Predict each; one of them is a trap.

# %%
i, j = torch.arange(13)[:, None], torch.arange(13)  # (n, 1), (n,)
patterns = {
    "everyone reads everyone": (i - j).abs() < 13,
    "a token and its two neighbours": (i - j).abs() <= 1,
    "a token and two on each side": (i - j).abs() <= 2,
    "a token and the two before it": (i - j >= 0) & (i - j <= 2),
}
for name, reads in patterns.items():
    print(f"{name:31} {complexity.path_length(reads)}")

# %% [markdown]
# The last one is None: the first token never hears of the later ones. Every causal layer is like that, and it is no
# fault. There one asks only for the way *from one end to the other*, and so does the table. Measured by gradient:

# %% tags=["explore"]
figures.path()

# %% [markdown]
# The paper's table 1 says something else about convolutions: $\log_k n$. Both are right, about two different things
# (Vaswani et al. 2017, §4). If kernels are *contiguous*, each layer adds $k - 1$ tokens to what is seen. If they are
# *dilated*, with gaps that grow by a factor of $k$ from layer to layer, each layer multiplies it by $k$:

# %% tags=["explore"]
figures.dilation()

# %% [markdown]
# So ask of any "logarithmic path" which kernels it is about. On the left is a plain stack of convolutions, and its path
# is about $n/k$.

# %% [markdown]
# ## 9 · Memory
#
# FLOPs are gone when they are done. The attention weights have to be kept, in training even until the way back. How
# many bytes are they?

# %% [markdown]
# {{card complexity.weights_memory}}


# %% tags=["exercise:complexity.weights_memory"]
def weights_memory(batch, n_heads, n, bytes_per_number):
    """Bytes of one layer's attention weights."""
    ### BEGIN SOLUTION
    tables = batch * n_heads  # one for each head of each text
    return tables * n * n * bytes_per_number
    ### END SOLUTION


# %%
check("complexity.weights_memory", weights_memory)

# %%
for title, sizes in {"32 short texts": (32, 12, 512, 4), "one long text": (1, 12, 32768, 4)}.items():
    print(f"{title}: {complexity.weights_memory(*sizes) / 1e9:.1f} GB in each layer")

# %% [markdown]
# A single layer, and one text that nobody would call big data: most of a large GPU is full. Here is what PyTorch's
# allocator was asked for, in three ways of looking:

# %% tags=["explore", "nbval-ignore-output"]
figures.memory()

# %% [markdown]
# Written out, attention holds scores and weights at the same time, twice your formula. The lowest points are
# `scaled_dot_product_attention`, which gives the same output. It works on a block of keys at a time and corrects the
# softmax as it goes (Dao et al. 2022, §3.1). Its FLOPs are as many as before; the table of weights is never there as a
# whole.

# %% [markdown]
# ## 10 · Writing
#
# A model that writes adds one token at a time. Without further thought, each step runs the layer over the whole text so
# far. But keys and values of earlier tokens do not change, so they can be kept: a **cache**. What does it save?

# %% [markdown]
# {{card complexity.generation_flops}}


# %% tags=["exercise:complexity.generation_flops"]
def generation_flops(n, d_model, cached):
    """FLOPs of one self-attention with projections while n tokens are written, steps t = 1 … n."""

    ### BEGIN SOLUTION
    def step(t):
        new = 1 if cached else t  # tokens that are projected, and ask
        return 4 * (2 * new * d_model**2) + 2 * (2 * new * t * d_model)

    return sum(step(t) for t in range(1, n + 1))
    ### END SOLUTION


# %%
check("complexity.generation_flops", generation_flops)

# %% tags=["explore"]
figures.writing()

# %%
n, d = 1000, 512
without, kept = (complexity.generation_flops(n, d, cached) for cached in (False, True))
print(f"{n} tokens without a cache take {without / kept:.0f} times the FLOPs")
print(f"with it, {kept / complexity.attention_flops(n, d):.2f} times a single pass over the finished text")

# %% [markdown]
# With a cache, writing a text takes no more FLOPs than reading it once. (It takes even less: a pass over the whole text
# also computes the scores that a causal mask throws away.) The price is memory, $2 n d$ numbers in each layer. And one
# thing no cache can change: step $t + 1$ waits for the token of step $t$. *While it writes*, a Transformer is as
# sequential as any recurrent network.

# %% [markdown]
# ## 11 · Which layer would you take?
#
# A sentence and a long chapter, with $d = 512$, kernels of 8, and restricted attention that sees 64 tokens. FLOPs are
# counted, and those of the recurrent layer are an Elman layer's:

# %% tags=["explore"]
for title, n in {"a sentence": 20, "a chapter": 8192}.items():
    print(f"{title} of {n} tokens")
    for kind, layer in complexity.LAYERS.items():
        width = 64 if kind == "restricted self-attention" else 8
        flops = complexity.measured_flops(layer, n, 512, min(width, n)) / 1e6
        path = figures.claim(kind, 2, n=n, k=min(width, n))
        print(f"    {kind:25} {flops:10,.1f} million FLOPs, path about {path:,.0f}")
    print(f"    {'projections of attention':25} {8 * n * 512**2 / 1e6:10,.1f} million FLOPs")

# %% [markdown]
# {{card complexity.when}}

# %% [markdown] tags=["written:complexity.when"]
# Three or four sentences each, with numbers from this notebook:
#
# 1. Which layer would you take where $n$ is far below $d_{model}$, as in a sentence?
# 2. Which where $n$ is far above, as in a book or in audio, and what is the price?
# 3. What does the table leave out?
#
# ### BEGIN SOLUTION
# 1. Self-attention. For 20 tokens of width 512 its scores and sum take 0.8 million FLOPs, an Elman layer 21.0 million,
#    a convolution of width 8 83.9 million. Nothing waits but the sum for the scores, where recurrence waits 20 steps,
#    and every token reaches every other in one layer. With its projections, 41.9 million, it does cost more than the
#    Elman layer, but it is still far quicker where work is done side by side.
# 2. Scores and sum of 8192 tokens take 137 billion FLOPs, 16 times an Elman layer's 8.6 billion, and 12 heads' weights
#    of 32768 tokens 51.5 GB in each layer. Restricted attention of 64 tokens takes 1.1 billion. The price is the path,
#    about 128 layers from end to end, or a few layers if some tokens may see all. A convolution's path is 1024 with
#    contiguous kernels, log n only if dilated. Recurrence needs little memory while it writes, but 8192 steps wait for
#    one another.
# 3. The projections, which are most of the cost up to n = 2·d_model, so that the exponent in n was 1.03 for sentences;
#    the factors (a GRU meets attention at another n than an Elman layer); memory, n² for each head unless the kernel is
#    fused; and the cache, which takes one power of n away in writing.
# ### END SOLUTION

# %% [markdown]
# ## What you can do now
#
# - Say cost, waiting and path of a layer, and test each by counting.
# - Read an exponent from a few measurements, and know over which range it holds.
# - Answer "attention is quadratic" with: in what, against whom, and from which length on?
# - Say how much memory the weights take, what a fused kernel changes, and what a cache saves.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Vaswani et al. 2017, *Attention Is All You Need*, §4 and table 1: the three questions.
# - Yu and Koltun 2016, *Multi-Scale Context Aggregation by Dilated Convolutions*, §2: kernels with gaps.
# - Beltagy et al. 2020, *Longformer*, §3.1: restricted attention, and a few tokens that see all.
# - Dao et al. 2022, *FlashAttention*, §3.1: the same attention without the table of weights.
#
# **Next** is 05_parameters: the whole Transformer, and where each of its numbers sits.
