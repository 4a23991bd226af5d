"""Fine-tuning, its checkpoints and both experiments, at sizes of seconds."""

import json
import math

import pytest
import torch
from matplotlib import pyplot

from helpers import checkpoints, config, counting, finetune, lm
from helpers.experiments import (
    bag_of_words,
    broken,
    compare,
    fine_tune,
    left_or_both,
    masked,
    pretrain,
    toy_reviews,
    translate,
)
from helpers.figures import fine_tuning as figures
from helpers.models import Classifier, LanguageModel
from helpers.text import made_up, tokenizer
from helpers.widgets.fine_tuning import sentiment_reader


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Both commands have run here."""
    folder = tmp_path_factory.mktemp("runs")
    pretrain.main(["--tiny", "--device", "cpu", "--out", str(folder)])
    fine_tune.main(["--tiny", "--device", "cpu", "--out", str(folder), "--checkpoint", str(folder / "reviews")])
    return folder


def test_pretraining_learns_and_says_against_what(folder):
    record = json.loads((folder / "reviews.json").read_text())
    assert record["curve"][-1]["measured"] < record["curve"][0]["measured"] < math.log(300)
    assert record["baselines"]["trigram"]["perplexity"] < record["baselines"]["bigram"]["perplexity"]
    assert record["settings"]["d_model"] == 24 and len(record["data"]) == 16 and record["command"]


def test_what_is_measured_is_what_is_kept(folder):
    state, tokens, record = checkpoints.load("reviews", folder)
    sizes = (record["settings"][x] for x in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers"))
    model = LanguageModel(*sizes).eval()
    model.load_state_dict(state)
    stated = record["test"][0]
    test = tokenizer.corpus(tokens, toy_reviews()).test
    nats = lm.held_out(model, test, stated["context"], stated["stride"])
    assert math.exp(nats) == pytest.approx(stated["perplexity"], rel=1e-4)


def test_fine_tuning_keeps_each_seed_and_each_epoch(folder):
    record = fine_tune.recorded(folder)
    assert set(record["epochs"]) == {"pretrained", "probe", "scratch"}
    for way, rows in record["epochs"].items():
        assert len(rows) == 2 and all(len(row) == 2 and 0 <= min(row) <= max(row) <= 1 for row in rows)
        assert all(abs(loss - math.log(2)) < 0.3 for loss in record["start_loss"][way])
    assert list(record["labels"]) == ["20", str(record["n_train"])]
    rights = {way: fine_tune.who_was_right(record, way) for way in record["epochs"]}
    assert all(rights[way].double().mean(1).tolist() == [row[-1] for row in record["epochs"][way]] for way in rights)
    gap = record["pretrained against scratch"]
    assert gap == fine_tune.interval(rights["pretrained"], rights["scratch"])
    assert gap["low"] <= gap["difference"] <= gap["high"]


def test_figures_say_what_the_records_say(folder, monkeypatch):
    said = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: said.append((figure.get_suptitle(), alt)))
    made, sentiment = (json.loads((folder / f"{name}.json").read_text()) for name in ("reviews", "sentiment"))
    figures.pretraining(made)
    figures.epochs(sentiment)
    figures.labels(sentiment)
    pyplot.close("all")
    assert f"bigram {made['baselines']['bigram']['perplexity']:.0f}" in said[0][1] and "not yet below" in said[0][0]
    assert f"{100 * sentiment['pretrained against scratch']['low']:.1f}" in said[1][1]
    assert all(f"{int(n)} labels" in said[2][1] for n in sentiment["labels"])


def test_a_missing_checkpoint_is_one_sentence(tmp_path):
    with pytest.raises(SystemExit, match=r"There is no checkpoint named 'none' in .*there is none yet"):
        fine_tune.main(["--tiny", "--device", "cpu", "--checkpoint", str(tmp_path / "none"), "--out", str(tmp_path)])


def test_a_missing_record_is_one_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no .*sentiment\.json: restore it, or make it"):
        fine_tune.recorded(tmp_path)


def test_each_recipe_that_is_tried_has_a_row(folder, capsys):
    given = ["--tiny", "--tune", "--seeds", "1", "--device", "cpu", "--checkpoint", str(folder / "reviews")]
    fine_tune.main([*given, "--out", str(folder)])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith(" of 1")]
    assert len(rows) == len(set(rows)) >= 15
    best = {row.split()[0]: float(row.split()[-3]) for row in reversed(rows)}
    assert all(float(row.split()[-3]) <= best[row.split()[0]] for row in rows)


def test_a_causal_reader_says_of_a_beginning_what_it_says_of_it_alone():
    learned = tokenizer.train(["a good film that is not bad"] * 3, 280)
    torch.manual_seed(0)
    model = Classifier(280, 6, 2, 8, 2, n_classes=2, dropout=0.5)
    tokens, classes = finetune.as_it_reads(model, learned, "a good film that is not bad")
    assert "".join(tokens) == "a good film that is not bad" and classes.shape == (len(tokens), 2)
    n = len(tokens) // 2
    ids, _ = finetune.examples(learned, [("".join(tokens[:n]), 0)], max_len=20)
    assert torch.allclose(model.eval()(ids).softmax(-1)[0], classes[n - 1], atol=1e-6)
    assert finetune.as_it_reads(model, learned, "")[0] == []


def test_a_broken_checkpoint_is_one_sentence(folder, tmp_path):
    (tmp_path / "bad.safetensors").write_bytes(b"\x80\x04pickle")
    with pytest.raises(ValueError, match=r"bad\.safetensors cannot be read .* restore it"):
        checkpoints.load("bad", tmp_path)


def test_a_model_too_large_to_keep_is_refused():
    with torch.device("meta"), pytest.raises(ValueError, match=r"10,000,000 is the limit"):
        checkpoints.check_size(LanguageModel(5000, 512, 8, 2048, 2))


def test_a_probe_trains_402_numbers_at_the_sources_sizes():
    pretrained = LanguageModel(*config.seed.shape)
    model = finetune.load_body(Classifier(*config.seed.shape, n_classes=2), pretrained.state_dict())
    assert torch.equal(model.encoder[3].attention.q_proj.weight, pretrained.encoder[3].attention.q_proj.weight)
    assert counting.count(finetune.freeze(model))[0] == 402


def test_a_body_of_another_size_is_refused_and_nothing_is_loaded():
    model = Classifier(11, 6, 2, 8, 1, n_classes=2)
    before = {name: x.clone() for name, x in model.state_dict().items()}
    with pytest.raises(ValueError, match=r"encoder\.1\.attention.* is not of this body.*more"):
        finetune.load_body(model, LanguageModel(11, 6, 2, 8, 2).state_dict())
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())


def test_no_example_has_no_accuracy():
    with pytest.raises(ValueError, match="got no example"):
        finetune.evaluate(Classifier(11, 6, 2, 8, 1, n_classes=2), [])


def test_examples_end_in_pads_that_trimming_takes_away():
    learned = tokenizer.train(["a good film", "bad"], 280)
    ids, labels = finetune.examples(learned, [("a good film", 1), ("bad", 0), ("", 1)], max_len=2)
    assert ids.shape == (3, 2) and labels.tolist() == [1, 0, 1]
    assert tokenizer.decode(learned, ids[1]) == "bad" and (ids[2] == 0).all()
    assert finetune.trimmed((ids[1:], labels[1:]))[0].shape[1] == int((ids[1] != 0).sum())


def test_the_bag_of_words_learns_which_words_praise():
    texts = made_up(200)
    assert bag_of_words.accuracy(texts[:140], texts[140:170], texts[170:]) > 0.9


def test_the_interval_knows_nothing_from_something():
    coins = torch.rand(2, 3, 400, generator=torch.Generator().manual_seed(0)) < 0.8
    same, sure = fine_tune.interval(*coins, draws=400), fine_tune.interval(coins[0] | True, coins[1], draws=400)
    assert same["low"] < 0 < same["high"]
    assert 0.1 < sure["low"] < sure["difference"] < sure["high"] < 0.3


def test_the_sentiment_reader_shows_each_token_and_takes_any_text():
    learned = tokenizer.train(["a good film"] * 3, 280)
    torch.manual_seed(0)
    models = {"one": Classifier(280, 6, 2, 8, 1, n_classes=2), "another": Classifier(280, 6, 2, 8, 1, n_classes=2)}
    text, who, picture, note = sentiment_reader(models, learned, "a good <b>film</b>").children
    before = picture.value
    assert before.count("<rect") == len(learned.encode("a good <b>film</b>").ids) and "&lt;" in before
    who.value = "another"
    assert picture.value != before and note.value.startswith("In the end: ")
    text.value = ""
    assert note.value == "Write something." and "<rect" not in picture.value
    text.value = "film " * 100
    assert picture.value.count("<rect") == 40 and "the first 40 are shown" in note.value


def test_keys_biases_are_dropped_where_weights_are_rounded_and_nothing_else_changes():
    torch.manual_seed(0)
    model, ids = Classifier(11, 6, 2, 8, 1, n_classes=2).eval(), torch.tensor([[3, 5, 2, 7], [4, 1, 9, 2]])  # (B, T)
    for name, weight in model.named_parameters():
        if name.endswith("k_proj.bias"):
            torch.nn.init.constant_(weight, 3.0)
    before = model(ids)  # (B, 2)
    checkpoints.round_to_half(model)
    drifted = [weight for name, weight in model.named_parameters() if name.endswith("k_proj.bias")]
    assert drifted and not any(weight.any() for weight in drifted)
    assert torch.allclose(model(ids), before, atol=1e-2)


def test_a_tiny_run_says_where_it_writes_and_replaces_no_model_of_the_courses(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = {path: path.read_bytes() for path in checkpoints.HERE.glob("reviews*")}
    pretrain.main(["--tiny", "--device", "cpu", "--steps", "2"])
    [folder] = tmp_path.glob("tiny-*")
    assert f"writes to {folder}." in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {path.name for path in kept}
    assert all(path.read_bytes() == was for path, was in kept.items())


@pytest.mark.parametrize("experiment", [broken, compare, fine_tune, left_or_both, masked, translate])
def test_no_tiny_run_writes_among_the_courses_models(experiment, monkeypatch):
    class Asked(Exception):
        pass

    def stop(out, tiny, *_):
        raise Asked(out, tiny)

    monkeypatch.setattr(checkpoints, "out", stop)
    with pytest.raises(Asked) as asked:
        experiment.main(["--tiny", *(["--names", "a,b,c,d,e"] if experiment is broken else [])])
    assert asked.value.args == (None, True)
