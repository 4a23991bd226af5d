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
# # 05 · Parameters: the whole model, and every number in it
#
# "It has 65 million parameters" is said quickly. Where are they? In this notebook you build the Transformer of 2017,
# count it with pencil and paper, and hold each line of your count against the real thing. At the end stands the bill:
# what it costs to train so many numbers.
#
# **You will be able to**
# - build encoder and decoder layers, and the whole model from them;
# - count any of its parts, exactly, and say which choices change the count and which do not;
# - audit a published number, and find the line in which it slipped;
# - count a model that would never fit into your memory;
# - estimate what a training costs in FLOPs and days, and say how far two estimates may be apart.
#
# **Time** about three and a half hours. **Before this** 01_attention, 02_masks, and the sines of 03_positions.

# %%
import torch
from torch import nn

from autograder import check, progress
from helpers import attention as attending
from helpers import config, cost, counting, layers, masks, parameters, positions
from helpers.figures import parameters as figures

# %% [markdown]
# ## 1 · Each token by itself
#
# Attention moves information between tokens, and what arrives is a weighted mean: nothing in it bends. So after each
# look around, every token works on what it got, alone, in a small network of two linear layers with a ReLU between
# (Vaswani et al. 2017, §3.3):
#
# $$\text{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2$$
#
# It is the same network at each position. The way leads up, from $d_{model}$ to a wider $d_{ff}$, and down again.

# %% [markdown]
# {{card transformer.FeedForward}}


