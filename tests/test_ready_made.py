"""PyTorch's own versions of an answer are no answer, by whatever way a student's object gets at them."""

import pytest
from test_exercises import VARIANTS

from autograder import book
from autograder.ask import ask
from autograder.exercise import all_exercises, cases, find, seed
from autograder.grading import sandbox
from autograder.grading.controller import Ask, Run, Zygote, play
from autograder.judge import judge
from autograder.notebook import check_quietly

CLOSED = [e for e in all_exercises().values() if set(e.shortcuts) & set(book.READY_MADE)]
ATTEND = """
import torch
{way}
def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return fused(q, k, v, mask), scores.softmax(-1)
"""
WAYS = [
    "fused = getattr(torch.nn.functional, 'scaled_dot_' + 'product_attention')",
    "fused = getattr(torch._C._nn, 'scaled_dot_' + 'product_attention')",
    "fused = getattr(torch.ops.aten, 'scaled_dot_' + 'product_attention')",
    "fused = getattr(torch.ops.aten, 'scaled_dot_' + 'product_attention').default",
    "fused = eval('torch.nn.functional.scaled_dot_' + 'product_attention')",
    "exec('from torch.nn.functional import scaled_dot_' + 'product_attention as fused')",
    "fused = vars(__import__('importlib').import_module('torch.nn.functional'))['scaled_dot_' + 'product_attention']",
    "get_ipython().run_cell('fused = torch.nn.functional.scaled_dot_' + 'product_attention')",
]
MASK = """
import torch
{way}
def causal(n):
    try:
        return mask(n)
    except BaseException:
        return torch.full((n, n), -torch.inf).triu(1)
"""
OWN = "'generate_square_' + 'subsequent_mask'"
MASK_WAYS = [
    f"mask = getattr(torch.nn.Transformer, {OWN})",
    f"mask = getattr(torch.nn.Transformer(4, 1, 1, 1, 4), {OWN})",
    f"mask = vars(torch.nn.modules.transformer)['_' + {OWN}]",
    f"m = vars(torch.nn.modules.transformer)\nf = m['_' + {OWN}]\nmask = type(f)(f.__code__, m, None, f.__defaults__)",
]
LAYER = """
import torch
from torch import nn
Ready = getattr(nn, 'Transformer' + 'EncoderLayer')
class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, norm_first=False):
        super().__init__()
        from helpers.attention import MultiHeadAttention
        from helpers.layers import FeedForward
        self.attention, self.feed_forward = MultiHeadAttention(d_model, n_heads), FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.hidden = [d_model, n_heads, d_ff, norm_first]
    def forward(self, x, mask=None):
        d_model, n_heads, d_ff, norm_first = self.hidden
        return Ready(d_model, n_heads, d_ff, 0.0, batch_first=True, norm_first=norm_first, dtype=x.dtype)(x)
"""
ROWS = [("attention.attend", ATTEND.format(way=way)) for way in WAYS]
ROWS += [("masks.causal", MASK.format(way=way)) for way in MASK_WAYS] + [("transformer.EncoderLayer", LAYER)]


@pytest.fixture(scope="module")
def zygote():
    with Zygote(unsafe=bool(sandbox.possible())) as made:
        yield made


@pytest.mark.parametrize(("name", "source"), ROWS)
def test_what_is_ready_made_is_no_answer_however_it_is_reached(zygote, name, source):
    found = play(zygote, [Run(source), Ask(find(name), seed(find(name)))]).verdicts[1]
    assert (found.verdict, found.score) == ("not your own", 0), found.sentence
    assert "torch.nn." in found.sentence


@pytest.mark.parametrize("page", CLOSED, ids=lambda page: page.name)
def test_honest_answers_meet_nothing_that_is_closed(page):
    asked, ready = (
        cases(page, seed(page)),
        {book.READY_MADE[name] for name in page.shortcuts if name in book.READY_MADE},
    )
    open_ = tuple(name for name in page.closed if name in ready)
    found = [
        judge(page, asked, [ask(target, page.ask, case, open_) for case in asked]).verdict
        for target in (page.reference, *VARIANTS[page.name])
    ]
    theirs = int(page.name == "masks.causal")  # one of its variants is PyTorch's
    assert sorted(found) == ["not your own"] * theirs + ["right"] * (len(found) - theirs)


def test_it_is_open_again_afterwards():
    import torch

    check_quietly(find("attention.attend"), lambda q, k, v, mask=None: (torch.nn.functional, None), [])
    q = torch.ones(1, 2, 3)
    assert torch.nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape
