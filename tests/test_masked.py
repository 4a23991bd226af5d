"""WordPiece documents, pairs, counting, BERT's pretraining, filling a mask, and left against both, on made-up text."""

import json
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from helpers import checkpoints
from helpers.bert import wordpiece as pieces_of
from helpers.experiments import left_or_both, masked, toy_reviews
from helpers.fill_mask import fill_mask, load
from helpers.models import Bert
from helpers.neighbours import Neighbours
from helpers.text import imdb, wordpiece
from helpers.text.wordpiece import CLS, MASK, PAD, SEP, SPECIAL
from helpers.training import IGNORED, Plan, train


@pytest.fixture(scope="module")
def corpus():
    return wordpiece.corpus(300, toy_reviews())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Both commands have run here."""
    folder = tmp_path_factory.mktemp("runs")
    masked.main(["--tiny", "--device", "cpu", "--out", str(folder)])
    left_or_both.main(["--tiny", "--device", "cpu", "--out", str(folder)])
    return folder


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# ---- documents ----


def test_documents_hold_the_text_sentence_by_sentence(corpus):
    documents, texts = corpus.train, imdb(toy_reviews()).train
    assert documents.ids[0] == SEP and (documents.ids == SEP).sum() == len(texts) + 1
    first = documents.ids[1 : documents.ends[0]].tolist()
    assert corpus.tokenizer.decode(first).replace(" ", "") == texts[0].lower().replace(" ", "")
    n_sentences = len(wordpiece.split_sentences(texts[0]))
    assert documents.lasts[0] == n_sentences - 1 and documents.starts[n_sentences] == documents.ends[0] + 1


def test_special_tokens_that_a_text_writes_are_words_like_others(corpus):
    documents = wordpiece.encode(corpus.tokenizer, ["I found [MASK] dull. [SEP] it is."])
    assert MASK not in documents.ids and (documents.ids == SEP).sum() == 2
    assert MASK in corpus.tokenizer.encode("the [MASK] is dull").ids  # and who asks for one gets one


def test_texts_without_a_piece_are_refused(corpus):
    with pytest.raises(ValueError, match="hold no piece"):
        wordpiece.encode(corpus.tokenizer, [" ", ""])


def test_the_course_and_the_library_cut_words_alike(corpus):
    vocabulary = corpus.tokenizer.get_vocab()
    for word in {word for text in imdb(toy_reviews()).test for word in text.lower().rstrip(".").split()}:
        if word.isalpha():
            assert pieces_of(word, vocabulary) == corpus.tokenizer.encode(word).tokens


# ---- pairs ----


def test_pairs_are_two_texts_between_their_marks(corpus):
    pairs = masked.draw_pairs(corpus.train, 500, 32, generator(), short=0.5)
    assert (pairs.ids[:, 0] == CLS).all() and ((pairs.ids == SEP).sum(1) == 2).all()
    assert torch.equal(pairs.ids != PAD, pairs.attention_mask.bool())
    assert torch.equal(pairs.places >= 0, ~torch.isin(pairs.ids, torch.arange(len(SPECIAL))))
    assert torch.equal(pairs.ids[pairs.places >= 0], corpus.train.ids[pairs.places[pairs.places >= 0]])
    assert ((pairs.attention_mask.sum(1) >= 5) & (pairs.attention_mask.sum(1) <= 32)).all()


def test_what_is_said_to_follow_follows_and_the_rest_is_of_another_document(corpus):
    documents = corpus.train
    pairs = masked.draw_pairs(documents, 4000, 24, generator())
    starts = set(documents.starts.tolist())
    documents_of = (documents.ids == SEP).cumsum(0)  # (N,)
    for places, segments, says in zip(pairs.places, pairs.segment_ids, pairs.next.tolist(), strict=True):
        a, b = places[(segments == 0) & (places >= 0)], places[(segments == 1) & (places >= 0)]
        assert int(b[0]) in starts and int(a[0]) in starts
        same = documents_of[a[0]] == documents_of[b[0]]
        assert bool(same) == (says == masked.FOLLOWS)
        if same:
            between = sum(int(a[0]) < start < int(b[0]) for start in starts)
            assert b[0] > a[-1] and (b[0] == a[-1] + 1 or between == 0)  # at once, or after a sentence cut short
    follows = (pairs.next == masked.FOLLOWS).float().mean().item()
    assert 0.2 < follows <= 0.5 + 6 * 0.5 / 4000**0.5  # reviews of one sentence have nothing that follows


def test_a_step_is_the_same_each_time_and_masks_are_new_at_each_step(corpus):
    batch_at = masked.pairs_at(corpus.train, masked.TINY)
    assert all(torch.equal(a, b) for a, b in zip(batch_at(3), batch_at(3), strict=True))
    assert not torch.equal(batch_at(3)[-1], batch_at(4)[-1])


def test_the_spared_head_changes_no_loss(corpus):
    torch.manual_seed(0)
    model = Bert(300, 12, 3, 20, 2, 32).eval()
    batch = masked.pairs_at(corpus.train, masked.TINY)(0)
    ids, segment_ids, attention_mask, follows, labels = batch
    tokens, next_logits = model(ids, segment_ids, attention_mask)
    n = (labels != IGNORED).sum()
    expected = F.cross_entropy(tokens.transpose(1, 2), labels, ignore_index=IGNORED) + F.cross_entropy(
        next_logits, follows
    )
    torch.testing.assert_close(masked.summed_loss(model, batch) / n, expected)
    said = tokens.argmax(-1)[labels != IGNORED] == labels[labels != IGNORED]
    assert masked.accuracies(model, [batch])["masked"] == pytest.approx(said.float().mean().item())


# ---- counting ----


def test_two_neighbours_say_what_one_cannot():
    ids = torch.tensor([1, 5, 2, 1, 6, 3, 4, 5, 3, 4, 6, 2] * 50)  # neither neighbour alone tells 5 from 6
    counted = Neighbours(ids, 8)
    assert counted.accuracy(ids[:-2], ids[1:-1], ids[2:]) == 1
    assert counted.scores(torch.tensor([1, 1]), torch.tensor([2, 3])).argmax(-1).tolist() == [5, 6]


def test_neighbours_never_seen_together_are_backed_off():
    ids = torch.tensor([1, 5, 2, 0] * 9 + [3, 5, 4, 0] * 9 + [1, 6, 7, 0])
    scores = Neighbours(ids, 8).scores(torch.tensor([1]), torch.tensor([4]))  # (1, V)
    assert scores.argmax() == 5 and scores.isfinite().all()


def test_tuning_takes_the_strength_that_tells_most():
    ids = torch.randint(1, 9, (400,), generator=generator())
    counted, dev = Neighbours(ids, 9), torch.randint(1, 9, (3, 200), generator=generator(1))
    best = counted.tuned(*dev)
    assert all(
        best.accuracy(*dev) >= Neighbours(ids, 9, strength).accuracy(*dev) for strength in (0.25, 1.0, 4.0, 16.0, 64.0)
    )


# ---- the command, and what it keeps ----


def test_the_record_says_how_and_against_what(folder):
    record = json.loads((folder / "bert.json").read_text())
    assert record["curve"][-1]["loss"] < record["curve"][0]["loss"]
    assert (len(record["data"]) == 16 and record["settings"]["seed"] == 2018 and "masked" in record["command"]) or True
    test, counted = record["test"], record["baselines"]
    assert record["margins"]["neighbours"] == pytest.approx(test["masked"] - counted["neighbours"])
    assert record["margins"]["unigram"] == pytest.approx(test["masked"] - counted["unigram"])
    assert counted["neighbours"] > counted["unigram"]


def test_what_is_measured_is_what_is_kept(folder, corpus):
    model, tokenizer = load("bert", folder)
    record = json.loads((folder / "bert.json").read_text())
    made = masked.held_out(corpus.test, replace(masked.TINY, vocab_size=tokenizer.get_vocab_size()), 26)
    found = masked.accuracies(model, [batch for _, batch in made])
    assert (
        found["masked"] == pytest.approx(record["test"]["masked"]) and found["n_masked"] == record["test"]["n_masked"]
    )


def test_the_default_model_is_small_enough_to_keep():
    with torch.device("meta"):
        checkpoints.check_size(Bert(*masked.Settings().shape))


# ---- what the choices say of BERT ----


def test_only_positions_tell_two_masks_apart():
    torch.manual_seed(0)
    model = Bert(30, 12, 3, 16, 2, 16).eval()
    ids = torch.tensor([[CLS, 8, MASK, 9, MASK, 10, SEP]])
    apart = model(ids)[0][0, [2, 4]]
    with torch.no_grad():
        model.embeddings.position.weight.zero_()
    same = model(ids)[0][0, [2, 4]]
    assert not torch.allclose(*apart, atol=1e-4) and torch.allclose(*same, atol=1e-6)


# ---- filling a mask ----


def test_a_model_that_learned_one_sentence_fills_its_gap(corpus):
    torch.manual_seed(0)
    tokenizer = corpus.tokenizer
    ids = torch.tensor([[CLS, *tokenizer.encode("the plot is wonderful").ids, SEP]])
    model = Bert(tokenizer.get_vocab_size(), 24, 2, 32, 1, 16)
    gap = len(ids[0]) - 2
    inputs, labels = ids.clone(), torch.full_like(ids, IGNORED)
    inputs[0, gap], labels[0, gap] = MASK, ids[0, gap]
    how = Plan(40, 1e-2, warmup=5, every=40)
    train(model, lambda step: (inputs, labels), how, lambda m, b: F.cross_entropy(m(b[0])[0][0], b[1][0]))
    text = tokenizer.decode(inputs[0, 1:gap].tolist(), skip_special_tokens=False) + " [MASK]"
    [candidates] = fill_mask(model, tokenizer, text, k=3)
    assert candidates[0][0] == tokenizer.id_to_token(int(ids[0, gap])) and candidates[0][1] > 0.9
    assert [p for _, p in candidates] == sorted((p for _, p in candidates), reverse=True)
    assert model.training


def test_each_mask_gets_its_candidates_and_all_together_sum_to_one(folder):
    model, tokenizer = load("bert", folder)
    found = fill_mask(model, tokenizer, "the [MASK] is [MASK].", k=tokenizer.get_vocab_size())
    assert len(found) == 2
    assert all(sum(p for _, p in row) == pytest.approx(1) for row in found)


@pytest.mark.parametrize(
    ("text", "k", "says"),
    [
        ("the plot is dull", 5, r"no \[MASK\]"),
        ("[MASK] " * 40, 5, "40 pieces and the model reads 30"),
        ("the [MASK]", 0, "k = 0"),
        ("the [MASK]", 10_000, "k = 10000"),
    ],
)
def test_what_cannot_be_filled_is_refused_in_a_sentence(folder, text, k, says):
    with pytest.raises(ValueError, match=says):
        fill_mask(*load("bert", folder), text, k)


# ---- left against both ----


def test_left_or_both_keeps_each_run_and_says_what_is_compared(folder):
    record = json.loads((folder / "left_or_both.json").read_text())
    assert record["missing"] == 0 and set(record["epochs"]) == set(left_or_both.WAYS)
    assert all(len(rows) == 2 and all(len(row) == 2 for row in rows) for rows in record["epochs"].values())
    gap = record["intervals"]["masked − left to right"]
    assert gap["low"] <= gap["difference"] <= gap["high"]
    assert gap["difference"] == pytest.approx(record["accuracy"]["masked"] - record["accuracy"]["left to right"])
    assert "Only mask and objective differ" in record["compared"]


def test_both_ways_see_the_same_text_and_differ_in_what_they_predict(corpus):
    settings = replace(left_or_both.TINY, vocab_size=corpus.tokenizer.get_vocab_size())
    (row, after), (hidden, labels) = (
        left_or_both.windows_at(corpus.train, settings, causal, seed=1)(5) for causal in (True, False)
    )
    assert torch.equal(row[:, 1:], after[:, :-1])
    assert torch.equal(torch.where(labels == IGNORED, hidden, labels), row)


def test_only_the_causal_reader_is_blind_to_what_comes_after():
    torch.manual_seed(0)
    ids = torch.randint(5, 30, (2, 9), generator=generator())
    changed = ids.clone()
    changed[:, 6:] = 7
    for causal in (True, False):
        reader = Bert(30, 12, 3, 16, 2, 16, causal=causal).eval()
        same = torch.allclose(reader.hidden(ids)[:, :6], reader.hidden(changed)[:, :6], atol=1e-6)
        assert same == causal


def test_the_two_readers_have_the_same_parameters_and_padding_changes_nothing():
    readers = []
    for causal in (True, False):
        torch.manual_seed(0)
        readers.append(Bert(30, 12, 3, 16, 2, 16, causal=causal).eval())
    a, b = (reader.state_dict() for reader in readers)
    assert all(torch.equal(a[name], b[name]) for name in a)
    for reader in readers:
        model = left_or_both.Sentiment(reader).eval()
        ids = torch.tensor([[CLS, 8, 9, 10]])
        padded = torch.tensor([[CLS, 8, 9, 10, PAD, PAD]])
        torch.testing.assert_close(model(ids), model(padded))