# %% tags=["exercise:transformer.FeedForward"]
class FeedForward(nn.Module):
    """Submodules up (d_model → d_ff) and down (d_ff → d_model), with biases; x (B, T, D) → (B, T, D)."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        ### BEGIN SOLUTION
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        wide = torch.relu(self.up(x))  # (B, T, d_ff)
        return self.down(wide)  # (B, T, D)
        ### END SOLUTION


# %%
check("transformer.FeedForward", FeedForward)

# %% [markdown]
# Alone means alone. Change one token, and see whose output moves:

# %%
torch.manual_seed(0)
work, x = layers.FeedForward(8, 32), torch.randn(1, 5, 8)  # (B, T, D)
changed = x.clone()
changed[0, 2] += 1
moved = (work(changed) != work(x)).any(-1)[0]  # (T,)
print("tokens whose output moved:", moved.nonzero().flatten().tolist())

# %% [markdown]
# ## 2 · A layer: look around, then think
#
# An encoder layer has these two parts, self-attention and feed-forward, and around each of them two simple things:
#
# - a **residual path**: what the part gives is *added* to what went in, $x + \text{sublayer}(x)$;
# - a **norm**: each token's features are brought to mean 0 and deviation 1, then stretched and shifted by learned
#   numbers (Ba et al. 2016).
#
# In 2017 the norm came after the sum, $\text{norm}(x + \text{sublayer}(x))$ (§3.1): *post-norm*. Many later models put
# it before the part, $x + \text{sublayer}(\text{norm}(x))$: *pre-norm*, here `norm_first=True`, which is easier to
# train when stacks get deep (Xiong et al. 2020).
#
# Is the residual path a detail? Predict how alike the tokens of a text are after a dozen layers without it:

# %% tags=["explore"]
figures.depth()

# %% [markdown]
# Averages of averages: two layers are enough, and every token is the same. The residual path lets a token keep what it
# was. (Dong et al. 2021 prove it for attention on its own.)

# %% [markdown]
# {{card transformer.EncoderLayer}}


# %% tags=["exercise:transformer.EncoderLayer"]
class EncoderLayer(nn.Module):
    """Submodules attention, feed_forward, norm1, norm2; x (B, T, D) → (B, T, D).

    attending.MultiHeadAttention(d_model, n_heads) and layers.FeedForward(d_model, d_ff) may be used.
    """

    def __init__(self, d_model, n_heads, d_ff, norm_first=False):
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = attending.MultiHeadAttention(d_model, n_heads)
        self.feed_forward = layers.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm_first = norm_first
        ### END SOLUTION

    def forward(self, x, mask=None):
        ### BEGIN SOLUTION
        if self.norm_first:
            x = x + self.attention(self.norm1(x), mask=mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask=mask))
        return self.norm2(x + self.feed_forward(x))
        ### END SOLUTION


# %%
check("transformer.EncoderLayer", EncoderLayer)

# %% [markdown]
# PyTorch has such a layer, too. Its names differ; with the reference's weights under these names, the numbers do not:

# %%
ours = layers.EncoderLayer(12, 3, 20)
theirs = nn.TransformerEncoderLayer(12, 3, 20, dropout=0, batch_first=True)
names = {"attention.out_proj": "self_attn.out_proj", "feed_forward.up": "linear1", "feed_forward.down": "linear2"}
names |= {"norm1": "norm1", "norm2": "norm2"}
weights = ours.state_dict()
renamed = {f"{b}.{w}": weights[f"{a}.{w}"] for a, b in names.items() for w in ("weight", "bias")}
for w in ("weight", "bias"):  # PyTorch keeps three projections in one matrix, (3 · D, D)
    renamed[f"self_attn.in_proj_{w}"] = torch.cat([weights[f"attention.{p}_proj.{w}"] for p in "qkv"])
theirs.load_state_dict(renamed)
x = torch.randn(2, 5, 12)  # (B, T, D)
print("the same numbers:", torch.allclose(ours(x), theirs(x), atol=1e-5))

# %% [markdown]
# ## 3 · A layer that also listens
#
# The decoder writes the translation. Its layers have a part more, between the other two: **attention to memory**, where
# memory is what the encoder made of the source. Remember 01_attention: who asks, who answers? The decoder needs a
# vector for each of *its* tokens, so $x$ asks and memory answers.
#
# Two attentions, two masks: `mask` hides the decoder's future, `memory_mask` the pads of the source.

# %% [markdown]
# {{card transformer.DecoderLayer}}


# %% tags=["exercise:transformer.DecoderLayer"]
class DecoderLayer(nn.Module):
    """Submodules self_attention, cross_attention, feed_forward, norm1, norm2, norm3.

    forward: x (B, T, D) and memory (B, S, D) → (B, T, D).
    """

    def __init__(self, d_model, n_heads, d_ff, norm_first=False):
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = attending.MultiHeadAttention(d_model, n_heads)
        self.cross_attention = attending.MultiHeadAttention(d_model, n_heads)
        self.feed_forward = layers.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.norm_first = norm_first
        ### END SOLUTION

    def forward(self, x, memory, mask=None, memory_mask=None):
        ### BEGIN SOLUTION
        def around(x, norm, sublayer):
            return x + sublayer(norm(x)) if self.norm_first else norm(x + sublayer(x))

        x = around(x, self.norm1, lambda y: self.self_attention(y, mask=mask))
        x = around(x, self.norm2, lambda y: self.cross_attention(y, memory, memory_mask))
        return around(x, self.norm3, self.feed_forward)
        ### END SOLUTION


# %%
check("transformer.DecoderLayer", DecoderLayer)

# %% [markdown]
# Memory may be longer or shorter than $x$. What comes out has as many tokens as $x$, whatever the length of the source.

# %% [markdown]
# ## 4 · The whole model
#
# Everything is there. Put it together:

# %% tags=["explore"]
figures.architecture()

# %% [markdown]
# - Embeddings are multiplied by $\sqrt{d_{model}}$ before positions are added (§3.4).
# - The *last* encoder layer's output is the memory of *every* decoder layer.
# - The model makes its own masks. Words beside the boxes say what each attention may read.
# - The head turns each vector into one logit for each word of the target language.

# %% [markdown]
# {{card transformer.Transformer}}


# %% tags=["exercise:transformer.Transformer"]
class Transformer(nn.Module):
    """Submodules source_embedding, target_embedding, encoder, decoder (ModuleLists), head.

    forward: source (B, S) and target (B, T), both ids → logits (B, T, target_vocab).
    """

    def __init__(self, source_vocab, target_vocab, d_model, n_heads, d_ff, n_layers, pad_id=0):
        super().__init__()
        ### BEGIN SOLUTION
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        self.positions = positions.SinusoidalPositions(d_model)
        self.encoder = nn.ModuleList(layers.EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.decoder = nn.ModuleList(layers.DecoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.head = nn.Linear(d_model, target_vocab)
        self.scale, self.pad_id = d_model**0.5, pad_id
        ### END SOLUTION

    def forward(self, source, target):
        ### BEGIN SOLUTION
        no_pads = masks.padding(source, self.pad_id)  # (B, 1, 1, S)
        n = target.shape[1]
        causal = torch.ones(n, n, device=target.device).tril().bool()  # (T, T)
        memory = self.positions(self.source_embedding(source) * self.scale)  # (B, S, D)
        for layer in self.encoder:
            memory = layer(memory, no_pads)
        x = self.positions(self.target_embedding(target) * self.scale)  # (B, T, D)
        for layer in self.decoder:
            x = layer(x, memory, causal, no_pads)
        return self.head(x)  # (B, T, V)
        ### END SOLUTION


# %%
check("transformer.Transformer", Transformer)

# %% [markdown]
# What does each output of such a model depend on? A gradient knows. This one is small and knows no French yet; that
# each output reads what it should is built in before any training:

# %% tags=["explore"]
figures.reads("the cat is tired", "le chat est fatigué")

# %% [markdown]
# A pad has no influence at all, nor has a later word. Whoever changes this model will want to see this picture again.

# %% [markdown]
# ## 5 · Let the machine count
#
# Now that it stands, what is in it? A **parameter** is a number that training changes. A model holds two more kinds of
# numbers: *frozen* weights, which are parameters that training is told to leave alone, and *buffers*, tables that are
# kept with the model and never learned. And one weight may serve in two places: it is still one.
#
# Counting needs shapes, not values. PyTorch has a device for this: on `meta` a tensor has a shape and a dtype, and
# nothing behind them.

# %%
huge = nn.Linear(10**6, 10**6, device="meta")
print(f"{huge.weight.numel():,} numbers, {huge.weight.nbytes / 1e12:.0f} TB if they existed")

# %% [markdown]
# {{card parameters.count}}


# %% tags=["exercise:parameters.count"]
def count(model):
    """(trainable, frozen) parameters of a model; a shared weight once, buffers not at all."""
    ### BEGIN SOLUTION
    trainable = sum(w.numel() for w in model.parameters() if w.requires_grad)
    frozen = sum(w.numel() for w in model.parameters() if not w.requires_grad)
    return trainable, frozen
    ### END SOLUTION


# %%
check("parameters.count", count)

# %% [markdown]
# Try it on something that is not small. Here are BERT's own sizes, built for real on the meta device, while we watch
# how much memory this notebook takes:

# %% tags=["explore"]
import psutil

before = psutil.Process().memory_info().rss
bert = parameters.bert()
grown = psutil.Process().memory_info().rss - before  # bytes
n_bytes = 4 * sum(counting.count(bert))
print(f"BERT in float32: {n_bytes / 1e6:.0f} MB")
print("taken here:", "next to nothing" if grown < n_bytes / 20 else f"{grown:,} bytes")

# %% [markdown]
# ## 6 · Now by hand
#
# A machine counts any model that exists. A formula tells you what happens if you *change* it, before anyone has built
# it. So, part by part, for a small language model that has been counted in print: a vocabulary of 100 tokens, width
# 200, $d_{ff}$ 200 too, 2 heads, 4 layers. Here it is called `config.seed`. Each number that you find, real layers of
# PyTorch will confirm.


# %%
def size(make, *sizes):
    """How many parameters `make(*sizes)` really has, as text."""
    with torch.device("meta"):
        return f"{sum(counting.count(make(*sizes))):,}"


# %% [markdown]
# An embedding is a table: a row for each token, a column for each feature.

# %% [markdown]
# {{card parameters.embedding}}


# %% tags=["exercise:parameters.embedding"]
def embedding(vocab_size, d_model):
    """Parameters of an embedding."""
    ### BEGIN SOLUTION
    rows, columns = vocab_size, d_model
    return rows * columns
    ### END SOLUTION


# %%
check("parameters.embedding", embedding)

# %%
print(f"embedding: {parameters.embedding(100, 200):,} by the formula, {size(nn.Embedding, 100, 200)} counted")
print("sinusoidal positions:", size(positions.SinusoidalPositions, 200), "counted")

# %% [markdown]
# Fixed positions are computed, so there is nothing to learn in them. Learned ones would be a second table.
#
# ### Do heads cost parameters?
#
# Multi-head attention is always drawn as a pile of cards, one for each head. So it looks as if one had to count one
# head and multiply by their number. Predict: at width 200, what do 8 heads have more than 1? Then run:

# %%
for n_heads in (1, 2, 4, 8):
    print(f"n_heads = {n_heads}: {size(attending.MultiHeadAttention, 200, n_heads)} parameters")

# %% [markdown]
# Nothing more. Look at what a head gets: it projects from $d_{model}$ to $d_k = d_{model} / n_{heads}$ features. More
# heads are thinner heads, and all of them together are one matrix of $d_{model} \times d_{model}$ each for queries,
# keys and values. A drawing multiplies the cards, not the numbers on them.

# %% [markdown]
# {{card parameters.attention}}


# %% tags=["exercise:parameters.attention"]
def attention(d_model, n_heads):
    """Parameters of one multi-head attention: four projections with biases."""
    ### BEGIN SOLUTION
    projection = d_model * d_model + d_model  # all heads' shares of it together
    return 4 * projection
    ### END SOLUTION


# %%
check("parameters.attention", attention)

# %%
print(f"by the formula {parameters.attention(200, 2):,}, in PyTorch's own {size(nn.MultiheadAttention, 200, 2)}")
wrong = 2 * parameters.attention(200, 2)
print(f"multiplied by two heads it would be {wrong:,}")

# %% [markdown]
# ### Is the feed-forward layer part of the heads?
#
# Some lists of a layer's parts put the feed-forward network under attention, as the "fully connected layer of the
# heads". If it were theirs, each head would have its own, and what one head found would reach only that head's share of
# the output. Predict: of 200 features out, how many move if only the first head's 100 features going in are changed?

# %%
work, x = layers.FeedForward(200, 200), torch.randn(200)  # (D,)
changed = x.clone()
changed[:100] += 1  # what the first of two heads wrote
print("features that move:", int((work(changed) != work(x)).sum()), "of 200")

# %% [markdown]
# All of them. The heads' results were merged and mixed by `out_proj` long before; the feed-forward layer comes after
# the residual path and the norm, reads whole tokens, and exists once in a layer, with any number of heads. Its size is
# a choice of its own, too: $d_{ff}$.

# %% [markdown]
# {{card parameters.feed_forward}}


# %% tags=["exercise:parameters.feed_forward"]
def feed_forward(d_model, d_ff):
    """Parameters of a feed-forward layer, both linear layers with biases."""
    ### BEGIN SOLUTION
    up = d_model * d_ff + d_ff
    down = d_ff * d_model + d_model
    return up + down
    ### END SOLUTION


# %%
check("parameters.feed_forward", feed_forward)

# %%
print(f"by the formula {parameters.feed_forward(200, 200):,}, counted {size(layers.FeedForward, 200, 200)}")

# %% [markdown]
# The last part is easily overlooked. A norm computes mean and deviation anew for each token. What does it *learn*?

# %% [markdown]
# {{card parameters.layer_norm}}


# %% tags=["exercise:parameters.layer_norm"]
def layer_norm(d_model):
    """Parameters of one layer norm."""
    ### BEGIN SOLUTION
    gain = bias = d_model
    return gain + bias
    ### END SOLUTION


# %%
check("parameters.layer_norm", layer_norm)

# %%
print({name: tuple(weight.shape) for name, weight in nn.LayerNorm(200).named_parameters()})
print(f"one norm {parameters.layer_norm(200):,}, the two of an encoder layer {2 * parameters.layer_norm(200):,}")

# %% [markdown]
# ## 7 · From parts to models
#
# The rest is adding up. Which parts has a layer, and how many norms?

# %% [markdown]
# {{card parameters.encoder_layer}}


# %% tags=["exercise:parameters.encoder_layer"]
def encoder_layer(d_model, d_ff, n_heads):
    """Parameters of one encoder layer."""
    ### BEGIN SOLUTION
    attends = 4 * (d_model**2 + d_model)
    thinks = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * (2 * d_model)
    return attends + thinks + norms
    ### END SOLUTION


# %%
check("parameters.encoder_layer", encoder_layer)

# %%
print(f"by the formula {parameters.encoder_layer(200, 200, 2):,}")
print("in PyTorch's own", size(nn.TransformerEncoderLayer, 200, 2, 200))

# %% [markdown]
# {{card parameters.decoder_layer}}


# %% tags=["exercise:parameters.decoder_layer"]
def decoder_layer(d_model, d_ff, n_heads):
    """Parameters of one decoder layer."""
    ### BEGIN SOLUTION
    attends = 2 * 4 * (d_model**2 + d_model)  # to itself, and to memory
    thinks = 2 * d_model * d_ff + d_ff + d_model
    norms = 3 * (2 * d_model)
    return attends + thinks + norms
    ### END SOLUTION


# %%
check("parameters.decoder_layer", decoder_layer)

# %%
extra = parameters.decoder_layer(200, 200, 2) - parameters.encoder_layer(200, 200, 2)
print(f"by the formula {parameters.decoder_layer(200, 200, 2):,}, {extra:,} more than an encoder layer")
print("in PyTorch's own", size(nn.TransformerDecoderLayer, 200, 2, 200))

# %% [markdown]
# A language model has no source to attend to. It is a stack of encoder layers under a causal mask, between an embedding
# at the bottom and a head at the top, from $d_{model}$ to one logit for each token. (Does the mask have parameters?)

# %% [markdown]
# {{card parameters.language_model}}


# %% tags=["exercise:parameters.language_model"]
def language_model(vocab_size, d_model, d_ff, n_layers, n_heads):
    """Parameters of a language model: embedding, layers, untied head with bias."""
    ### BEGIN SOLUTION
    table = vocab_size * d_model
    layer = 4 * (d_model**2 + d_model) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model
    head = d_model * vocab_size + vocab_size
    return table + n_layers * layer + head
    ### END SOLUTION


# %%
check("parameters.language_model", language_model)

# %% [markdown]
# A total that agrees may still be two errors that cancel. So do not compare totals, compare **line by line**: on the
# left the formulas, on the right what the real model holds under each name.

# %%
claims = parameters.claimed(vocab_size=100, d_model=200, d_ff=200, n_layers=4, n_heads=2)
print(parameters.ledger(claims, parameters.seed_model()))

# %%
print(f"the four layers {4 * parameters.encoder_layer(200, 200, 2):,}")
print(f"the body, all but the head {parameters.body(100, 200, 200, 4, 2):,}")

# %% [markdown]
# For another task the body stays, and a new head is put on it:

# %% [markdown]
# {{card parameters.classifier}}


# %% tags=["exercise:parameters.classifier"]
def classifier(vocab_size, d_model, d_ff, n_layers, n_classes, n_heads):
    """Parameters of a classifier: the language model's body, and a head with bias to n_classes."""
    ### BEGIN SOLUTION
    layer = 4 * (d_model**2 + d_model) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model
    body = vocab_size * d_model + n_layers * layer
    return body + d_model * n_classes + n_classes
    ### END SOLUTION


