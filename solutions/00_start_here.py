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
# # 00 · Start here
#
# In ten notebooks you will write a Transformer yourself: attention, masks, positions, then models that translate,
# write and guess hidden words. Everything you write is checked at once, and the check tells you *which* mistake you
# made. This page shows how, so that nothing stands between you and the ideas later.
#
# **You will be able to** read an exercise card, have an answer checked, learn from a wrong one, and hand in.
#
# **Time** 10 minutes. **Before this** some Python, and PyTorch tensors by name.

# %% [markdown]
# ## Is everything there?
#
# Run a cell with **Shift + Enter**. The first one may take a few seconds.

# %%
import torch

from autograder import check, progress
from helpers import device, masks

# %% tags=["nbval-ignore-output"]
print(device.describe())

# %% [markdown]
# No GPU? Then none is needed: all of the course is sized for two processor cores.

# %% [markdown]
# ## First, do it wrong
#
# Soon you will write a function that doubles a tensor. But the best way to meet a teacher is with a mistake, so here is
# `double` gone wrong. Run the cell, and look at the three small pictures: yours, the target, and where they differ.


# %% tags=["explore"]
def broken(x):
    return x * x  # break me


print(broken(torch.tensor([1.0, 2.0, 3.0])))
card = check("start.double", broken)
card

# %% [markdown]
# The check put random tensors in, looked at what came out, and recognised the mistake. Break it some other way and
# run the cell again. For each of these, predict what the check will say:
#
# - `x + 2`
# - `2 * x.sum()`
# - `x.mul_(2)`, which gives the right numbers
# - `print(x)`, and nothing else
# - a typing error

# %% [markdown]
# ## How it judges
#
# - Your answer is **called**, never read for style. A loop, an `einsum`, a formula of your own: if the results are
#   right, it is right.
# - Inputs are random and awkwardly shaped, and the smallest sizes are always among them. So a function that works on
#   one example only does not pass.
# - Here you see the same judging as whoever grades you, with other random inputs. Nothing else is
#   hidden, except the keys of multiple-choice questions.
# - Check as often as you like. Only what you hand in counts.

# %% [markdown]
# ## The book is open
#
# The folder `helpers` holds right versions of everything you will be asked to write, because later notebooks stand on
# them. Read them whenever you want. There is one rule: **an answer that *is* the book's is no answer.** Importing it,
# wrapping it, or taking PyTorch's own where that is the exercise, gives no points.
#
# Try it: `masks.combine(x, x)` happens to be `x + x`, so hand in that.

# %% tags=["explore"]
card = check("start.double", masks.combine)
card

# %% [markdown]
# No harm done: write your own and check again. A copy with changed names does look like a good answer to a machine.
# Your instructor is shown close copies, and a person decides. And if you cannot solve an exercise, nothing is
# blocked: later cells use the book, never your earlier answer.

# %% [markdown]
# ## Now, do it right
#
# This is a card. It tells you the goal, how hard it is, and an honest guess of the minutes. The hints unfold one by
# one, from a nudge to nearly everything: take them when you are stuck, they cost nothing.

# %% [markdown]
# {{card start.double}}

# %% [markdown]
# Below it, the answer cell. Replace `raise NotImplementedError` by your code, run it, then run the check.


# %% tags=["exercise:start.double"]
def double(x):
    """Twice the tensor x, of any shape, as a new tensor: x itself stays as it was."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


# %%
check("start.double", double)

# %% [markdown]
# Leave the check cells as they are; they are how your work is found. Otherwise the notebook is yours: add cells, draw,
# try things out.

# %% [markdown]
# ## Handing in
#
# In a terminal (in JupyterLab: File → New → Terminal), `workbook check` runs your notebooks from top to bottom in a
# fresh process, as a grader would, and says what each answer is worth. Do this before you hand in: it finds answers
# that only work because of a cell that you have deleted since. Then pack them:
#
# ```sh
# workbook check
# workbook submit
# ```
#
# The second command names the file that it made. That is what you hand in.

# %% [markdown]
# ## What you can do now
#
# Read a card, get an answer checked, and make sense of a wrong one. `progress()` shows how far you are, here and at the
# end of every notebook.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# **Next** is 01_attention, where you write the one formula that everything else is built around. It comes from
# Vaswani et al. 2017, *Attention Is All You Need*, §3.2: short, and worth reading beside the notebooks.
