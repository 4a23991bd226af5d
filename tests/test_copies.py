"""Near-copies of the book are listed, honest answers are not."""

import inspect
import re

import pytest

from autograder.book import mentions
from autograder.exercise import all_exercises, find
from autograder.grading.copies import is_near_copy, reaches_behind
from helpers import attention, masks


def test_a_copy_with_other_names_is_found():
    exercise = find("attention.MultiHeadAttention")
    source = inspect.getsource(attention.MultiHeadAttention)
    renamed = re.sub(r"\bmemory\b", "other", source).replace('"""Many heads', '"""My own')
    assert is_near_copy(exercise, renamed)


def test_an_answer_of_ones_own_is_not():
    source = inspect.getsource(attention.MultiHeadAttention).replace("x if memory is None else memory", "memory or x")
    assert not is_near_copy(find("attention.MultiHeadAttention"), source)


def test_short_answers_are_alike_by_nature():
    assert not is_near_copy(find("masks.causal"), inspect.getsource(masks.causal))


def test_what_cannot_be_read_is_no_copy():
    assert not is_near_copy(find("masks.causal"), "def causal(n:")


def test_code_that_reaches_behind_the_book_is_shown_to_a_person():
    assert reaches_behind("import sys\nb = sys.modules['auto' + 'grader.book']\nb.closed = None\n")
    assert reaches_behind("g = type(f)(f.__code__, {})")
    assert reaches_behind("from importlib import import_module as i")
    assert reaches_behind("import torch\nwith torch._C.DisableTorchFunction(): f(q, k, v)")
    assert reaches_behind("import torch\nf = torch.jit.script(g)")
    assert not reaches_behind("import torch, gc\nfor m in model.modules(): m.eval()\ngc.collect()\n")
    assert not any(reaches_behind(inspect.getsource(e.reference)) for e in all_exercises().values() if e.reference)


def test_a_name_of_the_book_that_is_put_together_is_shown_to_a_person():
    assert reaches_behind("from helpers import masks\nf = getattr(masks, 'cau' + 'sal')")
    assert reaches_behind("table = [getattr(masks, name)(9) for name in names]")
    assert reaches_behind("import helpers.masks as m\nf = vars(m)['causal']")
    assert reaches_behind("import helpers\nf = helpers.masks.__dict__['causal']")
    assert not reaches_behind("import torch\nf = getattr(torch, 'so' + 'ftmax')")
    assert not reaches_behind("from helpers import masks\nprint(masks.causal(4), vars(model))")


TORCHS = "def causal(n):\n    return torch.nn.Transformer.generate_square_subsequent_mask(n)"


@pytest.mark.parametrize(
    "cells",
    [
        [TORCHS, "causal = causal"],
        [TORCHS, "first = causal", "causal = first"],
        ["from torch.nn import Transformer as T, functional", TORCHS.replace("torch.nn.Transformer", "T"), "T = None"],
        ["from torch.nn import *", TORCHS.replace("torch.nn.", "")],
        ["%%time\n" + TORCHS],
        ["here = %pwd\n" + TORCHS],
        ["%time " + TORCHS.replace("def causal(n):\n    return", "f =").replace("(n)", ""), "causal = lambda n: f(n)"],
    ],
)
def test_an_answer_is_followed_to_what_it_was_made_from(cells):
    assert "generate_square" in mentions(cells, "causal", (), ["generate_square_subsequent_mask"])


def test_trying_the_books_before_writing_ones_own_is_fine():
    cells = ["from torch.nn import Transformer\ncausal = Transformer.generate_square_subsequent_mask\ncausal(3)"]
    cells += ["def causal(n):\n    return n\ncausal(3)", "%matplotlib inline\nx = %pwd\ncausal(4)"]
    assert mentions(cells, "causal", (), ["generate_square_subsequent_mask"]) is None


def test_a_cell_of_empty_lines_is_read_at_once():
    assert mentions(["\n" * 150_000 + "%x\n" * 10_000 + "causal = 1"], "causal", ()) is None
