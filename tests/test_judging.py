"""What judging says of answers that refuse, and how features go through a probe."""

import pytest
import torch
from torch import nn

from autograder.ask import Case, Probe, ask
from autograder.compare import difference
from autograder.exercise import Draws, cases, find, seed
from autograder.exercises.positions import layer
from autograder.judge import judge

PAGE = find("positions.LearnedPositions")


class Learned(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.embedding = nn.Embedding(max_len, d_model)

    def too_long(self, x):
        if x.shape[1] > self.embedding.num_embeddings:
            raise ValueError(f"{x.shape[1]} tokens are too many: cut the text.")

    def forward(self, x):
        self.too_long(x)
        return x + self.embedding.weight[: x.shape[1]]


def verdict(target):
    asked = cases(PAGE, seed(PAGE))
    return judge(PAGE, asked, [ask(target, PAGE.ask, case) for case in asked])


def test_where_the_reference_refuses_a_refusal_is_right():
    assert verdict(Learned).verdict == "right"


def test_a_refusal_of_what_is_fine_is_an_error():
    class Refuses(Learned):
        def forward(self, x):
            raise ValueError("No text is short enough for me.")

    found = verdict(Refuses)
    assert (found.verdict, found.score) == ("error", 0)
    assert "No text is short enough" in found.sentence


def test_a_refusal_needs_words():
    class Silent(Learned):
        def too_long(self, x):
            if x.shape[1] > self.embedding.num_embeddings:
                raise ValueError

    found = verdict(Silent)
    assert (found.verdict, found.score) == ("wrong", 0)
    assert "raised ValueError without a word where `raise ValueError(…)` is due" in found.sentence


def test_another_exception_is_no_refusal():
    class Asserts(Learned):
        def too_long(self, x):
            assert x.shape[1] <= self.embedding.num_embeddings, "cut the text"

    assert "raised AssertionError where `raise ValueError(…)` is due" in verdict(Asserts).sentence


def test_a_mistake_is_known_whether_or_not_the_answer_refuses():
    class ByBatch(Learned):
        def forward(self, x):
            self.too_long(x)
            return x + self.embedding(torch.arange(x.shape[0]))[:, None]

    assert verdict(ByBatch).mistake == "indexed by batch"


def test_a_probe_reads_one_hot_features_as_tokens():
    probe = Probe(layer(Draws(0), "causal", 5, 4))
    ids = torch.tensor([[0, 3, 1, 2, 3]])
    torch.testing.assert_close(probe(nn.functional.one_hot(ids, 4).double()), probe(ids))


def judged(name, target):
    page = find(name)
    asked = cases(page, seed(page))
    return judge(page, asked, [ask(target, page.ask, case) for case in asked])


def test_an_argument_that_was_changed_is_named_behind_a_model_too():
    def gap(layer, x, permutation):
        right = layer(x)[:, permutation]
        x[:] = x[:, permutation]
        return (right - layer(x)).abs().max()

    assert "changed its argument `x` in place" in judged("positions.equivariance_gap", gap).sentence


def test_a_list_that_was_changed_is_seen():
    def slope(sizes, costs):
        found = find("complexity.fit_exponent").reference(list(sizes), costs)
        sizes.clear()
        return found

    found = judged("complexity.fit_exponent", slope)
    assert (found.verdict, found.score) == ("wrong", 0)
    assert "changed its argument `sizes` in place" in found.sentence


def test_tensors_in_lists_and_dictionaries_are_arguments_too():
    def adds(batch, settings):
        batch[1] += 1
        settings["rate"] = 2

    case = Case(([torch.ones(2), torch.ones(3)], {"rate": 1}))
    assert ask(adds, "call", case).changed == [0, 1]
    assert ask(lambda batch, settings: None, "call", case).changed == []


def test_a_step_in_place_that_breaks_the_gradient_is_explained():
    class AddsInPlace(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            h = self.up(x).exp()
            g = h * h
            h += 1
            return self.down(g)

    assert "rather than `x += y`" in judged("transformer.FeedForward", AddsInPlace).sentence


def test_dropout_that_never_rests_is_named():
    class Drops(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.down(nn.functional.dropout(self.up(x).relu(), 0.5))

    assert "draws at random" in judged("transformer.FeedForward", Drops).sentence


def test_what_is_counted_is_exact_as_a_float_too():
    assert difference(109_482_240.0, 109_482_240) is None
    assert difference(109_482_241.0, 109_482_240)
    assert difference(0.30000001, 0.3) is None


def test_numbers_that_differ_late_are_shown_with_the_digits_that_differ():
    assert difference(0.1943, 0.1944).text == "the answer is 0.1943 where 0.1944 is right"
    assert difference(0.194300001, 0.1943, 1e-9).text == "the answer is 0.194300001 where 0.1943 is right"
    near = difference(torch.tensor([1.0, 2.00001], dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64))
    assert near.text == "the answer at [1] is 2.00001 where 2 is right"


def test_one_weight_under_two_names_is_named():
    class Twins(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            if d_model == d_ff:
                self.down = self.up

        def forward(self, x):
            return self.down(self.up(x).relu())

    found = judged("transformer.FeedForward", Twins)
    assert found.score == 0
    assert "its up.weight and its down.weight are one weight under two names" in found.sentence


def _switch(model):
    for weight in model.parameters():
        weight.requires_grad = weight.is_floating_point() and not weight.requires_grad


LEAVES = {
    "in another mode": lambda model: model.train(not model.training),
    "can be trained": _switch,
    "gradients switched off": lambda model: torch.set_grad_enabled(False),
    "another default dtype": lambda model: torch.set_default_dtype(torch.float16),
}
PROBES = ["masks.leaks_future", "positions.equivariance_gap"]  # without parameters
HANDED = [(name, says) for name in PROBES for says in LEAVES if says != "can be trained"]
HANDED += [("translation.greedy", says) for says in LEAVES]


@pytest.mark.parametrize(("name", "says"), HANDED)
def test_what_an_answer_leaves_changed_is_told_and_reaches_no_other_answer(name, says):
    right = find(name).reference

    def leaves(model, *more):
        found = right(model, *more)
        LEAVES[says](model)
        return found

    found = judged(name, leaves)
    assert (found.verdict, found.score) == ("wrong", 0)
    assert says in found.sentence
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
