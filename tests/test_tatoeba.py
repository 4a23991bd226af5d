"""The Tatoeba sentences are got, kept and split; whatever goes wrong is one sentence. All files are our own."""

import http.server
import os
import threading
import zipfile
from hashlib import sha256
from itertools import chain

import pytest

from autograder import cli
from helpers.text import tatoeba
from helpers.text.splits import PARTS, normalise

LINES = [
    "Is the soup hot?\tLa soupe est-elle chaude\u202f?",
    "Is the soup hot?\tLa soupe est chaude ?\tattribution of a later edition",
    "Is the soup hot?\tLa soupe est chaude\xa0?",
    "is the soup hot\tElle est chaude, la soupe?",
    "He said “yes”.\tIl a dit « oui ».",
    "The lamp’s broken.\tQuel bordel, la lampe !",
    *(f"Number {i} is late.\tLe numéro {i} est en retard." for i in range(60)),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBOOK_TATOEBA", raising=False)
    return tmp_path / "cache"


def damaged(path, method):
    """A zip of that compression with one block of it overwritten."""
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("fra.txt", "\n".join(LINES) * 100)
    held = path.read_bytes()
    return held[:45] + bytes(x ^ 255 for x in held[45:75]) + held[75:]


def write_zip(path, lines=LINES, inside="fra-eng/fra.txt", encoding="utf-8"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("fra-eng/_about.txt", "Ours.")
        file.writestr(inside, "\n".join(lines).encode(encoding))
    return path


@pytest.fixture
def small(tmp_path):
    return write_zip(tmp_path / "small.zip")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A machine of ours in the place of manythings.org: what is put into its `body` is what it gives."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if Handler.body else 404)
            self.send_header("Content-Length", str(len(Handler.body) + Handler.missing))
            self.end_headers()
            self.wfile.write(Handler.body)

        def log_message(self, *ignored):
            pass

    Handler.body, Handler.missing = b"", 0
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(tatoeba, "ADDRESS", f"http://127.0.0.1:{server.server_port}/fra-eng.zip")
    yield Handler
    server.shutdown()
    server.server_close()


def data(capsys, *arguments):
    """Exit code, what was said, and what was refused."""
    code = cli.main(["data", "tatoeba", *map(str, arguments)])
    said, refused = capsys.readouterr()
    return code, said, refused


def refused(capsys, *arguments):
    """The one sentence that a command refuses with."""
    code, said, sentence = data(capsys, *arguments)
    assert (code, said) == (2, "")
    assert sentence.startswith("workbook: ") and sentence.endswith(".\n") and sentence.count("\n") == 1
    return sentence


# ---- what is read ----


def test_spaces_and_quotes_are_plain_and_translations_gathered(small):
    every = dict(chain(*vars(tatoeba.corpus(small)).values()))
    assert every["Is the soup hot?"] == [
        "La soupe est-elle chaude ?",
        "La soupe est chaude ?",
        "Elle est chaude, la soupe ?",
    ]
    assert every['He said "yes".'] == ['Il a dit "oui".']
    assert "The lamp's broken." not in every


def test_parts_share_no_english_sentence_and_lose_none(small):
    parts = tatoeba.corpus(small)
    english = [normalise(sentence) for name in PARTS for sentence, _ in getattr(parts, name)]
    assert len(english) == len(set(english)) == 62
    assert all(getattr(parts, name) for name in PARTS)


def test_what_was_kept_is_what_was_made(small):
    made = tatoeba.corpus(small)
    tatoeba._load.cache_clear()
    assert tatoeba.corpus(small) == made


# ---- workbook data tatoeba ----


def test_a_copy_is_kept_with_licence_and_attribution(small, own_cache, capsys):
    code, said, refused = data(capsys, "--from", small)
    assert (code, refused) == (0, "")
    assert "66 pairs" in said and "CC BY 2.0" in said and "manythings.org" in said and "tatoeba.org" in said
    assert "not the edition" in said
    assert tatoeba.find() == (own_cache / "fra-eng.zip").resolve()
    assert tatoeba.corpus() == tatoeba.corpus(small)


def test_the_course_s_own_edition_is_taken_without_a_word(small, capsys, monkeypatch):
    monkeypatch.setattr(tatoeba, "SHA256", sha256(small.read_bytes()).hexdigest())
    code, said, _ = data(capsys, "--from", small)
    assert code == 0 and "not the edition" not in said


def test_a_download_of_the_course_s_edition_is_kept(served, small, capsys, monkeypatch):
    served.body = small.read_bytes()
    monkeypatch.setattr(tatoeba, "SHA256", sha256(served.body).hexdigest())
    assert data(capsys)[0] == 0
    assert tatoeba.home().read_bytes() == served.body


def test_another_edition_is_not_taken_unasked(served, small, capsys):
    served.body = small.read_bytes()
    assert "no longer the edition of 2019-04-07" in refused(capsys)
    assert not tatoeba.home().exists()


@pytest.mark.parametrize("missing", [0, 500])
def test_a_download_cut_short_is_told(missing, served, small, capsys):
    served.body, served.missing = small.read_bytes()[:-300], missing
    assert "cut short" in refused(capsys)


def test_no_network_and_nobody_there_are_told(served, capsys, monkeypatch):
    assert "cannot be reached" in refused(capsys)  # 404
    monkeypatch.setattr(tatoeba, "ADDRESS", "http://127.0.0.1:9/fra-eng.zip")
    assert "cannot be reached" in refused(capsys) and "--from FILE" in refused(capsys)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p.write_bytes(write_zip(p).read_bytes()[:-300]), "cut short"),
        (lambda p: p.write_bytes(write_zip(p).read_bytes().replace(b"fra.txt", b"fra.tyt")), "without a fra.txt"),
        (lambda p: p.write_bytes(write_zip(p).read_bytes()[-120:]), "no whole zip"),
        (lambda p: p.write_text("not a zip"), "no whole zip"),
        (lambda p: p.mkdir(), "is no file"),
        (lambda p: os.truncate(write_zip(p), 2**40), "far too large"),
        (lambda p: p.write_bytes(damaged(p, zipfile.ZIP_LZMA)), "no whole zip"),
        (lambda p: p.write_bytes(damaged(p, zipfile.ZIP_BZIP2)), "no whole zip"),
        (lambda p: p.write_bytes(b""), "no whole zip"),
        (lambda p: p.mkdir(), "no file"),
        (lambda p: None, "no file"),
        (lambda p: write_zip(p, inside="eng-deu/deu.txt"), "without a fra.txt"),
        (lambda p: write_zip(p, ["A sentence alone."]), "Line 1 of fra.txt"),
        (lambda p: write_zip(p, [LINES[0], "Two.\t"]), "Line 2 of fra.txt"),
        (lambda p: write_zip(p, []), "fra.txt in"),
        (lambda p: write_zip(p, LINES, encoding="utf-16"), "not UTF-8"),
    ],
)
def test_a_wrong_file_is_told_and_what_was_kept_stays(make, words, small, tmp_path, capsys):
    data(capsys, "--from", small)
    make(tmp_path / "wrong.zip")
    assert words in refused(capsys, "--from", tmp_path / "wrong.zip")
    assert tatoeba.home().read_bytes() == small.read_bytes()


def test_damage_inside_a_zip_is_told(small, tmp_path, capsys):
    held = bytearray(small.read_bytes())
    held[len(held) // 2] ^= 0xFF
    (tmp_path / "wrong.zip").write_bytes(held)
    assert "no whole zip" in refused(capsys, "--from", tmp_path / "wrong.zip")


def test_a_full_disk_is_told(small, capsys, monkeypatch):
    def full(*ignored):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tatoeba.Path, "write_bytes", full)
    assert "No space left on device" in refused(capsys, "--from", small)


def test_a_cache_that_is_a_file_is_told(small, own_cache, capsys):
    own_cache.write_text("in the way")
    assert "WORKBOOK_CACHE" in refused(capsys, "--from", small)


def test_without_the_corpus_the_command_is_named():
    with pytest.raises(FileNotFoundError, match="run `workbook data tatoeba`"):
        tatoeba.corpus()
