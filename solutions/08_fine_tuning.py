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
# # 08 · Fine-tuning: make it tell praise from blame
#
# In 07_language_model a model read films' reviews and learned one thing: what comes next. Nobody told it what a *good*
# film is. And yet, who guesses the end of "two hours of my life that" has to know where this is going. In this notebook
# you take the model's head off, put another one on, and let it judge; then you ask whether all that reading was worth
# anything, and answer in a way that others can trust.
#
# **You will be able to**
# - put a new head on a pretrained body, and prove that the body was really loaded;
# - make one vector of a text without reading a pad;
# - train a head alone, or all of it, and say what each of them shows;
# - compare two ways of training: seeds, an interval, the simple method beside them;
# - say by what a classifier is judged, and by what it is not.
#
# **Time** about two hours. **Before this** 07_language_model.

# %%
import copy
import math
import random

import torch
from torch import nn
from torch.nn import functional as F

from autograder import check, progress
from helpers import checkpoints, config, counting, finetune
from helpers.experiments import fine_tune as full_size
from helpers.figures import fine_tuning as figures
from helpers.models import Classifier
from helpers.text import sentences
from helpers.training import Plan, epochs_at, train

# %% [markdown]
# ## 1 · A body and a head
#
# A language model is two things: a **body**, which turns a text into a vector at each token, and a **head**, one linear
# layer that turns a vector into a score for each token of the vocabulary. Where are the numbers?

