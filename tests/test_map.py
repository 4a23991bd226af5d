"""The map: every question of the sources is answered by an exercise that is there, and shows what a learner reached."""

import json

import pytest

from autograder.exercise import all_exercises
from autograder.map import ANSWERED, ASKED, the_map

SHEETS = {
    "A": "1 2 3 4 5 6 7 8",
    "B": "1.1 1.2 2.1 2.2 3.1 3.2 4 5",
    "C": "1.1 1.2 2.1 2.2.1 2.2.2 2.2.3 3 4 5",
    "D": "1 2 3 4 5 6",
    "E": "-a -b -c-i -c-ii -d -e -f -g -h -i",
}
QUESTIONS = [sheet + part for sheet, parts in SHEETS.items() for part in parts.split()]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_source_question_is_answered_by_exercises_that_exist(question):
    assert ANSWERED[question] and ASKED[question].endswith("?")
    assert set(ANSWERED[question]) <= set(all_exercises())


def test_there_is_no_question_that_no_source_asks():
    assert list(ANSWERED) == list(ASKED) == QUESTIONS


def test_it_shows_the_learners_own_result(tmp_path, monkeypatch):
    kept = tmp_path / "progress.json"
    results = {
        "attention.scores": {"verdict": "right", "score": 2.0},
        "bert.labels": {"verdict": "recorded", "score": 0},
    }
    kept.write_text(json.dumps(results))
    monkeypatch.setenv("WORKBOOK_PROGRESS", str(kept))
    shown = repr(the_map())
    points = all_exercises()["attention.scores"].points
    assert f"attention.scores (2 of {points})" in shown
    assert "bert.labels (answered)" in shown
    assert "bert.why (read by people)" in shown and "masks.causal (–)" in shown
    assert all(f">{question}<" in the_map()._repr_html_() for question in QUESTIONS)


def test_a_learner_who_has_done_nothing_sees_the_whole_map(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBOOK_PROGRESS", str(tmp_path / "none.json"))
    assert " of " not in repr(the_map()).split("A1")[1].split("A2")[0]
