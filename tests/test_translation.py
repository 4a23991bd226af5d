"""Pairs become ids and batches, a translator is trained, written and read again, and BLEU counts every reference."""

import json

import pytest
import torch

from helpers import checkpoints, translator
from helpers.experiments import translate
from helpers.text import translation
from helpers.text.translation import BOS, EOS, PAD, SPECIALS, UNK, batches_at, source_ids, target_ids
from helpers.training import IGNORED, Plan, train

PAIRS = [("The man's dog is here.", "Le chien de l'homme est ici."), ("Is it red?", "Est-ce qu'il est rouge ?")] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return translation.train_tokenizer([text for pair in PAIRS for text in pair], 120)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translator")
    translate.main(["--tiny", "--out", str(folder), "--device", "cpu"])
    return folder


# ---- ids ----


def test_specials_have_their_ids_and_cannot_be_written(tokenizer):
    assert [tokenizer.id_to_token(i) for i in (PAD, BOS, EOS, UNK)] == list(SPECIALS)
    assert not {PAD, BOS, EOS} & set(source_ids(tokenizer, ["a <eos> b <pad> <bos>"])[0, :-1].tolist())
    assert UNK in source_ids(tokenizer, ["漢"])[0]


@pytest.mark.parametrize("text", [text for pair in PAIRS[:2] for text in pair])
def test_texts_come_back(tokenizer, text):
    assert translation.text(tokenizer, source_ids(tokenizer, [text])[0]) == text


def test_no_token_crosses_a_blank_a_mark_or_an_apostrophe(tokenizer):
    tokens = tokenizer.encode("Le chien de l'homme est rouge ?").tokens
    assert "▁l'" in tokens and "▁?" in tokens
    assert all("▁" not in token[1:] and "'" not in token[:-1] for token in tokens)


def test_padding_is_no_part_of_what_is_predicted(tokenizer):
    target = target_ids(tokenizer, ["Le chien", "Le chien de l'homme est ici."])
    _, read, said = translation.batch(target, target)
    assert read[:, 0].tolist() == [BOS, BOS]
    assert torch.equal(read[:, 1:][said[:, :-1] > EOS], said[:, :-1][said[:, :-1] > EOS])
    assert ((said == IGNORED) == (target[:, 1:] == PAD)).all() and (said == IGNORED).any()
    assert ((said == EOS).sum(1) == 1).all()


# ---- batches ----


def examples(n=103):
    generator = torch.Generator().manual_seed(0)
    source, target = (torch.randint(4, 99, (n, 12), generator=generator) for _ in range(2))
    source[:, 0] = torch.arange(n) + 1000
    for ids in (source, target):
        lengths = torch.randint(2, 13, (n, 1), generator=generator)
        ids.masked_fill_(torch.arange(12) >= lengths, PAD)
    return source, target


def test_an_epoch_shows_each_pair_once_and_the_next_in_another_order():
    at = batches_at(*examples(), 10)
    first, second = ([at(step)[0][:, 0] for step in steps] for steps in (range(11), range(11, 22)))
    for epoch in (first, second):
        assert sorted(torch.cat(epoch).tolist()) == [i + 1000 for i in range(103)]
    assert torch.cat(first).tolist() != torch.cat(second).tolist()


def test_batches_hold_like_lengths_and_no_column_of_pads():
    at, padded = batches_at(*examples(), 10), []
    for step in range(11):
        source, read, said = at(step)
        assert (source != PAD).any(0).all() and (said != IGNORED).any(0).all()
        longest = torch.maximum((source != PAD).sum(1), (read != PAD).sum(1))
        padded.append(int(longest.max() - longest.min()))
    assert sum(padded) / len(padded) < 2.5


def test_a_step_s_batch_does_not_depend_on_what_was_asked_before():
    at, again = batches_at(*examples(), 10, seed=3), batches_at(*examples(), 10, seed=3)
    later = at(17)
    assert all(torch.equal(a, b) for a, b in zip(later, again(17), strict=True))
    assert not torch.equal(batches_at(*examples(), 10, seed=4)(17)[0], later[0])


# ---- the translator ----


def test_one_matrix_is_kept_once_and_comes_back_thrice(trained):
    state, _, _ = checkpoints.load("tatoeba", trained)
    names = ("source_embedding.weight", "target_embedding.weight", "head.weight")
    assert all(torch.equal(state[name], state[names[0]]) for name in names)
    model, _, record = translator.load("tatoeba", trained)
    assert model.head.weight is model.source_embedding.weight is model.target_embedding.weight
    assert (trained / "tatoeba.safetensors").stat().st_size < 2 * record["weights"] + 8000


def test_what_is_read_again_translates_as_what_was_measured(trained):
    model, tokenizer, record = translator.load("tatoeba", trained)
    for sample in record["test"]["samples"]:
        assert translator.translate(model, tokenizer, [sample["english"]]) == [sample["greedy"]]
        assert translator.translate(model, tokenizer, [sample["english"]], width=4) == [sample["beam"]]


def test_translations_come_in_the_order_of_their_sources(trained):
    model, tokenizer, _ = translator.load("tatoeba", trained)
    texts = ["The red car is in the street.", "The door.", "The huge house is here.", "red"]
    together = translator.translate(model, tokenizer, texts, batch_size=2)
    assert together == [translator.translate(model, tokenizer, [text])[0] for text in texts]


def test_the_record_says_how_it_was_made(trained):
    record = json.loads((trained / "tatoeba.json").read_text())
    assert {"command", "settings", "data", "curve", "test", "validation"} <= set(record)
    assert [point["step"] for point in record["curve"]] == [10, 20, 30]


def test_a_run_out_of_time_is_written_all_the_same(tmp_path):
    translate.main(["--tiny", "--out", str(tmp_path), "--minutes", "0", "--name", "brief", "--device", "cpu"])
    assert [point["step"] for point in translator.load("brief", tmp_path)[2]["curve"]] == [10]


@pytest.mark.parametrize("wrong", [["--set", "colour=1"], ["--set", "dropout"], ["--from", "nope.zip"]])
def test_what_cannot_be_is_one_sentence(wrong):
    arguments = ["--device", "cpu", *wrong]
    with pytest.raises(SystemExit) as stopped:
        translate.main(arguments)
    assert "\n" not in str(stopped.value) and str(stopped.value).endswith(".")


def test_training_ends_where_it_is_told_to():
    weight = torch.nn.Linear(2, 3)
    plan = Plan(20, every=4)
    batch = torch.ones(2, 2), torch.tensor([0, 2])
    curve = train(weight, lambda step: batch, plan, show=False, stop=lambda point: point.step >= 8)
    assert [point.step for point in curve] == [4, 8]


# ---- BLEU ----


def test_bleu_takes_any_of_the_references_and_their_number_may_differ():
    said = ["Elle mange une pomme rouge ici.", "Il dort dans la maison."]
    references = [["Rien de tel.", "Elle mange une pomme rouge ici."], ["Il dort dans la maison."]]
    assert translator.bleu(said, references) == pytest.approx(100)
    assert translator.bleu(said, [references[0][:1], references[1]]) < 80
