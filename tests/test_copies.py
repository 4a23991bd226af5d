"""Near-copies of the book are listed, honest answers are not."""

import inspect
import re

from autograder.exercise import find
from autograder.grading.copies import is_near_copy
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