# %%
check("parameters.classifier", classifier)

# %%
sizes = {"vocab_size": 100, "d_model": 200, "d_ff": 200, "n_layers": 4, "n_heads": 2}
print(f"language model {parameters.language_model(**sizes):,}")
print(f"classifier     {parameters.classifier(**sizes, n_classes=2):,}")
print("of which new  ", size(nn.Linear, 200, 2))

# %% [markdown]
# Of nearly a million numbers a fine-tuned classifier starts with all but a few hundred already trained. That is
# 08_fine_tuning.

# %% [markdown]
# ## 8 · An audit
#
# The same small model has been counted in print, with the right result. Here is that count, as a ledger:
#
# | line | parameters |
# | --- | ---: |
# | embedding | 20,000 |
# | attention, in each layer | 160,800 |
# | feed-forward, in each layer | 80,400 |
# | norms, in each layer | 400 |
# | four layers | 968,000 |
# | head | 20,100 |
# | total | 1,008,100 |
#
# A right total says nothing about its lines. Do you trust them all? Do the sum, with nothing but a calculator:

# %%
published = {"attention": 160_800, "feed_forward": 80_400, "norms": 400}
print(f"four layers, added up: {4 * sum(published.values()):,}; written: 968,000")

# %% [markdown]
# Something is wrong, and it is not the result. Which line?

