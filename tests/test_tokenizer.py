"""Text becomes numbers and comes back unharmed, the same each time; what was made once is kept."""

from itertools import pairwise

import pytest
import torch

from helpers.text import bpe, imdb, made_up, reviews, tokenizer
from helpers.text.made_up import write_csv
from helpers.text.splits import PARTS

TEXTS = [text for text, _ in made_up(300)]
STRANGE = ["", " ", "naïve café\n\n  ‘fine’…", "\N{FILM PROJECTOR} 10/10", "<|end|> said she", "日本 \x00"]


@pytest.fixture(scope="module")
def small():
    return tokenizer.train(TEXTS, 400)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBOOK_CACHE", str(tmp_path / "cache"))
    reviews._load.cache_clear()
    return write_csv(tmp_path / "reviews.csv", 300)


def test_any_text_comes_back(small):
    for text in [*TEXTS, *STRANGE]:
        ids = tokenizer.encode(small, [text])
        assert tokenizer.decode(small, ids) == text


def test_a_stream_is_all_texts_with_an_end_before_between_and_after(small):
    some = TEXTS[:30] + STRANGE
    stream = tokenizer.encode(small, some)
    assert (stream.dtype, stream.dim()) == (torch.int64, 1)
    ends = (stream == tokenizer.END_ID).nonzero().flatten().tolist()
    assert len(ends) == len(some) + 1
    assert (ends[0], ends[-1]) == (0, len(stream) - 1)
    between = [stream[a + 1 : b] for a, b in pairwise(ends)]
    assert [tokenizer.decode(small, ids) for ids in between] == some


def test_no_text_at_all_is_one_end(small):
    assert tokenizer.encode(small, []).tolist() == [tokenizer.END_ID]


def test_pairs_make_the_text_shorter_and_the_vocabulary_as_large_as_asked(small):
    assert small.get_vocab_size() == 400
    n_bytes = sum(len(text.encode()) for text in TEXTS)
    assert len(tokenizer.encode(small, TEXTS)) < n_bytes / 2


def test_training_twice_gives_the_same_tokenizer(small):
    assert tokenizer.train(TEXTS, 400).to_str() == small.to_str()


def test_bytes_behind_tokens_add_up_to_the_texts(small):
    some = TEXTS + STRANGE[:4]
    found = tokenizer.token_bytes(small)[tokenizer.encode(small, some)].sum()
    assert found == sum(len(text.encode()) for text in some)


def test_lower_case_only_when_asked(small):
    lower = tokenizer.train(TEXTS, 400, lowercase=True)
    assert tokenizer.decode(lower, tokenizer.encode(lower, ["THE Plot"])) == "the plot"
    assert tokenizer.decode(small, tokenizer.encode(small, ["THE Plot"])) == "THE Plot"


def test_a_saved_tokenizer_is_the_same_one(small, tmp_path):
    tokenizer.save(small, tmp_path / "t.json")
    assert tokenizer.load(tmp_path / "t.json").to_str() == small.to_str()


def test_refusals_are_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="vocab_size=256 leaves no room"):
        tokenizer.train(TEXTS, 256)
    with pytest.raises(FileNotFoundError, match=r"no tokenizer at .*nothing\.json: make one with"):
        tokenizer.load(tmp_path / "nothing.json")
    (tmp_path / "strange.json").write_text("{}")
    with pytest.raises(ValueError, match=r"strange\.json holds no tokenizer"):
        tokenizer.load(tmp_path / "strange.json")


@pytest.mark.parametrize(
    "spoil", [lambda file: None, lambda file: file.write_bytes(b"broken"), lambda file: file.unlink()]
)
def test_a_corpus_is_kept_and_made_anew_where_its_file_is_broken(table, tmp_path, spoil):
    first = tokenizer.corpus(300, table)
    for file in (tmp_path / "cache").iterdir():
        spoil(file)
    again = tokenizer.corpus(300, table)
    for name in PARTS:
        assert torch.equal(getattr(first, name), tokenizer.encode(first.tokenizer, getattr(imdb(table), name)))
        assert torch.equal(getattr(first, name), getattr(again, name))
        assert getattr(again, name).dtype == torch.int64


def test_a_tokenizer_of_ones_own_has_streams_of_its_own(table, small):
    mine, other = tokenizer.corpus(small, table), tokenizer.corpus(300, table)
    assert mine.test.max() >= 300 > other.test.max()


def test_the_tokenizer_learns_from_the_training_part_alone(table):
    learned = tokenizer.corpus(300, table).tokenizer.to_str()
    assert learned == tokenizer.train(imdb(table).train, 300).to_str()


def test_the_command_writes_what_it_says_and_refuses_in_a_sentence(table, tmp_path, capsys):
    out = tmp_path / "new" / "t.json"
    tokenizer.main(["--vocab-size", "300", "--from", str(table), "--out", str(out)])
    assert tokenizer.load(out).get_vocab_size() == 300
    assert "300 tokens" in capsys.readouterr().out
    for wrong in (["--vocab-size", "5"], ["--from", "nowhere.csv"]):
        with pytest.raises(SystemExit) as stopped:
            tokenizer.main(["--from", str(table), *wrong, "--out", str(out)])
        assert stopped.value.code == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


# ---- by hand ----


@pytest.mark.parametrize("n_merges", [0, 1, 40])
def test_byte_pairs_by_hand_bring_any_text_back(n_merges):
    merges = bpe.train_bpe(" ".join(TEXTS[:5]), n_merges)
    assert len(merges) == n_merges
    for text in [*TEXTS[:5], *STRANGE]:
        ids = bpe.encode(text, merges)
        assert bpe.decode(ids, merges) == text
        assert max(ids, default=0) < 256 + n_merges


def test_encoding_the_training_text_repeats_what_training_did():
    text = "low lower lowest, newer newest"
    ids = list(text.encode())
    for k, pair in enumerate(bpe.train_bpe(text, 9)):
        assert pair == bpe.most_frequent_pair(ids)
        ids = bpe.merge(ids, pair, 256 + k)
    assert bpe.encode(text, bpe.train_bpe(text, 9)) == ids


def test_a_text_without_a_pair_left_ends_the_training():
    assert bpe.train_bpe("abc", 9) == [(97, 98), (256, 99)]
    assert bpe.most_frequent_pair([7]) is None


def test_part_of_a_character_is_shown_as_such():
    assert bpe.decode("é".encode()[:1], []) == "�"
