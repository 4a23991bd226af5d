"""Choice questions: judged where the key is, recorded elsewhere, and no student's bundle holds the key."""

import json

import pytest

from autograder import bundle, choices
from autograder.ask import ask
from autograder.exercise import all_exercises, cases
from autograder.grading.controller import Zygote, judge_file
from autograder.judge import judge
from autograder.refusal import Refusal
from autograder.source import card_text

CHOICES = [e for e in all_exercises().values() if e.kind == "choice"]
every_choice = pytest.mark.parametrize("exercise", CHOICES, ids=lambda e: e.name)


def verdict(exercise, answer):
    asked = cases(exercise, 0)
    return judge(exercise, asked, [ask(answer, exercise.ask, case) for case in asked])


def right(exercise):
    return {question: answer["right"] for question, answer in choices.key(exercise.name)["answers"].items()}


@every_choice
def test_the_key_fits_the_card(exercise):
    answers = choices.key(exercise.name)["answers"]
    assert set(answers) == set(exercise.questions)
    for question, (text, options) in exercise.questions.items():
        assert text.endswith("?")
        assert len(options) > 1
        assert {answers[question]["right"], *answers[question]["wrong"]} == set(options)
        assert answers[question]["right"] not in answers[question]["wrong"]
        assert all(len(sentence) > 30 and sentence.endswith(".") for sentence in answers[question]["wrong"].values())


@every_choice
def test_only_the_key_is_right_and_each_other_option_gets_its_own_sentence(exercise):
    found = verdict(exercise, lambda: right(exercise))
    assert (found.verdict, found.score, found.sentence) == (
        "right",
        exercise.points,
        choices.key(exercise.name)["why"],
    )
    sentences = set()
    for question, (_, options) in exercise.questions.items():
        for option in set(options) - {right(exercise)[question]}:
            found = verdict(exercise, lambda changed={question: option}: right(exercise) | changed)
            assert (found.verdict, found.score) == ("wrong", 0)
            sentences.add(found.sentence)
    assert len(sentences) == sum(len(options) - 1 for _, options in exercise.questions.values())


@every_choice
def test_without_the_key_an_answer_is_recorded_whatever_it_is(exercise, monkeypatch, tmp_path):
    answers = [right(exercise), {question: list(options)[-1] for question, (_, options) in exercise.questions.items()}]
    monkeypatch.setattr(choices, "key", lambda name: None)
    found = [verdict(exercise, lambda answer=answer: answer) for answer in answers]
    assert found[0] == found[1]
    assert (found[0].verdict, found[0].score) == ("recorded", 0)
    assert "graded" in found[0].sentence


@every_choice
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda answer: list(answer), "dictionary"),
        (lambda answer: {}, "has no answer"),
        (lambda answer: answer | {"more": "a"}, "no question `more`"),
        (lambda answer: answer | {next(iter(answer)): "none of these"}, "no option of the name"),
        (lambda answer: answer | {next(iter(answer)): 1}, "no option of the name"),
        (lambda answer: {question: [option] for question, option in answer.items()}, "no option of the name"),
    ],
)
def test_what_is_not_on_the_card_is_said_with_the_key_or_without(exercise, change, says, monkeypatch):
    answer = change(right(exercise))
    assert says in verdict(exercise, lambda: answer).sentence
    monkeypatch.setattr(choices, "key", lambda name: None)
    found = verdict(exercise, lambda: answer)
    assert says in found.sentence
    assert found.verdict == "wrong"


@every_choice
def test_the_card_shows_each_question_and_option(exercise):
    text = card_text(exercise)
    for question, (words, options) in exercise.questions.items():
        assert question in text
        assert words in text
        assert all(f"`{option}`" in text for option in options)


def test_a_students_bundle_holds_no_key(tmp_path):
    out = bundle.release(tmp_path / "bundle")
    files = [path for path in out.rglob("*") if path.is_file()]
    sentences = [
        sentence
        for exercise in CHOICES
        for sentence in [
            choices.key(exercise.name)["why"],
            *(s for answer in choices.key(exercise.name)["answers"].values() for s in answer["wrong"].values()),
        ]
    ]
    assert sentences
    for path in files:
        assert "keys" not in path.relative_to(out).parts
        text = path.read_text("utf-8", errors="replace")
        assert not [s for s in sentences if s in text or json.dumps(s)[1:-1] in text]
    for exercise in CHOICES:
        assert choices.key(exercise.name, out / "keys") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"lm.objective_or_task": 5}', '{"lm.objective_or_task": {}}'])
def test_a_key_that_does_not_serve_is_refused(tmp_path, text):
    (tmp_path / "lm.json").write_text(text)
    with pytest.raises(Refusal, match=r"lm\.json holds no key of lm\.objective_or_task"):
        choices.key("lm.objective_or_task", tmp_path)


def test_a_worker_cannot_read_the_key(tmp_path):
    from autograder.grading import sandbox

    why = sandbox.possible()
    if why:
        pytest.skip(f"no namespaces on this system: {why}")
    exercise = CHOICES[0]
    peek = f"""
import json
def {exercise.last}():
    answers = json.load(open({str(choices.KEYS / "lm.json")!r}))[{exercise.name!r}]["answers"]
    return {{question: answer["right"] for question, answer in answers.items()}}
"""
    honest = f"def {exercise.last}():\n    return {right(exercise)!r}\n"
    with Zygote() as zygote:
        for text, score in ((peek, 0), (honest, exercise.points)):
            path = tmp_path / "answer.py"
            path.write_text(text)
            assert judge_file(zygote, exercise, path, 0).score == score
