"""06_translation: five translators, each spoilt by one fault."""

import hashlib

from autograder.exercise import exercise, holds
from helpers.suspects import FAULTS

# Which fault is whose. A digest is no secret, but nobody reads an answer here by accident.
DIGESTS = {
    "ash": "8b9fefb2b1a4",
    "birch": "fa18dacea67d",
    "cedar": "f17273b71eb6",
    "elm": "72595b1269f3",
    "fir": "065fec510492",
}
# For a fault that a model does not have: what one would see if it had it.
EXPERIMENTS = {
    "no causal mask": "change later target tokens (`changes_with_the_future`). Without a causal mask the logits before "
    "them would change too, and they do not.",
    "unshifted targets": "compare what it says with what it reads (`says_what_it_reads`). Trained on unshifted targets "
    "it would say each token back, and it does not.",
    "padding attended to": "append pads to its source (`changes_with_padding`). If it attended to them its logits "
    "would change, and they do not.",
    "padding counted in the loss": "look at what it says after EOS (`says_padding`). Trained on pads it would be sure "
    "of PAD there, and it is not.",
    "no positions": "read its source backwards (`stays_when_reversed`). Without positions its logits would stay as "
    "they are. They also stay where a model does not listen to its source at all, so look first whether it does.",
}


def is_fault(name, fault):
    """Whether the model of that name has that fault."""
    return hashlib.sha256(f"{name}: {fault}".encode()).hexdigest()[:12] == DIGESTS[name]


def key():
    """The right answer, by trying."""
    return {name: next(fault for fault in FAULTS if is_fault(name, fault)) for name in DIGESTS}


def _what_is_wrong(found):
    """The sentence for an answer, empty for the right one."""
    if type(found) is not dict:
        return "Give a dictionary with the name of each model and its fault."
    if found and set(found) <= set(FAULTS):
        return "Your dictionary is the other way round: the models' names are its keys, the faults its values."
    missing, unknown = [n for n in DIGESTS if n not in found], [n for n in found if n not in DIGESTS]
    if missing or unknown:
        one = f"`{missing[0]}` is missing" if missing else f"there is no model `{unknown[0][:40]}`"
        return f"Five models are asked about, {', '.join(DIGESTS)}: {one}."
    for name, fault in found.items():
        if type(fault) is not str or fault not in FAULTS:
            return (
                f"What you say of `{name}` is none of the five faults on the card. Too little training is none either: "
                "a low loss beside bad output is a symptom, not a lack of epochs."
            )
    words = []
    for fault in FAULTS:
        wrong = [name for name, said in found.items() if said == fault and not is_fault(name, fault)]
        words += [f"For {' and '.join(wrong)} you say *{fault}*: {EXPERIMENTS[fault]}"] if wrong else []
    return " ".join(words)


@exercise("translation.diagnose", points=3, minutes=30, difficulty=4, kind="claim")
class Diagnose:
    """What is wrong with ash, birch, cedar, elm and fir? A dictionary from each model's name to its fault.

    Each has another one of these: "no causal mask", "unshifted targets", "padding attended to",
    "padding counted in the loss", "no positions".
    """

    signature = "diagnose() -> dict[str, str]; helpers.suspects.load(name) -> (model, tokenizer, record)"
    unique = False
    gradient = False
    dtypes = ()
    why = (
        "Right, and by experiment: a loss of 0.5 beside “ne je je je je” names no cause, but each cause predicts "
        "something that the others do not."
    )
    hints = [
        "Look at loss and output together: which models have a loss far too good for what they say?",
        "Each fault predicts something: change the future, append pads, turn the source round, look at what follows "
        "EOS, compare what is said with what was read.",
        "`helpers.suspects.examine(model, tokenizer, pairs)` makes all five experiments: near 0 for a sound model, "
        "and near 1 where the fault is.",
    ]

    def cases(rng):
        return [()]

    properties = [holds("diagnosed", lambda found: not _what_is_wrong(found), _what_is_wrong)]