# %% [markdown]
# {{card parameters.audit}}


# %% tags=["exercise:parameters.audit"]
def audit():
    """{"line": the line that is wrong, "per_layer": its parameters in one layer, "total": those of all four layers}."""
    ### BEGIN SOLUTION
    norms = 2 * (200 + 200)  # two norms, each with a gain and a bias
    return {"line": "norms", "per_layer": norms, "total": 4 * (160_800 + 80_400 + norms)}
    ### END SOLUTION


# %%
check("parameters.audit", audit)

# %% [markdown]
# A ledger finds such a thing by itself. Give it the published lines, 200 numbers for each of the two norms:

# %%
slip = {name: 200 if "norm" in name else n for name, n in claims.items()}
print(parameters.ledger(slip, parameters.seed_model()).splitlines()[-1])

# %% [markdown]
# Two norms with one vector each, or one norm with two? Both readings give 400, and both are short by half.

# %% [markdown]
# ## 9 · Where are they all?
#
# In our small model $d_{ff}$ equals $d_{model}$. In most others it is four times as large. Predict: which part of BERT
# is the largest?

# %% tags=["explore"]
figures.shares()

# %% [markdown]
# *Attention Is All You Need*, says the title, and in the paper's own models most of the numbers are something else.
# Take one apart yourself: double the layers, the heads, the vocabulary, the width with $d_{ff}$, one at a time. Which
# comes closest to four times the total? Which does nothing at all?

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.parameters import parameter_calculator

