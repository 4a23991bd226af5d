"""Each experiment finds its own fault and no other; names tell nothing."""

import json
from dataclasses import replace

import pytest
import torch

from helpers import suspects
from helpers.experiments import broken
from helpers.experiments.translate import toy_corpus
from helpers.suspects import FAULTS

TRAINED = ("unshifted targets", "padding counted in the loss")  # these lie in the weights, the others in the reading


@pytest.fixture(scope="module")
def corpus():
    parts = toy_corpus()
    return parts, *broken.prepare(broken.TINY, parts)


@pytest.mark.parametrize("fault", [*FAULTS, "none"])
def test_each_experiment_finds_its_own_fault_alone(fault, corpus):
    parts, tokenizer, source, target = corpus
    steps = 200 if fault in TRAINED or fault == "none" else 20
    settings = replace(broken.TINY, vocab_size=tokenizer.get_vocab_size(), steps=steps, learning_rate=1e-2)
    model, _ = broken.run(fault, settings, tokenizer, source, target, parts)
    found = suspects.examine(model, tokenizer, [(english, french[0]) for english, french in parts.test])
    assert {name for name, share in found.items() if share > 0.5} == {fault} - {"none"}


def test_what_is_written_is_read_again_and_names_no_fault(tmp_path):
    broken.main(["--tiny", "--names", "a,b,c,d,e", "--out", str(tmp_path)])
    assert suspects.names(tmp_path) == list("abcde")
    reads = [suspects.load(name, tmp_path)[0].reads.tolist() for name in "abcde"]
    assert reads == [[0, 1, 1], [1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 0]]
    for name in "abcde":
        record = json.loads((tmp_path / f"{name}.json").read_text())
        assert not [fault for fault in FAULTS if fault in json.dumps(record)]


def test_a_loaded_suspect_says_what_it_said_when_it_was_made(tmp_path, corpus):
    parts, tokenizer, source, target = corpus
    settings = replace(broken.TINY, vocab_size=tokenizer.get_vocab_size())
    for fault in FAULTS:
        model, record = broken.run(fault, settings, tokenizer, source, target, parts)
        suspects.checkpoints.save("x", model, tokenizer, record, tmp_path)
        again = suspects.load("x", tmp_path)[0]
        assert torch.equal(model(source[:4], target[:4]), again(source[:4], target[:4]))


def test_names_must_be_five():
    with pytest.raises(SystemExit, match="are not 5 names"):
        broken.main(["--names", "a,b,c", "--tiny"])
