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
# # 03 · Positions: where a token stands
#
# *Dog bites man* is no news; *man bites dog* is. To attention both are the same three words. A **position encoding**
# tells a token where it stands, and there are surprisingly many ways to say it: clock hands, learned vectors, a bias
# for each distance, a turn.
#
# **You will be able to**
# - prove that attention by itself knows no order, and say why;
# - build the sinusoidal table and prove what it is good for;
# - say what is lost and won when positions are added to words, or laid beside them;
# - build relative, learned and rotary positions, and say which of them survive a text longer than any in training.
#
# **Time** about four hours. **Before this** 01_attention, sine and cosine, products of matrices.

# %%
import math

import torch
from sympy import Identity, MatMul, MatrixSymbol, cos, sin, symbols
from torch import nn

from autograder import check, progress
from helpers import attention, masks, positions
from helpers.figures import positions as figures
from helpers.proofs import softmax

# %% [markdown]
# ## 1 · Attention knows no order
#
# A classifier reads the outputs of a layer of self-attention and takes their mean. Here is what it gets to see of two
# sentences that do not mean the same at all:

# %% tags=["explore"]
figures.pooled("dog bites man", "man bites dog")

# %% [markdown]
# Each word has the same output in both sentences: the rows have merely changed places. So their mean is the same
# vector, and whatever is done with it afterwards, the two sentences get the same verdict. Find such a pair yourself.

# %% [markdown]
# {{card positions.order_matters}}


# %% tags=["exercise:positions.order_matters"]
def order_matters():
    """Two sentences of the same words, in another order, with another meaning."""
    ### BEGIN SOLUTION
    return "The critic was not bored, he was delighted.", "The critic was bored, he was not delighted."
    ### END SOLUTION


# %%
check("positions.order_matters", order_matters)

# %% [markdown]
# A film critic's verdict may hang on the place of a *not*. Now let us measure. Permute the tokens and ask the layer; or
# ask the layer and then permute its outputs. If both give the same, the layer is **equivariant**: order goes through it
# and leaves no trace.

# %% [markdown]
# {{card positions.equivariance_gap}}


