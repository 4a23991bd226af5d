"""What 06 shows is what the model does: the tree is the beam's, and the map is the decoder's own attention."""

import json
from dataclasses import asdict

import pytest
import torch

from helpers import attention_maps, checkpoints, decoding, translator
from helpers.experiments import small_translator
from helpers.text.translation import BOS, EOS, source_ids, target_ids
from helpers.widgets import translation as widget

ENGLISH, FRENCH = "Her father cannot follow him.", "Son père ne peut pas l'aider."


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    made = translator.build(800, 16, 2, 16, 2, norm_first=True)
    torch.nn.init.normal_(made.head.bias, std=2)  # so that it does not only repeat what it reads
    return made.eval()


@pytest.fixture(scope="module")
def tokens():
    return small_translator.tokenizer()


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_tree_holds_what_the_beam_found_with_its_score(model, tokens, width, alpha):
    nodes, best, score = widget.search(model, tokens, ENGLISH, width, alpha, max_len=12)
    source = source_ids(tokens, [ENGLISH])
    ids, told = decoding.beam(model, source, BOS, EOS, 12, width, alpha)
    totals = {node.ids: node.total for node in nodes}
    assert best == tuple(ids[0].tolist())
    assert score == pytest.approx(told, abs=1e-4)
    assert totals[best] / len(best) ** alpha == pytest.approx(told, abs=1e-3)
    assert all(node.ids[:-1] in totals for node in nodes)
    by_step = [sum(len(ids) == step for ids in totals) for step in range(1, 13)]
    assert max(by_step) <= width


def test_a_sentence_a_width_and_nothing_at_all_redraw_the_tree(model, tokens):
    explorer = widget.beam_explorer(model, tokens, ENGLISH)
    typed, knobs, picture, note = explorer.children
    first = picture.value
    assert first.count("<circle") > 3
    knobs.children[0].value = 1
    assert picture.value != first
    assert "Greedy says the same" in note.value
    typed.value = "<b>&"
    assert "<b>&" not in picture.value
    assert "Only the first" not in note.value
    typed.value = "we follow him " * 9
    assert "Only the first 24 words were translated" in note.value
    typed.value = "  "
    assert picture.value == "" and note.value


def test_a_map_is_what_the_decoder_attends_to_added_up_by_word(model, tokens):
    found = attention_maps.look(model, tokens, ENGLISH, FRENCH)
    assert found.source == ["Her", "father", "cannot", "follow", "him", ".", "<eos>"]
    assert found.target == ["Son", "père", "ne", "peut", "pas", "l'", "aider", ".", "<eos>"]
    assert found.weights.shape == (2, 2, 9, 7)
    assert torch.allclose(found.weights.sum(-1), torch.ones(2, 2, 9), atol=1e-5)
    source, target = source_ids(tokens, [ENGLISH]), target_ids(tokens, [FRENCH])
    layer = model.decoder[0]
    seen = {}
    hook = layer.cross_attention.register_forward_pre_hook(lambda _, given: seen.update(x=given[0], memory=given[1]))
    model(source, target[:, :-1])
    hook.remove()
    own = layer.cross_attention.weights(seen["x"], seen["memory"])[0]  # (H, T, S)
    assert torch.allclose(found.weights[0, :, 0, 0], own[:, 0, 0], atol=1e-5)  # "Son" and "Her" are one token each
    assert not layer.cross_attention._forward_pre_hooks


def test_a_word_that_is_not_there_is_no_silent_zero(model, tokens):
    with pytest.raises(ValueError, match="not in list"):
        attention_maps.look(model, tokens, ENGLISH, FRENCH).at("voiture", "car")


def test_the_dictionary_knows_words_and_no_order():
    pairs = [("red car", "voiture rouge"), ("red door", "porte rouge"), ("old car", "vieille voiture")]
    assert small_translator.count(pairs)["red"] == "rouge"
    assert small_translator.count(pairs)["car"] == "voiture"


def test_word_by_word_is_far_below_what_is_asked_for_and_not_nothing():
    test = small_translator.some_pairs().test
    said = small_translator.word_by_word([english for english, _ in test])
    assert 10 < translator.bleu(said, [[french] for _, french in test]) < 35


def test_the_test_pairs_do_not_depend_on_how_many_pairs_there_are_to_learn_from():
    few = small_translator.pairs(200)
    assert few.test == small_translator.some_pairs().test
    assert not {english for english, _ in few.test} & {english for english, _ in small_translator.some_pairs().train}


def test_seeds_are_recorded_one_by_one_with_the_command(tmp_path):
    small_translator.main(["--tiny", "--seeds", "2", "--out", str(tmp_path)])
    [written] = tmp_path.iterdir()
    record = json.loads(written.read_text("utf-8"))
    assert [one["seed"] for one in record["runs"]] == [2017, 2018]
    assert all(one["bleu"] < record["word by word"] for one in record["runs"])  # after two steps


def test_what_06_says_of_three_seeds_was_recorded_with_the_recipe_that_it_trains():
    record = json.loads((checkpoints.HERE / "small_translator.json").read_text("utf-8"))
    assert record["settings"] == asdict(small_translator.settings)
    assert min(one["bleu"] for one in record["runs"]) > 60 > 2 * record["word by word"]
    assert max(one["cpu_seconds"] for one in record["runs"]) < 90