# %%
pretrained, tokenizer, record = checkpoints.load("reviews")
shape = tuple(record["settings"][name] for name in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers"))
head = sum(weight.numel() for name, weight in pretrained.items() if name.startswith("head."))
print(f"body {sum(weight.numel() for weight in pretrained.values()) - head:,}, head {head:,}")
print("head.weight", tuple(pretrained["head.weight"].shape))

# %% [markdown]
# To tell praise from blame two scores are enough. So the head goes, with all it knows of single tokens, and a new one
# comes in its place. What the body learned stays: that is the idea of **fine-tuning** (Radford et al. 2018, §3.2).
#
# One thing to mind: the pretrained model should survive. You will want to start from it again.

# %% [markdown]
# {{card finetune.swap_head}}


# %% tags=["exercise:finetune.swap_head"]
def swap_head(model, n_classes):
    """A copy of the model, which shares nothing with it, whose `head` is new and linear, from D to n_classes."""
    ### BEGIN SOLUTION
    fresh = copy.deepcopy(model)
    old = model.head.weight  # (V, D)
    fresh.head = nn.Linear(old.shape[1], n_classes, device=old.device, dtype=old.dtype)
    return fresh
    ### END SOLUTION


# %%
check("finetune.swap_head", swap_head)

# %% [markdown]
# ## 2 · Loaded, or only not refused?
#
# More often the body comes from a file: a dictionary of names and weights. The head in it does not fit, so people tell
# PyTorch not to be strict. Suppose the file was written by a model that was wrapped for training on many GPUs, so that
# all names begin with `module.`. Predict: what does the last line of this cell do?

# %%
wrapped = {f"module.{name}": weight for name, weight in pretrained.items()}
classifier = Classifier(*shape, n_classes=2)
told = classifier.load_state_dict(wrapped, strict=False)

# %% [markdown]
# Nothing. No error, no warning. What it did *not* do stands in the answer that nobody asked for:

# %%
print(f"{len(told.missing_keys)} of {len(classifier.state_dict())} weights were not in the file")
print("the first of them:", told.missing_keys[0], "— in the file:", told.unexpected_keys[0])

# %% [markdown]
# Not one weight was loaded. The model trains all the same, from scratch, and somebody writes in a report that
# pretraining brings nothing. So: leave out the head on purpose, and insist on the rest.

# %% [markdown]
# {{card finetune.load_body}}


# %% tags=["exercise:finetune.load_body"]
def load_body(classifier, state):
    """The classifier, its body loaded from `state`, whose `head.*` is ignored. Its own head stays.

    ValueError or RuntimeError if an entry of the body is missing, unexpected or of another shape.
    """
    ### BEGIN SOLUTION
    body = {name: weight for name, weight in state.items() if not name.startswith("head.")}
    own = {name for name in classifier.state_dict() if not name.startswith("head.")}
    if own != set(body):
        raise ValueError(f"the names differ: {sorted(own ^ set(body))}")
    classifier.load_state_dict(body, strict=False)
    return classifier
    ### END SOLUTION


# %%
check("finetune.load_body", load_body)

# %% [markdown]
# The reference, and the file of a moment ago:

# %%
try:
    finetune.load_body(Classifier(*shape, n_classes=2), wrapped)
except ValueError as error:
    print(error)

# %% [markdown]
# ## 3 · One vector from a text
#
# The body gives a vector at *each* token, the head wants *one*. In a causal body only one of them has read the whole
# text: the last. In PyTorch the last is written `[:, -1]`, and in many a notebook it is. Let us see what stands there,
# in batches of real sentences, padded on the right:

# %%
texts = sentences()
ids, labels = finetune.examples(tokenizer, texts.train, max_len=96)  # (N, T), (N,)
batches = [finetune.trimmed(batch)[0] for batch in zip(ids.split(32), labels.split(32), strict=True)]
ends_in_pad = torch.cat([batch[:, -1] == 0 for batch in batches])  # (N,)
print(f"{len(texts.train):,} sentences in batches of 32: the last place is a pad in {ends_in_pad.double().mean():.0%}")

# %% [markdown]
# Nearly all of them would be judged by a pad. Does it matter, if the pads may look at the text? Read one sentence
# twice, alone and beside a longer one. Whom you sit next to should not change what is thought of you.

# %%
classifier = finetune.load_body(Classifier(*shape, n_classes=2), pretrained).eval()
short, long = "a quiet delight.", "two hours of my life that i would rather have spent in a queue, any queue."
alone, beside = (finetune.examples(tokenizer, [(text, 1) for text in some], 96)[0] for some in ([short], [short, long]))
with torch.no_grad():
    for name, batch in {"alone": alone, "beside a longer one": beside}.items():
        hidden = classifier.hidden(batch, pad_id=0)  # (B, T, D)
        vectors = hidden[:, -1], finetune.pool(hidden, batch != 0, "last")  # (B, D) each
        print(f"{name:20} first feature at [:, -1] {vectors[0][0, 0]:.3f}, at the last token {vectors[1][0, 0]:.3f}")

# %% [markdown]
# There are three usual choices. The **last** real token, for bodies that read from left to right. The **first**, for
# bodies that read both ways: BERT has a token of its own there (Devlin et al. 2018, §3). And the **mean** of all. For
# each of them pads may stand on either side.

# %% [markdown]
# {{card finetune.pool}}


# %% tags=["exercise:finetune.pool"]
def pool(hidden, padding_mask, how):
    """The "last", "first" or "mean" of the real tokens: hidden (B, T, D) → (B, D).

    padding_mask (B, T) is True at real tokens; pads stand on the right or on the left.
    """
    ### BEGIN SOLUTION
    if how == "mean":
        total = hidden.masked_fill(~padding_mask[..., None], 0).sum(1)  # (B, D)
        return total / padding_mask.sum(1, keepdim=True)  # (B, D)
    seen = padding_mask.int() if how == "first" else padding_mask.cumsum(1)  # (B, T)
    places = seen.argmax(1)  # (B,): the first of the largest
    return hidden[torch.arange(len(hidden), device=hidden.device), places]  # (B, D)
    ### END SOLUTION


# %%
check("finetune.pool", pool)

# %% [markdown]
# ## 4 · What does the body know already?
#
# The body has never seen a label. Does it know praise from blame? Freeze it, train the head alone, and see how far a
# linear layer gets with what it is given. That is called a **linear probe**.

# %% [markdown]
# {{card finetune.freeze}}


# %% tags=["exercise:finetune.freeze"]
def freeze(model):
    """Leave nothing trainable but `head`, in place."""
    ### BEGIN SOLUTION
    for name, weight in model.named_parameters():
        weight.requires_grad = name.startswith("head.")
    return model
    ### END SOLUTION


# %%
check("finetune.freeze", freeze)

# %% [markdown]
# How many numbers are left? In the small model that 05_parameters counts:

# %%
trainable, frozen = counting.count(finetune.freeze(Classifier(*config.seed.shape, n_classes=2)))
print(f"trainable {trainable}, frozen {frozen:,}")

# %% [markdown]
# A frozen body gives a text the same vector each time, so let it read each one once and keep the vectors. To be quick
# we take short sentences. The source lists praise first and blame last, so they are shuffled: 600 examples from its top
# would be praise alone.

# %%
few = [example for example in texts.train if len(example[0].split()) <= 16]
new = [example for example in texts.test if len(example[0].split()) <= 16]
random.Random(0).shuffle(few)
random.Random(0).shuffle(new)
print(f"{len(few):,} short sentences to learn from, {len(new)} new ones")


@torch.no_grad()
def read(body, some):
    """Vectors (N, D) and labels (N,) of labelled texts."""
    ids, labels = finetune.examples(tokenizer, some, max_len=96)  # (N, T), (N,)
    return finetune.pool(body.eval().hidden(ids, pad_id=0), ids != 0, "last"), labels


# %% [markdown]
# To see what pretraining is worth, do the same with a body that has read nothing. Predict both accuracies.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
bodies = {"pretrained": classifier, "random": Classifier(*shape, n_classes=2)}
known = {name: (read(body, few[:600]), read(body, new)) for name, body in bodies.items()}
for name, (seen, unseen) in known.items():
    probe = nn.Linear(shape[1], 2)
    train(probe, epochs_at(seen, 64), Plan(100, 3e-3, weight_decay=0.1), show=False)
    old, fresh = (finetune.evaluate(probe, [some]) for some in (seen, unseen))
    print(f"{name:10} body: {old:.2f} of the sentences that were learned, {fresh:.2f} of the new ones")

# %% [markdown]
# On new sentences the random body is near a coin, and the pretrained one is far from it. Nobody ever told it what
# praise is: praise and blame came to lie on two sides of a plane because that helps to guess the next word.

# %% [markdown]
# ## 5 · Count right answers
#
# How good is a classifier? The fraction of examples that it gets right: **accuracy**. Two things go wrong so often that
# it is worth seeing them once. Predict what is printed here.

# %%
torch.manual_seed(0)
noisy = finetune.load_body(Classifier(*shape, n_classes=2, dropout=0.3), pretrained)
batch = finetune.trimmed(finetune.examples(tokenizer, new[:4], max_len=96))
with torch.no_grad():
    for _ in range(2):
        print("training:  ", [f"{p:.2f}" for p in noisy.train()(batch[0]).softmax(-1)[:, 1].tolist()])
    for _ in range(2):
        print("evaluation:", [f"{p:.2f}" for p in noisy.eval()(batch[0]).softmax(-1)[:, 1].tolist()])

# %% [markdown]
# In training mode dropout throws features away, other ones each time, and the answer is a lottery. The other thing:

# %%
right, size = torch.tensor([96, 1]), torch.tensor([128, 4])
print(f"mean of the batches' accuracies {(right / size).mean():.3f}, accuracy {right.sum() / size.sum():.3f}")

# %% [markdown]
# The last batch of an epoch is a small one, and its four sentences should not count as much as the 128 of another.

# %% [markdown]
# {{card finetune.evaluate}}


# %% tags=["exercise:finetune.evaluate"]
def evaluate(model, batches):
    """Accuracy over all examples of batches of (ids (B, T), labels (B,)); `model(ids)` gives logits (B, C).

    In evaluation mode; afterwards the model is in the mode that it came in.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    right = total = 0
    with torch.no_grad():
        for ids, labels in batches:
            said = model(ids).argmax(-1)  # (B,)
            right += (said == labels).sum().item()
            total += len(labels)
    model.train(was_training)
    return right / total
    ### END SOLUTION


# %%
check("finetune.evaluate", evaluate)

# %% [markdown]
# ## 6 · Train all of it, twice
#
# Now the whole model, body and head: once from the checkpoint, once from scratch. What differs is where the body
# starts; everything else must be the same: sentences, their order, steps, size. Predict both accuracies after half a
# minute of training. (A coin has 0.5.)

# %%
plan = Plan(steps=120, learning_rate=5e-4, warmup=12, weight_decay=0.1, every=30)
batch_at = epochs_at(finetune.examples(tokenizer, few, max_len=96), batch_size=16, seed=0)
new.sort(key=lambda example: len(example[0]))  # sentences of one length in a batch: fewer pads
held_out = [finetune.trimmed(finetune.examples(tokenizer, new[i : i + 64], 96)) for i in range(0, len(new), 64)]


def run(way):
    """A trained classifier and its curve; `way` is "pretrained" or "scratch"."""
    torch.manual_seed(0)
    model = Classifier(*shape, n_classes=2, dropout=0.1)
    if way == "pretrained":
        finetune.load_body(model, pretrained)
    curve = train(
        model,
        lambda step: finetune.trimmed(batch_at(step)),
        plan,
        evaluate=lambda m: finetune.evaluate(m, held_out),
        show=False,
    )
    return model, curve


# %% tags=["explore", "nbval-ignore-output"]
runs = {"pretrained": run("pretrained")}

# %% tags=["explore", "nbval-ignore-output"]
runs["scratch"] = run("scratch")
figures.live({way: curve for way, (_, curve) in runs.items()})

# %% [markdown]
# One run each, on part of the sentences, is a hint and not a result. In part 9 there are enough runs to say something.

# %% [markdown]
# ## 7 · Your own
#
# Now write the training yourself. You get a classifier whose body is loaded, and a function that gives the batch of
# each step. What counts is what you hand in: the grader reads sentences that are in no training part, and it has
# trained from scratch five times, with the sentences and steps of part 6. Rate and number of steps are yours; choose
# them on `texts.validation`.

# %% [markdown]
# {{card finetune.compare}}


# %% tags=["exercise:finetune.compare"]
def fine_tune(model, batch_at):
    """The classifier, trained on batch_at(0), batch_at(1), …: ids (B, T) and labels (B,)."""
    ### BEGIN SOLUTION
    n_steps, rate = 120, 3e-4
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.1)
    model.train()
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - step / n_steps)  # large steps first, small ones in the end
        ids, labels = batch_at(step)
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model
    ### END SOLUTION


# %% [markdown]
# This cell trains with your function, and writes the weights to a file beside the notebook, in half precision. Hand the
# file in with the notebook.

# %% tags=["explore", "nbval-ignore-output"]
torch.manual_seed(0)
fresh = finetune.load_body(Classifier(*shape, n_classes=2, dropout=0.1), pretrained)
_ = checkpoints.hand_in(lambda: fine_tune(fresh, lambda step: finetune.trimmed(batch_at(step))), "finetune.compare")

# %%
check("finetune.compare", "finetune.compare.safetensors")

# %% [markdown]
# ## 8 · Watch it read
#
# A causal body has a pleasant property: at each token it has read what came so far, and nothing else. So put the head
# on *every* token, and you see what it would have said, had the text ended there.

# %% tags=["explore", "nbval-ignore-output"]
reader = runs["pretrained"][0]
some = ["a good film that never gets dull.", "a dull film that never gets good."]
figures.reading({text: finetune.as_it_reads(reader, tokenizer, text) for text in some})

# %% [markdown]
# The same words in another order: a bag of words could not tell them apart. Can yours? Compare the last bars. If both
# point down, it has learned that *dull* and *never* are words of blame, and not yet that the one turns the other round:
# half a minute is short. Write sentences of your own, and try to fool it: with *not*, with irony, with praise for the
# popcorn.

# %% tags=["explore", "nbval-ignore-output"]
from helpers.widgets.fine_tuning import sentiment_reader

sentiment_reader({"from the checkpoint": runs["pretrained"][0], "from scratch": runs["scratch"][0]}, tokenizer)

# %% [markdown]
# ## 9 · The same, with room to be right
#
# A single run depends on its seed: the first weights of the head, the order of the sentences, dropout. So here are runs
# that took a GPU some minutes: all training sentences, several epochs, several seeds each way, and the accuracy on the
# test sentences after each epoch. Each way has the learning rate that did best for it on the validation sentences.

# %%
recorded = full_size.recorded()
print(recorded["command"])
for way in full_size.WAYS:
    recipe = recorded["settings"][way]
    print(f"{way:10}", ", ".join(f"{key} {recipe[key]}" for key in ("learning_rate", "dropout", "epochs")))

# %% tags=["explore"]
figures.epochs(recorded)

# %% [markdown]
# A band goes from the worst seed to the best. Is the distance between two curves real, or luck? There are two kinds of
# luck in it: which seeds, and which test sentences. The **bootstrap** draws both anew, with replacement, some thousand
# times, and looks how the difference varies (Efron and Tibshirani 1993, chapter 13). The sentences are the same for
# both ways, so that what is hard for both cancels.

# %%
pretrained_right, scratch_right = (full_size.who_was_right(recorded, way) for way in ("pretrained", "scratch"))
print("seeds and sentences:", tuple(scratch_right.shape))
gap = full_size.interval(pretrained_right, scratch_right)
print(f"difference {gap['difference']:.3f}, 95 % from {gap['low']:.3f} to {gap['high']:.3f}")
print("the interval excludes zero:", gap["low"] > 0 or gap["high"] < 0)

# %% [markdown]
# And the other comparison that many papers forget: something simple. A **bag of words** knows which words occur, gives
# each a weight, and knows nothing of their order. It takes a few seconds.

# %% tags=["nbval-ignore-output"]
bag = full_size.bag_of_words.accuracy(texts.train, texts.validation, texts.test)
means = {way: sum(row[-1] for row in rows) / len(rows) for way, rows in recorded["epochs"].items()}
print(f"bag of words {bag:.3f};", ", ".join(f"{way} {mean:.3f}" for way, mean in means.items()))

# %% [markdown]
# Labels cost money, raw text does not. So the question that matters in practice is another one: how many labels does
# pretraining save?

# %% tags=["explore"]
figures.labels(recorded)

# %% [markdown]
# Look at the left end. With few labels even the bag of words is lost, as it meets most words for the first time in the
# test; and of the two pretrained ways the *frozen* one does as well as the other, within what seeds and samples do (the
# bands overlap): so few labels have little to teach the body. With more labels it pays to let the body learn, too.

# %% [markdown]
# ## 10 · Two things that people say
#
# **"The pretrained model starts with a lower loss, since it knows something already."** It sounds right. Predict the
# loss of both before the first step, then look.

# %%
for way, losses in recorded["start_loss"].items():
    print(f"{way:10}", "  ".join(f"{loss:.3f}" for loss in losses))
print(f"ln 2 =      {math.log(2):.3f}")

# %% [markdown]
# If anything it is the other way round. The body may know a lot, but what it knows reaches the answer through the
# head, and the head was drawn at random: it points anywhere. A head that said 50 : 50 to everything would pay ln 2. A
# random one leans to one side, for all sentences alike, and pays more. How much more? Draw many heads, on the
# vectors of part 4:

# %% tags=["nbval-ignore-output"]
for name, (_, (vectors, answers)) in known.items():
    heads = [nn.Linear(shape[1], 2) for _ in range(200)]
    losses = torch.stack([F.cross_entropy(head(vectors), answers) for head in heads])  # (200,)
    print(f"{name:10} body, 200 heads: mean {losses.mean():.2f}, from {losses.min():.2f} to {losses.max():.2f};")
    print(f"{'':10} what the vectors have in common has length {vectors.mean(0).norm():.1f}")

# %% [markdown]
# Most of a vector is common to all sentences, and through a random head that says the same about each of them. The
# pretrained body's vectors are longer, so its first opinion is the bolder one. It knows nothing of the *task*, neither
# does the other, and the loss at the start cannot tell them apart. What pretraining changes is what comes next: the
# direction to be found is already there.

# %% [markdown]
# **"After fine-tuning the perplexity goes down."** Perplexity is what a *language model* is measured by: how many
# tokens it hesitates between. A classifier predicts no token. One may compute $e^{\text{loss}}$ all the same, and give
# it that name:

# %% tags=["nbval-ignore-output"]
ids, answers = finetune.examples(tokenizer, new, max_len=96)  # (N, T), (N,)
with torch.no_grad():
    logits = reader.eval()(ids)  # (N, 2)
for factor in (1, 0.2, 5):
    loss = F.cross_entropy(factor * logits, answers)
    accuracy = (factor * logits).argmax(-1).eq(answers).double().mean()
    print(f"logits × {factor:<3}  exp(loss) {loss.exp():.2f}  accuracy {accuracy:.3f}")

# %% [markdown]
# The same answers each time, and three "perplexities". They measure how sure the model is, and have nothing to do with
# the perplexity of 07, where the choice was among thousands of tokens. A task is judged by what it asks: how many
# sentences are right.

# %% [markdown]
# {{card finetune.read_the_figure}}

# %% [markdown] tags=["written:finetune.read_the_figure"]
# Look at the two figures of part 9 again.
#
# 1. What does pretraining bring at the first epoch, at the last, and with few labels? Give the difference with its
#    interval.
# 2. Where does the bag of words stand, and what follows?
# 3. Why are these curves accuracy and not perplexity, and why do both losses start near ln 2?
#
# ### BEGIN SOLUTION
# 1. The pretrained model is ahead from the first epoch on and stays ahead: in the end by 7.8 points of accuracy, with a
#    95 % interval from 5.2 to 10.3, which excludes zero. With 100 labels it is ahead by 15 points. So it is not only
#    faster, it ends higher. Its body can read already, and what is left to learn is a direction in what it reads.
# 2. The bag of words knows no order and beats the Transformer from scratch, at 0.78 against 0.75. In short sentences
#    single words say most, and a body from scratch has too few examples to learn words as well as order. A comparison
#    of the two Transformers alone would have hidden that. Only after pretraining does reading in order pay.
# 3. A classifier gives no probability to a next token, so there is no text whose perplexity it could have; exp(loss)
#    would restate the loss. Its task is to be right, and accuracy counts that. Both fresh heads are random and lean a
#    little to one side, whatever the body knows, so both losses start at ln 2, the price of 50 : 50, and some more.
# ### END SOLUTION

# %% [markdown]
# ## What you can do now
#
# - Give a model another task: keep its body, change its head, and prove that the body is the one you meant.
# - Read a text's vector where the text ends, whatever stands around it in the batch.
# - Ask a frozen body what it knows, with a probe of a few hundred numbers.
# - Compare two ways of training: same data, several seeds, an interval, something simple beside them.
# - Say why a classifier has accuracy and not perplexity, and why a fresh head starts near ln 2.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Further reading**
# - Radford et al. 2018, *Improving Language Understanding by Generative Pre-Training*, §3.2: a causal model, and a new
#   head for each task.
# - Howard and Ruder 2018, *Universal Language Model Fine-tuning for Text Classification*, §3: how to fine-tune without
#   forgetting.
# - Devlin et al. 2018, *BERT*, §3 and §4: the first token as the text's vector.
# - Pang and Lee 2005, *Seeing stars*: where such sentences come from.
# - Efron and Tibshirani 1993, *An Introduction to the Bootstrap*, chapter 13.
#
# **Next** is 09_bert: a body that reads both ways cannot guess the next word, so it has to be asked something else.