# %% tags=["exercise:positions.equivariance_gap"]
def equivariance_gap(layer, x, permutation):
    """Greatest absolute difference between layer(x)[:, permutation] and layer(x[:, permutation]); x is (B, T, D)."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        permuted_after = layer(x)[:, permutation]  # (B, T, D)
        permuted_before = layer(x[:, permutation])  # (B, T, D)
    return (permuted_after - permuted_before).abs().max()
    ### END SOLUTION


# %%
check("positions.equivariance_gap", equivariance_gap)

# %% [markdown]
# *Why* does attention not see the order? Here is an explanation that one often hears: "scores are dot products, and a
# dot product does not mind which of its two vectors comes first."
#
# It is true of dot products. If it is the *reason*, then attention with a score that does mind, where
# $s(a, b) \neq s(b, a)$, must see the order. And with a score that does not mind it must never see it. Write down what
# you expect of each line before you run the cell.

# %%
generator = torch.Generator().manual_seed(0)
x = torch.randn(1, 6, 4, generator=generator)  # (B, T, D)
order = torch.randperm(6, generator=generator)  # (T,)
w_q, w_k = torch.randn(2, 4, 4, generator=generator)  # (D, D) each
v = torch.randn(4, generator=generator)  # (D,)
scores = {
    "a dot product, a·b = b·a": lambda x: x @ x.mT,
    "projected: a·b is not b·a": lambda x: (x @ w_q) @ (x @ w_k).mT,
    "a small network, no product": lambda x: attention.additive_scores(x, x, w_q, w_k, v),
    "a·b = b·a, with positions": lambda x: (x + positions.sinusoidal(6, 4)) @ (x + positions.sinusoidal(6, 4)).mT,
}
for title, score in scores.items():
    table = score(x)  # (B, T, T)
    gap = positions.equivariance_gap(lambda x, score=score: score(x).softmax(-1) @ x, x, order)
    print(f"{title:28} symmetric: {torch.allclose(table, table.mT, atol=1e-5)!s:6} gap: {gap:.3f}")

# %% [markdown]
# Lines 2 and 3 have scores that mind, and the gap is 0 all the same. Line 4 has a symmetric score, and a gap. So
# symmetry has nothing to do with it: it is neither needed nor enough.
#
# What is the reason, then? Every pair is scored **by the same rule**, wherever the two stand. Permute the tokens, and
# the table of scores is the old one with its rows and columns permuted. A softmax does not care in which order a row is
# written, and neither does a sum. This can be proved.

# %% [markdown]
# ## 2 · The proof
#
# A permutation of T tokens is a matrix $P$ with a single 1 in each row and each column: $PX$ has the rows of $X$ in
# another order. Two facts are all you need:
#
# - $P^\top P = I$: whoever permutes and permutes back has done nothing;
# - $\text{softmax}(P A P^\top) = P\,\text{softmax}(A)\,P^\top$: a softmax by rows does not care where a row stands, nor
#   in which order its entries are.
#
# The second one is worth a look before you lean on it:

# %%
p = torch.eye(6)[order]  # (T, T)
a = torch.randn(6, 6, generator=generator)  # (T, T)
print("P permutes rows:", torch.equal(p @ a, a[order]))
print("PᵀP = I:", torch.equal(p.T @ p, torch.eye(6)))
print("softmax(PAPᵀ) = P softmax(A) Pᵀ:", torch.allclose((p @ a @ p.T).softmax(-1), p @ a.softmax(-1) @ p.T))

# %% [markdown]
# A proof here is a list of SymPy expressions: the first is the claim's left side, each is equal to the one before by
# one of the facts, and the last is the right side. Leave no step out: a jump is called a jump.

# %% [markdown]
# {{card positions.equivariance_proof}}


# %% tags=["exercise:positions.equivariance_proof"]
def equivariance_proof():
    """From softmax(P Q Kᵀ Pᵀ) P V to P softmax(Q Kᵀ) V, line by line; P is a permutation."""
    ### BEGIN SOLUTION
    n, d, d_v = symbols("n d d_v", integer=True, positive=True)
    P, V = MatrixSymbol("P", n, n), MatrixSymbol("V", n, d_v)
    Q, K = MatrixSymbol("Q", n, d), MatrixSymbol("K", n, d)
    return [
        softmax(P * Q * K.T * P.T) * P * V,
        P * softmax(Q * K.T) * P.T * P * V,  # a softmax by rows lets a permutation out on either side
        MatMul(P, softmax(Q * K.T), Identity(n), V),  # PᵀP = I
        P * softmax(Q * K.T) * V,
    ]
    ### END SOLUTION


# %%
check("positions.equivariance_proof", equivariance_proof)

# %% [markdown]
# Nowhere did the proof ask what $Q K^\top$ looks like. It would go through for any score that is made pair by pair. And
# it shows where to put the lever: anything that treats places differently breaks it. Positions do. What else?

# %%
layers = {
    "attention": lambda x: attention.attend(x, x, x)[0],
    "attention, then a linear layer": lambda x: attention.attend(x, x, x)[0] @ w_q,
    "with a causal mask": lambda x: attention.attend(x, x, x, masks.causal(6))[0],
    "a mean of each token and the next": lambda x: (x + x.roll(-1, dims=1)) / 2,
}
for title, layer in layers.items():
    print(f"{title:34} gap: {positions.equivariance_gap(layer, x, order):.3f}")

# %% [markdown]
# A causal mask gives some of the order away: the third token reads three, the fourth reads four. Language models
# without any position encoding live on that, and not badly (Haviv et al. 2022). A Transformer that reads in both
# directions has nothing of the kind. With positions, our two sentences part:

# %% tags=["explore"]
figures.pooled("dog bites man", "man bites dog", with_positions=True)

# %% [markdown]
# ## 3 · Hands of a clock
#
# How to write a position into a vector? A single number 0, 1, 2, … grows without end; a number between 0 and 1 means
# another step in each text. A clock does better: the second hand tells neighbouring moments apart, the hour hand tells
# morning from noon, all stay on their dials, and together they are unique for a long time.
#
# The **sinusoidal** encoding has a hand for each *pair* of features, and stores its horizontal and its vertical part
# (Vaswani et al. 2017, §3.5):
#
# $$PE_{x,\,2i} = \sin(w_i\,x) \qquad PE_{x,\,2i+1} = \cos(w_i\,x) \qquad w_i = \text{base}^{-2i/d_{model}}$$
#
# Sine and cosine of a pair have *the same* speed $w_i$. A table small enough to check on paper:

# %% tags=["explore"]
figures.small_table("she reads old books", d_model=4, base=100)

# %% [markdown]
# {{card positions.sinusoidal}}


# %% tags=["exercise:positions.sinusoidal"]
def sinusoidal(n_positions, d_model, base=10000.0):
    """The table (n_positions, D): sin(x/base^(2i/D)) at feature 2i, cos of the same at 2i + 1.

    An odd D ends in a sine.
    """
    ### BEGIN SOLUTION
    x = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (n_positions, 1)
    feature = torch.arange(d_model)
    speed = base ** (-(feature - feature % 2) / d_model)  # (D,): the two of a pair share theirs
    angle = x * speed.double()  # (n_positions, D)
    rows = torch.where(feature % 2 == 0, angle.sin(), angle.cos())  # (n_positions, D)
    return rows.to(torch.get_default_dtype())
    ### END SOLUTION


# %%
check("positions.sinusoidal", sinusoidal)

# %% [markdown]
# And a table of the size that models use:

# %% tags=["explore"]
figures.table(n_positions=100, d_model=64)

# %% [markdown]
# A hand's speed falls by the same factor from pair to pair, so on a logarithmic scale the times for one turn lie on a
# straight line. The base says where it ends. If the slowest hand comes round within a text, places far apart look
# nearly alike; hands that hardly move in it say hardly anything.

# %% tags=["explore"]
figures.wavelengths()

# %% [markdown]
# ## 4 · A shift is a turn
#
# Why sines *and* cosines? Because with both, a step of $k$ positions is the same linear map wherever you stand. That is
# the property for which the authors of the Transformer chose them. Look at the hands first: grey at a position $x$,
# blue at $x + k$, for two different $x$ (one drawn long, one short).

# %% tags=["explore"]
figures.clock_hands(k=3, starts=(2, 11))

# %% [markdown]
# Both hands of a clock are turned by the same angle $kw$. To turn a hand one needs to know both of its parts. Now prove
# it for one pair: write $\sin(w(x+k))$ and $\cos(w(x+k))$ as combinations of $\sin(wx)$ and $\cos(wx)$, with
# coefficients that do not contain $x$.

# %% [markdown]
# {{card positions.shift_proof}}


# %% tags=["exercise:positions.shift_proof"]
def shift_proof():
    """Two chains, from sin(w(x+k)) and from cos(w(x+k)), to combinations of sin(wx) and cos(wx)."""
    ### BEGIN SOLUTION
    x, k, w = symbols("x k w", real=True)
    a, b = w * x, w * k
    sin_chain = [sin(w * (x + k)), sin(a + b), sin(a) * cos(b) + cos(a) * sin(b)]
    cos_chain = [cos(w * (x + k)), cos(a + b), cos(a) * cos(b) - sin(a) * sin(b)]
    return sin_chain, cos_chain
    ### END SOLUTION


# %%
check("positions.shift_proof", shift_proof)

# %% [markdown]
# All pairs together make one matrix, with a turn of $2 \times 2$ for each pair on its diagonal, and
# $PE_{x+k} = M\,PE_x$.

# %% [markdown]
# {{card positions.shift_matrix}}


# %% tags=["exercise:positions.shift_matrix"]
def shift_matrix(k, d_model, base=10000.0):
    """The matrix M (D, D) with PE(x + k) = M PE(x) for every x; D is even."""
    ### BEGIN SOLUTION
    matrix = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        turn = k / base ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(turn)
        matrix[i, i + 1] = math.sin(turn)
        matrix[i + 1, i] = -math.sin(turn)
    return matrix
    ### END SOLUTION


# %%
check("positions.shift_matrix", shift_matrix)

# %% tags=["explore"]
figures.shift_matrices(shifts=(1, 3, 10))

# %% [markdown]
# What is it good for? A head's projections are matrices, too, so a head can *contain* such a turn. If queries are
# $M(-1)\,PE_i$ and keys $PE_j$, who scores highest?

# %%
table = positions.sinusoidal(8, 16)  # (T, D)
asks = table @ positions.shift_matrix(-1, 16).T  # (T, D): what stands in the row of i is PE(i − 1)
print("each position looks at", (asks @ table.T).argmax(-1).tolist())

# %% [markdown]
# At the token before, everywhere, with a single matrix. (The first has none, and takes the nearest.)
#
# The contract asks for an even width. Is that only for convenience? Predict: for which widths does *any* matrix exist
# that moves all positions by 3? The best one there is can be found by least squares:

# %%
for d_model in (4, 5, 6, 7):
    table = positions.sinusoidal(100, d_model, base=20.0).double()  # (T, D)
    best = torch.linalg.lstsq(table[:-3], table[3:]).solution  # (D, D)
    print(f"d_model {d_model}: off by {(table[:-3] @ best - table[3:]).abs().max():.3f} at worst")

# %% [markdown]
# Even widths: exact. Odd ones: no matrix does it. Can you say why, from your proof?
#
# <details><summary>Why</summary>
#
# An odd width ends in a sine without its cosine. Your proof needs both: $\sin(w(x+k))$ contains
# $\sin(wk)\cos(wx)$. The last cosine is not in the vector, and no other feature turns at this speed, so nothing can
# stand in for it. The last hand has a shadow on one wall only, and whoever sees that does not know if it is rising or
# falling.
#
# </details>

# %% [markdown]
# ## 5 · How alike are two positions?
#
# By the dot product of their encodings. Use what you know of a pair: its two vectors have length 1, and the angle
# between them is $kw$, wherever they stand.

# %% [markdown]
# {{card positions.similarity}}


# %% tags=["exercise:positions.similarity"]
def similarity(k, d_model, base=10000.0):
    """PE(x) · PE(x + k), which is the same for every x; d_model is even."""
    ### BEGIN SOLUTION
    angles = [k / base ** (i / d_model) for i in range(0, d_model, 2)]  # one for each pair
    return sum(math.cos(angle) for angle in angles)
    ### END SOLUTION


# %%
check("positions.similarity", similarity)

# %%
table = positions.sinusoidal(200, 64)  # (T, D)
for start in (0, 5, 150):
    print(f"PE({start}) · PE({start + 7}) = {table[start] @ table[start + 7]:.3f}")
print(f"similarity(7) = {positions.similarity(7, 64):.3f}, similarity(-7) = {positions.similarity(-7, 64):.3f}")

# %% tags=["explore"]
figures.similarity()

# %% [markdown]
# A cosine is the same for $k$ and $-k$: by this measure the token before and the token after are equally far, and *dog
# bites man* is as good as *man bites dog* once more. It is the projections of a head, in between, that tell left from
# right: above, $M(-1)$ did.
#
# Play with it. Move x: which arcs change? Move k. Then make the base small, and find two positions that are far apart
# and look alike.

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.positions import clock_explorer

clock_explorer()

# %% [markdown]
# ## 6 · Added, or side by side?
#
# Position $p_i$ has to meet word $x_i$ somewhere. One can **add** them, $z = x + p$, as the original Transformer does,
# or lay them **side by side**, $z = [x, p]$. To see the difference take the simplest attention there is, with $q = k =
# z$, and multiply $z_i \cdot z_j$ out, on paper.

# %% [markdown]
# {{card positions.add_or_concat}}


# %% tags=["exercise:positions.add_or_concat"]
def add_or_concat(x_i, p_i, x_j, p_j):
    """The named terms of z_i · z_j: "xx", "xp", "px", "pp" for z = x + p; "xx", "pp" for z = [x, p]. All inputs (…, D).

    The first letter belongs to token i, the second to token j.
    """

    ### BEGIN SOLUTION
    def dot(a, b):
        return (a * b).sum(-1)  # (…)

    beside = {"xx": dot(x_i, x_j), "pp": dot(p_i, p_j)}
    return beside | {"xp": dot(x_i, p_j), "px": dot(p_i, x_j)}, beside
    ### END SOLUTION


# %%
check("positions.add_or_concat", add_or_concat)

# %% tags=["explore"]
figures.terms("the cat saw the other cat")

# %% [markdown]
# Side by side, a score is *how alike are the words* plus *how near are the places*. Addition brings two terms more, in
# which a word meets a place: "saw" dislikes the end of the text, whoever stands there. Does that speak against adding?
# Three things to weigh:
#
# **How large are the cross terms?** Random directions in a wide space are nearly perpendicular:

# %%
for d_model in (16, 256, 4096):
    words = torch.randn(500, d_model, generator=generator)  # (T, D)
    places = positions.sinusoidal(500, d_model)  # (T, D)
    cross = (words @ places.T).abs().mean() / (words.norm(dim=-1).mean() * places.norm(dim=-1).mean())
    print(f"d_model {d_model:4}: a word and a place have a cosine of {cross:.3f}, typically")

# %% [markdown]
# **What does it cost?** Side by side the vectors are wider, and so is every projection of them. **And is it another
# model?** A projection of $[x, p]$ has one matrix for words and another for places; use the *same* matrix for both, and
# it is addition:

# %%
w = torch.randn(16, 8, generator=generator)  # (D, K)
word, place = torch.randn(2, 5, 16, generator=generator)  # (T, D) each
added, beside = (word + place) @ w, torch.cat([word, place], -1) @ torch.cat([w, w])  # (T, K) each
print("added is side by side with the matrix used twice:", torch.allclose(added, beside, atol=1e-5))

# %% [markdown]
# So side by side can do everything that addition can, at the price of width. And addition can keep words and places
# apart if training puts them into different directions, in a space that has enough of them.
#
# There is a third way. With the two parts laid side by side, positions contribute *a number to each score* and nothing
# else. Then why carry them through the model? Compute that number, and add it to the scores:

# %% [markdown]
# {{card positions.bias_from_concat}}


# %% tags=["exercise:positions.bias_from_concat"]
def bias_from_concat(q_pos, k_pos):
    """q_pos (Tq, K) and k_pos (Tk, K) to the bias (Tq, Tk) that they, laid beside q and k, add to unscaled scores."""
    ### BEGIN SOLUTION
    return torch.einsum("ik,jk->ij", q_pos, k_pos)  # (Tq, Tk)
    ### END SOLUTION


# %%
check("positions.bias_from_concat", bias_from_concat)

# %% [markdown]
# A word of caution about the scale: laid side by side, vectors are wider, and attention divides by the root of *their*
# width. The bias is divided along with the rest.

# %%
q, k, q_pos, k_pos = torch.randn(4, 6, 8, generator=generator)  # (T, K) each
bias = positions.bias_from_concat(q_pos, k_pos)  # (Tq, Tk)
joined = attention.scores(torch.cat([q, q_pos], -1), torch.cat([k, k_pos], -1))  # (Tq, Tk), divided by √16
print("(q kᵀ + bias) / √16:", torch.allclose(joined, (q @ k.T + bias) / math.sqrt(16), atol=1e-5))
print("q kᵀ / √8 + bias:   ", torch.allclose(joined, q @ k.T / math.sqrt(8) + bias, atol=1e-5))

# %% [markdown]
# ## 7 · A number for each distance
#
# Once positions are a bias, one may as well learn the bias. Not one number for each pair of places: what should matter
# is how far apart the two are, and on which side. So a head gets a table with one number for each distance $i - j$,
# from $-(T-1)$ to $T-1$ (Raffel et al. 2020, §2.1; with vectors in place of numbers, Shaw et al. 2018, §3.2).

# %% tags=["explore"]
figures.relative_bias(5)

# %% [markdown]
# {{card positions.relative_bias}}


# %% tags=["exercise:positions.relative_bias"]
def relative_bias(table, n):
    """table (H, 2T − 1) to biases (H, n, n) for n ≤ T: query i and key j get table[h, i − j + T − 1]."""
    ### BEGIN SOLUTION
    longest = (table.shape[1] + 1) // 2  # T
    middle = longest - 1
    # Row i reads the distances i, i − 1, …, i − n + 1.
    rows = [table[:, middle + i - n + 1 : middle + i + 1].flip(-1) for i in range(n)]  # (H, n) each
    return torch.stack(rows, dim=1)  # (H, n, n)
    ### END SOLUTION


# %%
check("positions.relative_bias", relative_bias)

# %% [markdown]
# How many numbers is that to learn, in one layer that looks both ways?

# %% [markdown]
# {{card positions.extra_parameters}}


# %% tags=["exercise:positions.extra_parameters"]
def extra_parameters(max_len, n_heads):
    """How many numbers the biases of one layer have, for texts of up to max_len tokens, looking both ways."""
    ### BEGIN SOLUTION
    distances = max_len + (max_len - 1)  # 0 and to the left, and to the right
    return distances * n_heads
    ### END SOLUTION


# %%
check("positions.extra_parameters", extra_parameters)

# %%
max_len, n_heads, d_model = 512, 8, 512
print(f"one bias for each distance: {positions.extra_parameters(max_len, n_heads):9,}")
print(f"under a causal mask:        {n_heads * max_len:9,}")
print(f"one bias for each pair:     {n_heads * max_len**2:9,}")
print(f"one vector for each place:  {max_len * d_model:9,}")

# %% [markdown]
# Under a causal mask nobody looks to the right, and half of the distances never occur. One bias for each pair of places
# would take hundreds of times as many numbers, and each of them would be learned from the few texts that reach so far.

# %% [markdown]
# ## 8 · Learned positions
#
# The simplest of all: a vector for each place, learned like a word's embedding. BERT does so (Devlin et al. 2018, §3).
# Vaswani et al. 2017, §3.5 tried both and found nearly the same results.

# %% [markdown]
# {{card positions.LearnedPositions}}


# %% tags=["exercise:positions.LearnedPositions"]
class LearnedPositions(nn.Module):
    """x (B, T, D) to x plus one learned vector for each place, of which there are max_len; submodule embedding.

    ValueError, with a sentence, where T is more than max_len.
    """

    def __init__(self, max_len, d_model):
        super().__init__()
        ### BEGIN SOLUTION
        self.max_len = max_len
        self.embedding = nn.Embedding(max_len, d_model)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        n = x.shape[1]
        if n > self.max_len:
            raise ValueError(f"The text has {n} tokens and only {self.max_len} places are known: cut it.")
        places = torch.arange(n, device=x.device)  # (T,)
        return x + self.embedding(places)  # (B, T, D)
        ### END SOLUTION


# %%
check("positions.LearnedPositions", LearnedPositions)

# %% [markdown]
# Where the table ends, the model ends:

# %%
places = positions.LearnedPositions(max_len=8, d_model=4)
try:
    places(torch.zeros(1, 9, 4))
except ValueError as error:
    print(error)

# %% [markdown]
# There is a quieter trouble before that end: a place that no text of the training reached was never moved. Five tokens,
# a table of eight: which places get a gradient?

# %%
places(torch.zeros(1, 5, 4)).sum().backward()
places.embedding.weight.grad.sum(-1).tolist()

# %% [markdown]
# ## 9 · A turn instead of a sum
#
# Nothing is added to the words at all in the newest of our encodings: **rotary** positions turn each pair of features
# of a *query* and of a *key* by an angle that grows with the place, with the speeds that you know (Su et al. 2021,
# §3.2). In a dot product of two turned vectors the common part of the turn cancels, and the difference stays.

# %% [markdown]
# {{card positions.rotary}}


# %% tags=["exercise:positions.rotary"]
def rotary(x, positions, base=10000.0):
    """Turn each pair (2i, 2i + 1) of x (…, T, D) by position/base^(2i/D), for positions (T,); D is even."""
    ### BEGIN SOLUTION
    d = x.shape[-1]
    speed = base ** (-torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d)  # (D/2,)
    angle = positions.to(x.dtype)[:, None] * speed  # (T, D/2)
    a, b = x.unflatten(-1, (d // 2, 2)).unbind(-1)  # (…, T, D/2) each
    turned_a = a * torch.cos(angle) - b * torch.sin(angle)  # (…, T, D/2)
    turned_b = a * torch.sin(angle) + b * torch.cos(angle)  # (…, T, D/2)
    return torch.stack([turned_a, turned_b], dim=-1).flatten(-2)  # (…, T, D)
    ### END SOLUTION


# %%
check("positions.rotary", rotary)

# %% [markdown]
# To see it, put *one and the same word* at every place, so that whatever the scores show comes from the places alone:

# %% tags=["explore"]
figures.by_distance()

# %% [markdown]
# Every diagonal of the turned scores is of one colour. Words enter as they are, lengths are kept, values know nothing
# of places, and there is not a number to learn.

# %% [markdown]
# ## 10 · Longer than in training
#
# "Sinusoids have no end, so a model that uses them can read texts longer than any it was trained on." The first half is
# true, and the second was the authors' hope (*may allow*, they write in §3.5). Let an experiment say how it is.
#
# The task could not be simpler: name the token before. Five models of one attention layer each, trained on texts of 16
# tokens, tested on 32. Write down which of them will manage places 16 to 31: rotary, a learned bias for each distance,
# sinusoids, learned positions, or nothing at all?

# %% tags=["explore"]
figures.beyond(trained=16, tested=32)

# %% [markdown]
# - **Learned** positions beyond 15 are random vectors still, and the model mostly guesses.
# - **Sinusoids** are defined there, but these places form combinations of hands that the model has never met: it goes
#   astray, and finds its way now and then where hands come round to a familiar sight. A formula without an end is not a
#   model without an end.
# - The **bias** fails in a way of its own, even at the *first* places: distances above 15 were never learned and have a
#   0 still, while all but one of the others had learned to be far below it (on the right). Now the far ones get
#   attention. (Raffel et al. 2020, §2.1 let all far distances share one number; Press et al. 2022, §3 fix the bias as a
#   falling line.)
# - **Rotary** positions depend on distance alone, and the distance asked for here is 1.
#
# This is one small task. Where long distances matter, they bring angles that a rotary model has not met either, and it
# fails as well (Press et al. 2022, §2). *Which lengths were in the training?* is the question to ask of any of them.

# %% [markdown]
# ## 11 · In your own words

# %% [markdown]
# {{card positions.why}}

# %% [markdown] tags=["written:positions.why"]
# Two or three sentences each, with a number from this notebook wherever there is one:
#
# 1. What do your two sentences mean, and why can a model without positions not tell them apart?
# 2. Is it because a dot product is symmetric?
# 3. Why has an odd width no shift matrix?
# 4. What can PE(x)·PE(x + k) not tell, and why can a head tell it all the same?
# 5. What do added positions bring into the scores that positions laid beside do not, and what does each cost?
# 6. A text is longer than any in training. What do sinusoidal, learned, relative and rotary positions each say about
#    its last token?
#
# ### BEGIN SOLUTION
# 1. One says that the critic enjoyed the film, the other that it bored him. Attention gives each word the same output
#    in both, the rows in another order; their mean is the same vector, 0.00 apart in the figure, so the verdict is
#    the same.
# 2. No. With queries and keys projected apart, or with an additive score, the table of scores is not symmetric and
#    the gap is 0.000 all the same; with positions the symmetric score has a gap of 1.024. The reason is that each
#    pair is scored by the same rule: softmax(PAPᵀ) = P softmax(A) Pᵀ.
# 3. The last sine lacks its cosine, and sin(w(x+k)) = cos(wk) sin(wx) + sin(wk) cos(wx) needs both. The best matrix
#    for a width of 5 is off by 0.270 somewhere, for 4 and 6 by 0.000.
# 4. The side: cosines are even, so 7 places before and after both give 23.264. A head projects queries and keys
#    apart, and if its projections hold the turn M(−1) each position scores highest with the one before it.
# 5. Adding brings two terms in which a word meets a place, and costs no width. Beside, a score is words plus places;
#    but vectors and all their projections are wider. In a wide model cross terms are small: a cosine of 0.012 at
#    4096.
# 6. Sinusoids: a row can be computed, but the model has never met it, and went astray in the experiment. Learned:
#    there is no vector, or one that never got a gradient. Relative: only distances in the table are known, and those
#    beyond the training were never learned. Rotary: scores depend on i − j alone, so a known distance works at any
#    place, while longer distances are new.
# ### END SOLUTION

# %% [markdown]
# ## What you can do now
#
# - Prove that attention is equivariant, and say what breaks it and what does not.
# - Build the sinusoidal table, and say why it has cosines, why widths are even, and what similarity cannot tell.
# - Choose between adding positions, laying them beside, biasing the scores and turning queries and keys, and say what
#   each costs and how far it reaches.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Vaswani et al. 2017, *Attention Is All You Need*, §3.5: sinusoids, and learned positions beside them.
# - Shaw et al. 2018, *Self-Attention with Relative Position Representations*, §3.2.
# - Raffel et al. 2020, *Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer*, §2.1: a
#   number for each distance.
# - Ke et al. 2021, *Rethinking Positional Encoding in Language Pre-training*, §3.1: the four terms, measured in BERT.
# - Su et al. 2021, *RoFormer: Enhanced Transformer with Rotary Position Embedding*, §3.2.
# - Press et al. 2022, *Train Short, Test Long*, §2: which encodings survive longer texts.
# - Haviv et al. 2022, *Transformer Language Models without Positional Encodings Still Learn Positional Information*.
#
# **Next** is 04_complexity: what a layer costs, counted and measured.