parameter_calculator("seed")

# %% [markdown]
# ## 10 · Numbers that others published
#
# The paper of 2017 gives two: one for its *base* model ($d_{model}$ 512, 6 + 6 layers) and one for *big* (1024). Look
# them up, or count.

# %% [markdown]
# {{card parameters.paper}}


# %% tags=["exercise:parameters.paper"]
def paper(name):
    """Parameters of the paper's "base" and "big"."""
    ### BEGIN SOLUTION
    return {"base": 65e6, "big": 213e6}[name]
    ### END SOLUTION


# %%
check("parameters.paper", paper)

# %% [markdown]
# Now exactly. The paper uses one matrix for both embeddings and the head (§3.4), and a shared vocabulary of about
# 37,000 tokens (§5.1):

# %%
for name, preset in (("base", config.base), ("big", config.big)):
    real = sum(counting.count(parameters.tied_transformer(preset)))
    print(f"{name:4} reported {parameters.paper(name) / 1e6:.0f} M, by the formula {parameters.translation(preset):,}")
    print(f"{'':4} counted {real:,}, or {real / 1e6:.1f} M")

# %% [markdown]
# One too few, the other too many. Perhaps the vocabulary was not exactly 37,000? Let us see which one would do:

# %% tags=["explore"]
figures.vocabularies()

