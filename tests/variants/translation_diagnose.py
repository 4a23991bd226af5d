"""Right and wrong answers of translation.diagnose. The right ones are found by trying: no answer is written here."""

from itertools import permutations

from autograder.exercises.translation_diagnose import DIGESTS, is_fault, key
from helpers.suspects import FAULTS


def by_permutations():
    for faults in permutations(FAULTS):
        if all(map(is_fault, DIGESTS, faults)):
            return dict(zip(DIGESTS, faults, strict=True))


def two_exchanged():
    right = key()
    return right | {"ash": right["elm"], "elm": right["ash"]}


VARIANTS = {"translation.diagnose": [by_permutations, lambda: dict(reversed(key().items()))]}

WRONG = {
    "translation.diagnose": [
        two_exchanged,
        dict,
        lambda: {fault: name for name, fault in key().items()},
        lambda: list(key().items()),
        lambda: key() | {"oak": FAULTS[0]},
        lambda: key() | {"ash": "too few epochs"},
        lambda: key() | {"ash": 5},
        *(lambda fault=fault: dict.fromkeys(DIGESTS, fault) for fault in FAULTS),
    ]
}
