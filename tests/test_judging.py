"""What judging says of answers that refuse, and how features go through a probe."""

import torch
from torch import nn

from autograder.ask import Probe, ask
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