# %% [markdown]
# None does. Base needs a larger vocabulary and big a smaller one, and even rounding to the million does not bring the
# two together. Either the models differed in more than their sizes, or the two numbers were not counted in the same
# way; the paper does not say. Quote it, and count for yourself.
#
# BERT is a stack of encoder layers whose embeddings have three tables, for tokens, *learned* positions and segments,
# and a norm. On top of it sits the **pooler**, a linear layer for the first token (Devlin et al. 2018, §3).

# %% [markdown]
# {{card parameters.bert_base}}


# %% tags=["exercise:parameters.bert_base"]
def bert_base():
    """Parameters of BERT-base, body and pooler."""
    ### BEGIN SOLUTION
    d, d_ff = 768, 3072
    tables = (30_522 + 512 + 2) * d + 2 * d  # tokens, positions, segments, and a norm
    layer = 4 * (d * d + d) + (d * d_ff + d_ff) + (d_ff * d + d) + 2 * (2 * d)
    pooler = d * d + d
    return tables + 12 * layer + pooler
    ### END SOLUTION


# %%
check("parameters.bert_base", bert_base)

# %%
lines = parameters.components(parameters.bert())
body = sum(n for name, n in lines.items() if name.startswith(("embeddings", "encoder", "pooler")))
print(f"body and pooler {body:,}; with both heads {sum(lines.values()):,}")
print({name: n for name, n in lines.items() if name not in ("embeddings", "pooler") and "encoder" not in name})

# %% [markdown]
# The head for tokens has another table of the vocabulary's size, and is nearly free: its matrix *is* the embedding's,
# and only its bias is new. Shared weights count once.

# %% [markdown]
# ## 11 · The bill
#
# What does it cost to train them? There is a rule of thumb that needs two numbers. In a forward pass each weight meets
# each token in one multiply-add, two FLOPs. The way back makes two gradients of that size, one for inputs and one for
# weights. For $N$ parameters and $D$ tokens:

# %% [markdown]
# {{card cost.training_flops}}


# %% tags=["exercise:cost.training_flops"]
def training_flops(n_parameters, n_tokens):
    """FLOPs of training, counting products with weights alone."""
    ### BEGIN SOLUTION
    forward = 2 * n_parameters * n_tokens
    backward = 2 * forward
    return forward + backward
    ### END SOLUTION


