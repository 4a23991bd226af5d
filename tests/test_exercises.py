"""The grader is tested by its own exercises: one parametrised test over the registry.

WORKBOOK_DEVICE=cuda asks on a GPU; judging stays on the CPU.
"""

import importlib
import os
import pkgutil
from inspect import signature

import pytest
import torch
import variants
from safetensors.torch import save

from autograder.ask import ask
from autograder.exercise import all_exercises, cases, find, seed
from autograder.judge import judge
from autograder.trained import judge_bytes

DEVICE = os.environ.get("WORKBOOK_DEVICE", "cpu")
EXERCISES = [e for e in all_exercises().values() if e.cases is not None]
SEEDS = {"public": {}, "secret": {"student": "ada", "secret": b"one"}, "another": {"student": "bob", "secret": b"two"}}


def _gather(what: str) -> dict[str, list]:
    modules = [importlib.import_module(f"variants.{m.name}") for m in pkgutil.iter_modules(variants.__path__)]
    return {name: made for module in modules for name, made in getattr(module, what, {}).items()}


VARIANTS, WRONG = _gather("VARIANTS"), _gather("WRONG")


def verdict(exercise, target, seed_of):
    asked = cases(exercise, seed(exercise, **seed_of))
    return judge(exercise, asked, [answer(exercise, target, case) for case in asked])


def answer(exercise, target, case):
    """On a GPU an index out of range would take it from this process, so, as in grading, the CPU answers there."""
    first = ask(target, exercise.ask, case)
    device = exercise.device(DEVICE)
    return first if device == "cpu" or first.status == "error" else ask(target, exercise.ask, case, (), device)


def rows(kind):
    if kind == "mistake":
        return [pytest.param(e, m, id=f"{e.name}-{m.name}".replace(" ", "_")) for e in EXERCISES for m in e.mistakes]
    table = VARIANTS if kind == "variant" else WRONG
    return [pytest.param(e, x, id=f"{e.name}-{i}") for e in EXERCISES for i, x in enumerate(table.get(e.name, []))]


every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
every_seed = pytest.mark.parametrize("seed_of", SEEDS.values(), ids=SEEDS)


@every_seed
@pytest.mark.parametrize(("exercise", "mistake"), rows("mistake"))
def test_a_mistake_is_wrong_with_its_own_sentence(exercise, mistake, seed_of):
    found = verdict(exercise, mistake.version, seed_of)
    assert found.score == 0
    assert (found.verdict, found.mistake, found.sentence) == ("wrong", mistake.name, mistake.sentence)


@every_seed
@pytest.mark.parametrize(("exercise", "variant"), rows("variant"))
def test_a_right_version_written_otherwise_is_right(exercise, variant, seed_of):
    found = verdict(exercise, variant, seed_of)
    assert found.verdict == "right", f"{found.sentence} {found.where} {found.detail}"
    assert found.score == exercise.points


@every_seed
@pytest.mark.parametrize(("exercise", "wrong"), rows("wrong"))
def test_a_wrong_version_is_wrong(exercise, wrong, seed_of):
    found = verdict(exercise, wrong, seed_of)
    assert found.score == 0
    assert found.verdict in ("wrong", "error")
    assert found.sentence


@every_seed
@every_exercise
def test_the_reference_is_right(exercise, seed_of):
    if exercise.reference is None:
        pytest.skip("judged by properties or a key: the variants, or test_choices, show what is right")
    found = verdict(exercise, exercise.reference, seed_of)
    assert found.verdict == "right", f"{found.sentence} {found.where} {found.detail}"


def stub(*args, **named):
    raise NotImplementedError


class StubModule:
    def __init__(self, *args, **named):
        raise NotImplementedError


@every_exercise
def test_an_untouched_stub_is_not_attempted(exercise):
    found = verdict(exercise, StubModule if exercise.ask == "module" else stub, {})
    assert (found.verdict, found.score) == ("not attempted", 0)


@every_exercise
@pytest.mark.parametrize("answer", [lambda *a, **k: None, lambda *a, **k: "nonsense", lambda *a, **k: 1 / 0, 5])
def test_nonsense_scores_nothing_and_gets_a_sentence(exercise, answer):
    found = verdict(exercise, answer, {})
    assert found.score == 0
    assert found.sentence


@every_exercise
def test_every_exercise_has_a_full_card(exercise):
    assert exercise.signature and exercise.goal and (exercise.why or exercise.questions)
    assert 1 <= exercise.difficulty <= 5 and exercise.points >= 1 and exercise.minutes >= 1
    assert len(exercise.hints) >= 1
    assert signature(exercise.cases)


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.kind == "code"], ids=lambda e: e.name)
def test_every_code_exercise_has_variants_and_more_wrong_versions(exercise):
    assert len(VARIANTS.get(exercise.name, [])) >= 2
    assert len(WRONG.get(exercise.name, [])) >= 3


