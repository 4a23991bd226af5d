"""What an exercise is: one page that everything else is derived from."""

from __future__ import annotations

import hashlib
import hmac
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import torch
from torch import nn

from autograder import choices
from autograder.ask import VERBS, Case
from autograder.book import READY_MADE

# The topics in the order in which the notebooks teach them.
TOPICS = ("start", "attention", "masks", "positions", "complexity", "transformer", "parameters", "cost")
TOPICS += ("translation", "tokens", "lm", "finetune", "bert")
KINDS = ("code", "claim", "proof", "choice", "training", "written")
# What students find in place of an answer.
STUB, TEXT_STUB = "raise NotImplementedError", "*Your answer here.*"


@dataclass(frozen=True)
class Property:
    """`test(answer, *inputs)` must be true of every answer; `sentence` is for the learner whose answer it is not.

    A sentence may also be made from the answer, by a function.
    """

    name: str
    test: Callable[..., Any]
    sentence: str | Callable[[Any], str]


@dataclass(frozen=True)
class Mistake:
    """A wrong version that students really write, and the sentence for the one who wrote it."""

    name: str
    version: Callable
    sentence: str


holds = Property
mistake = Mistake


@dataclass(frozen=True)
class Exercise:
    """An exercise's page. See `exercises/masks.py` for how one reads.

    `cases(rng)` returns tuples of inputs or `Case`s. `unique=False` means that the properties alone decide and the
    reference is one right answer among others; `measure(answer, *inputs)` turns an answer into what is compared.
    `shortcuts` are last names that are no answer here (`MultiheadAttention`); `dtypes` are tried on the last case.
    `proof`, a chain of `proofs`, decides by itself, and so do the `questions` of `choices` and the `weights` of a
    training exercise (`weights.Weights`): see there.
    """

    name: str
    points: int
    minutes: int
    difficulty: int
    goal: str
    kind: str = "code"
    ask: str = "call"
    hints: tuple[str, ...] = ()
    signature: str = ""
    cases: Callable[[Draws], list] | None = None
    reference: Callable | None = None
    properties: tuple[Property, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    shortcuts: tuple[str, ...] = ()
    tolerance: float | None = None
    unique: bool = True
    measure: Callable | None = None
    proof: Any = None
    questions: Any = field(default=None, hash=False)
    weights: Any = field(default=None, hash=False)
    gradient: bool = True
    fake: bool = True
    may_use_global_random: bool = False
    may_change: tuple[str, ...] = ()  # of a model that it is handed: see `Answer.left`
    dtypes: tuple[str, ...] = ("float32",)
    why: str = ""
    rubric: str = ""
    book: tuple[str, ...] = field(default=())
    page: str = ""  # the module that it is written in

    @property
    def topic(self) -> str:
        return self.name.split(".")[0]

    @property
    def last(self) -> str:
        """The name under which a student's notebook or file defines it."""
        return self.name.split(".")[1]

    def device(self, wanted: str) -> str:
        """Where it is asked: claims are numbers, and who is given a model makes its inputs; both stay on the CPU.

        So does what may not be asked on a pretended GPU: an answer is worth the same with a GPU and without.
        """
        return wanted if self.kind == "code" and self.ask != "models" and self.fake else "cpu"

    @property
    def closed(self) -> tuple[str, ...]:
        """Dotted names in `helpers`, and of PyTorch's own versions, that are this exercise's answer."""
        own = (f"{self.reference.__module__}.{self.reference.__qualname__}",) if _in_helpers(self.reference) else ()
        ready = tuple(READY_MADE[name] for name in self.shortcuts if name in READY_MADE)
        return tuple(dict.fromkeys(own + self.book + ready))


def _in_helpers(reference: Any) -> bool:
    return getattr(reference, "__module__", "").split(".")[0] == "helpers"


class Draws:
    """Random inputs from one seed, in float64: the same for the same seed on every platform."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def integer(self, low: int, high: int) -> int:
        """An int in [low, high)."""
        return int(torch.randint(low, high, (), generator=self.generator))

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """int64 in [low, high)."""
        return torch.randint(low, high, shape, generator=self.generator)

    def normal(self, *shape: int) -> torch.Tensor:
        """Unit normals, float64."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def coins(self, *shape: int, p: float = 0.5) -> torch.Tensor:
        """bool, True with probability p."""
        return torch.rand(shape, generator=self.generator, dtype=torch.float64) < p

    def permutation(self, n: int) -> torch.Tensor:
        """A permutation of 0 … n−1, never the identity for n ≥ 2."""
        while True:
            found = torch.randperm(n, generator=self.generator)
            if n < 2 or not torch.equal(found, torch.arange(n)):
                return found

    def pick(self, options: list) -> Any:
        """One of the options."""
        return options[self.integer(0, len(options))]

    def weights(self, module: nn.Module, size: float = 1.0) -> dict[str, torch.Tensor]:
        """Unit normals for each parameter of `module` by name, divided by the root of its last width."""
        return {n: size * self.normal(*p.shape) / max(p.shape[-1], 1) ** 0.5 for n, p in module.named_parameters()}


_registry: dict[str, Exercise] = {}


def exercise(name: str, *, points: int, minutes: int, difficulty: int, **card: Any) -> Callable[[type], Exercise]:
    """Make an exercise of a page, a class whose attributes are the parts. Raises ValueError if it is unfit."""

    def register(page: type) -> Exercise:
        parts = {k: v for k, v in vars(page).items() if not k.startswith("__")}
        parts = {k: tuple(v) if isinstance(v, list) else v for k, v in parts.items()}
        if "proof" in parts:
            parts = _of_a_proof(parts["proof"]) | parts
        if "questions" in parts:
            parts = _of_a_choice(parts["questions"]) | parts
        made = Exercise(
            name,
            points,
            minutes,
            difficulty,
            inspect.cleandoc(page.__doc__ or ""),
            **card,
            **parts,
            page=page.__module__,
        )
        _fit(made)
        _registry[name] = made
        return made

    return register


def _of_a_proof(proof: Any) -> dict[str, Any]:
    """What every page of a proof says: ask once, and what the chain finds decides."""
    holds_good = Property("proof", lambda found: not found.fault, lambda found: found.sentence)
    asked = {"cases": lambda rng: [()], "gradient": False, "dtypes": ()}
    return asked | {"measure": proof.check, "properties": (holds_good,), "unique": False}


def _of_a_choice(questions: Any) -> dict[str, Any]:
    """What every page of choices says: ask once; that options are on the card is for all to see, the rest is not."""
    chosen = Property(
        "options", lambda value: not choices.fault(value, questions), lambda value: choices.fault(value, questions)
    )
    asked = {"cases": lambda rng: [()], "gradient": False, "dtypes": ()}
    return asked | {"properties": (chosen,), "unique": False}


def _fit(page: Exercise) -> None:
    faults = {
        "has a name that is not topic.exercise": page.name.count(".") != 1,
        f"is of a topic that is not one of {', '.join(TOPICS)}": page.topic not in TOPICS,
        "is on a second page": page.name in _registry,
        f"is of a kind that is not one of {', '.join(KINDS)}": page.kind not in KINDS,
        "asks with a verb that is not in ask.py": page.ask not in VERBS,
        "has no goal: write a docstring": not page.goal,
        "has more than three hints": len(page.hints) > 3,
        "is code and names fewer than three mistakes": page.kind == "code" and len(page.mistakes) < 3,
        "has choices and no questions, or the other way round": (page.kind == "choice") != bool(page.questions),
        "has weights and is no training, or the other way round": (page.kind == "training") != bool(page.weights),
        "has neither cases nor a rubric nor weights": not (page.cases or page.rubric or page.weights),
        "can be judged by nothing": page.cases is not None and not (page.reference if page.unique else page.properties),
    }
    for fault, found in faults.items():
        if found:
            raise ValueError(f"The exercise {page.name} {fault}.")


@cache
def _load() -> None:
    from autograder import exercises

    for module in sorted(m.name for m in pkgutil.iter_modules(exercises.__path__)):
        importlib.import_module(f"{exercises.__name__}.{module}")


def all_exercises() -> dict[str, Exercise]:
    """Every exercise by name, in the order of the course."""
    _load()
    return {e.name: e for e in sorted(_registry.values(), key=lambda e: TOPICS.index(e.topic))}


def exists(name: str) -> bool:
    """Whether there is an exercise of that name."""
    _load()
    return name in _registry


def find(name: str) -> Exercise:
    """The exercise of that name. Raises KeyError with a sentence that names near ones."""
    if exists(name):
        return _registry[name]
    import difflib

    near = [known for known in all_exercises() if known.split(".")[-1] == str(name)]  # causal for masks.causal
    near = near or difflib.get_close_matches(str(name), all_exercises(), n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise KeyError(f"There is no exercise named {name!r}.{hint}")


# ---- cases ----


def seed(exercise: Exercise, student: str = "", secret: bytes | None = None) -> int:
    """The seed of an exercise's cases: public without a secret, else one that only its holder can know."""
    text = f"{exercise.name}\0{student}".encode()
    digest = hmac.new(secret, text, hashlib.sha256) if secret else hashlib.sha256(f"public {exercise.name}".encode())
    return int.from_bytes(digest.digest()[:7], "big")


def cases(exercise: Exercise, seed: int) -> list[Case]:
    """All questions for one seed: each input in float64, the last also in the other dtypes and on a pretended GPU."""
    if exercise.cases is None:
        return []
    drawn = [c if isinstance(c, Case) else Case(inputs=tuple(c)) for c in exercise.cases(Draws(seed))]
    drawn = [replace(c, gradient=exercise.gradient and c.dtype == "float64") for c in drawn]
    more = [replace(drawn[-1], dtype=dtype, gradient=False) for dtype in exercise.dtypes]
    fake = [replace(drawn[-1], fake=True, gradient=False)] if exercise.fake and exercise.kind == "code" else []
    return drawn + more + fake