# %%
check("cost.training_flops", training_flops)

# %% [markdown]
# The paper estimates its own trainings in another way: hours, times devices, times the FLOPs that one of them can do in
# a second (§6.1, table 2, footnote 5). Base ran for 12 hours on 8 P100s, 100,000 steps of about 25,000 source and
# 25,000 target tokens (§5.1, §5.2):

# %%
run = cost.paper_training("base")
n_tokens = run["steps"] * run["tokens_per_step"]
by_rule = cost.training_flops(parameters.translation(config.base), n_tokens)
by_clock = cost.by_the_clock(run["hours"], run["n_devices"])
print(f"6 · N · D on {n_tokens:.0e} tokens: {by_rule:.1e}; hours × devices × rate: {by_clock:.1e}")
print(f"the rule explains {by_rule / by_clock:.0%} of the clock")

# %% [markdown]
# Which is right? They answer different questions.
#
# - The **clock** counts what the devices *could* have done at $9.5 \cdot 10^{12}$ FLOPs a second, as if they never
#   waited for memory, for data or for one another.
# - **6·N·D** counts what the products with weights *need*. It leaves out attention's scores, the softmaxes and the
#   optimiser, so it is a little low. And it is high for a translator: it lets every token meet every weight, but source
#   tokens never pass the decoder, nor target tokens the encoder.
#
# Count each token on its own side only, and you get a third number:

# %%
sided = figures.sided_flops(parameters.tied_transformer(config.base), n_tokens)
print(f"each token on its own side: {sided:.2e}, {sided / by_clock:.0%} of the clock")

# %% tags=["explore"]
figures.estimates()

# %% [markdown]
# That a device does a third of what it could is no scandal; it is ordinary. The fraction has a name, **utilisation**,
# and with it you can say how long something will take.

# %% [markdown]
# {{card cost.days}}


# %% tags=["exercise:cost.days"]
def days(flops, n_devices, flops_per_second, utilisation):
    """Days that the devices take, each at this fraction of its rate."""
    ### BEGIN SOLUTION
    flops_per_day = n_devices * flops_per_second * utilisation * 24 * 60 * 60
    return flops / flops_per_day
    ### END SOLUTION


# %%
check("cost.days", days)

# %%
print(f"eight P100s at full rate, the clock's FLOPs: {cost.days(by_clock, 8, cost.P100, 1):.2f} days, as reported")
print(f"one P100, the same: {cost.days(by_clock, 1, cost.P100, 1):.2f} days")
print(f"eight P100s at full rate, 6 · N · D: {cost.days(by_rule, 8, cost.P100, 1):.2f} days")

# %% [markdown]
# And your own device? Do not look its peak up: measure. The next cell trains a small model for ten seconds and reports
# the rate that was really sustained. (If you have a GPU, say `device="cuda"`. A large model uses a GPU better than this
# small one, so take it as an upper bound of days.)

# %% tags=["explore", "nbval-ignore-output"]
rate = cost.sustained_rate(seconds=10, preset=config.seed)
print(f"{rate / 1e9:.1f} billion FLOPs a second")
figures.waiting(rate)

# %% [markdown]
# If there are years in your picture: that is why 06_translation learns from short sentences, with a model a fraction of
# this size, and why what others have trained is worth so much.

# %% [markdown]
# ## What you can do now
#
# - Build encoder and decoder layers and the whole Transformer, with each submodule's name and mask in its place.
# - Count a model part by part, and hold it against the real one name by name.
# - Say what heads, fixed positions, masks and tied weights add to the count: nothing.
# - Find the line in which a published sum slipped, though its total is right.
# - Estimate FLOPs and days, and say what an estimate leaves out.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Vaswani et al. 2017, *Attention Is All You Need*, §3.1 and §3.3: the layers; §3.4: shared embeddings; §5 and §6.1,
#   table 3: the trainings and their size.
# - Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*: why norms moved.
# - Dong et al. 2021, *Attention is not all you need: pure attention loses rank doubly exponentially with depth*.
# - Devlin et al. 2018, *BERT*, §3: a stack of encoder layers, and its sizes.
# - Kaplan et al. 2020, *Scaling Laws for Neural Language Models*, §2.1: the rule of 6·N·D.
#
# **Next** is 06_translation: the model that you have counted learns French.