@every_exercise
def test_no_two_mistakes_share_a_name_or_a_sentence(exercise):
    assert (
        len({m.name for m in exercise.mistakes})
        == len({m.sentence for m in exercise.mistakes})
        == len(exercise.mistakes)
    )


# ---- weights ----

two_seeds = pytest.mark.parametrize("seed_of", list(SEEDS.values())[:2], ids=list(SEEDS)[:2])
TRAINED = [e for e in all_exercises().values() if e.weights]


def weights_of(table):
    made = _gather(table)
    named = {n: x.items() if isinstance(x, dict) else enumerate(x) for n, x in made.items()}
    return [pytest.param(find(n), *one, id=f"{n}-{one[0]}".replace(" ", "_")) for n, x in named.items() for one in x]


def weighed(exercise, make, seed_of):
    data = save({name: x.contiguous() for name, x in make().items()})
    return judge_bytes(exercise, data, seed(exercise, **seed_of))


@two_seeds
@pytest.mark.parametrize(("exercise", "_", "make"), weights_of("RIGHT"))
def test_good_weights_are_right_and_the_numbers_are_told(exercise, _, make, seed_of):
    found = weighed(exercise, make, seed_of)
    assert (found.verdict, found.score) == ("right", exercise.points), found.sentence
    assert len([word for word in found.detail.split() if word[0].isdigit()]) >= 2


@two_seeds
@pytest.mark.parametrize(("exercise", "slip", "make"), weights_of("SLIPS"))
def test_weights_with_a_slip_are_wrong_with_its_sentence(exercise, slip, make, seed_of):
    found = weighed(exercise, make, seed_of)
    assert (found.verdict, found.score, found.mistake) == ("wrong", 0, slip)


@two_seeds
@pytest.mark.parametrize(("exercise", "_", "make"), weights_of("WRONG_WEIGHTS"))
def test_weights_that_are_not_good_enough_get_both_numbers(exercise, _, make, seed_of):
    found = weighed(exercise, make, seed_of)
    assert (found.verdict, found.score) == ("wrong", 0)
    assert exercise.weights.advice in found.sentence or found.mistake


@pytest.mark.parametrize("exercise", TRAINED, ids=lambda e: e.name)
def test_an_exercise_that_trains_has_a_card_two_right_files_and_one_for_each_slip(exercise):
    assert exercise.signature and exercise.goal and exercise.why and exercise.hints
    assert exercise.weights.file == f"{exercise.name}.safetensors"
    assert len(_gather("RIGHT")[exercise.name]) >= 2
    assert set(_gather("SLIPS")[exercise.name]) == {slip.name for slip in exercise.weights.slips}
    assert _gather("WRONG_WEIGHTS")[exercise.name]


def test_variants_are_for_exercises_that_exist():
    assert set(VARIANTS) | set(WRONG) <= {e.name for e in EXERCISES}


def test_what_an_answer_leans_on_is_followed_through_global_names_only():
    from autograder.book import mentions

    closed = ("helpers.masks.causal",)
    tries = "from helpers import masks\nn = masks.causal(4).shape[0]\nm = masks.causal(4)\n"
    honest = "def causal(n):\n    m = torch.zeros(n, n)\n    return m\n"
    assert mentions([tries, honest], "causal", closed) is None
    table = "from helpers import masks\nTABLE = masks.causal(99)\n"
    leaning = "def causal(n):\n    return TABLE[:n, :n]\n"
    assert mentions([table, leaning], "causal", closed) == "helpers.masks.causal"


@every_exercise
def test_its_book_closes_and_opens_again(exercise):
    from autograder import book

    with book.closed(exercise.closed):
        for name in exercise.closed:
            with pytest.raises(book.Opened):
                book._function(name)(*torch.ones(3, 1, 2, 2))
    functions = [book._function(name) for name in exercise.closed]
    codes = [function.__code__.co_filename for function in functions if hasattr(function, "__code__")]
    assert "<closed book>" not in codes


def test_a_class_that_inherits_from_the_books_is_the_books():
    from autograder.book import owner
    from helpers.attention import MultiHeadAttention

    class Mine(MultiHeadAttention):
        def forward(self, x, memory=None, mask=None):
            return self.out_proj(x)

    assert owner(Mine) == "helpers.attention.MultiHeadAttention"
