"""`progress()` shows what was checked here, and survives a file that is no record."""

import torch

from autograder import check, progress


def test_it_shows_the_topics_that_were_begun(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBOOK_PROGRESS", str(tmp_path / "progress.json"))
    assert "Nothing checked yet" in repr(progress())
    check("start.double", lambda x: 2 * x)
    check("masks.causal", lambda n: torch.zeros(n, n))
    rows = repr(progress()).splitlines()
    assert [row.split()[0] for row in rows] == ["start", "masks"]
    assert rows[0].split()[1:] == ["1", "of", "1", "points"]
    assert rows[1].split()[1] == "0"
    assert "aria-label='1 of 1 points'" in progress()._repr_html_()


def test_a_broken_record_counts_as_none(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBOOK_PROGRESS", str(tmp_path / "progress.json"))
    (tmp_path / "progress.json").write_text("{cut off")
    assert "Nothing checked yet" in repr(progress())
