"""Choice questions: the options are on the page, the key in `solutions/keys/<topic>.json`, which no student has.

    @exercise("lm.objective_or_task", points=2, minutes=5, difficulty=1, kind="choice")
    class ObjectiveOrTask:
        \"\"\"What the exercise is about.\"\"\"
        questions = {"name": ("What is it called?", {"transfer learning": "what this option says", …}), …}

The answer is a function that gives a dictionary, the name of an option for each question. The key holds for each
question the `right` option, and for each `wrong` one the sentence for who chose it; and `why`, shown after right
answers. Without the key's file an answer is recorded, with it judged: all questions, or no points.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from autograder.refusal import Refusal

KEYS = Path(__file__).resolve().parent.parent / "solutions" / "keys"
RECORDED = "Recorded. There is no key here: whether you chose well is judged when your work is graded."
Questions = dict[str, tuple[str, dict[str, str]]]


@cache
def key(name: str, folder: Path = KEYS) -> dict[str, Any] | None:
    """The key of an exercise, or None where its topic has no file. Raises Refusal for a file that does not serve."""
    path = folder / f"{name.split('.')[0]}.json"
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text("utf-8"))[name]
        assert set(found) == {"why", "answers"}
        assert all(set(answer) == {"right", "wrong"} for answer in found["answers"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError):
        raise Refusal(f"{path} holds no key of {name} in the form that choices.py describes: mend it.") from None
    return found


def fault(value: Any, questions: Questions) -> str | None:
    """What keeps an answer from being one: a question or an option that is not on the card."""
    if type(value) is not dict:
        return "Give a dictionary: for each question on the card the name of an option."
    missing, unknown = [q for q in questions if q not in value], [q for q in value if q not in questions]
    if missing:
        return f"The question `{missing[0]}` has no answer: give the name of an option for each question on the card."
    if unknown:
        return f"There is no question `{str(unknown[0])[:60]}` on the card: leave it out."
    for question, (_, options) in questions.items():
        if type(value[question]) is not str or value[question] not in options:
            names = ", ".join(f"`{name}`" for name in options)
            return f"For `{question}` the card has no option of the name that you gave: it has {names}."
    return None


def wrong(value: dict[str, str], answers: dict[str, Any]) -> str:
    """The sentences for all that was chosen badly, or nothing."""
    bad = [question for question, answer in answers.items() if value[question] != answer["right"]]
    return " ".join(f"`{question}`: {answers[question]['wrong'][value[question]]}" for question in bad)


def listed(questions: Questions) -> str:
    """Questions and options, in markdown."""
    parts = []
    for name, (text, options) in questions.items():
        lines = [f"- `{option}`: {words}" if words else f"- `{option}`" for option, words in options.items()]
        parts.append(f"**`{name}`** {text}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)
