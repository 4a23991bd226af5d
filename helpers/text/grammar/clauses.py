"""A clause: subject, verb and what follows, in a tense, negated or asked, in both languages at once."""

from __future__ import annotations

from typing import NamedTuple

from helpers.text.grammar.phrases import Phrase
from helpers.text.grammar.verbs import ETRE, REFLEXIVE_PRONOUNS, WANT, Verb, imperfect, ing, participle, present, third

MODALS = {"can": "pouvoir", "must": "devoir", "want": "vouloir"}
# English adverb: (French one, whether the verb takes "ne")
ADVERBS = {
    "": ("", False),
    "not": ("pas", True),
    "never": ("jamais", True),
    "no longer": ("plus", True),
    "already": ("déjà", False),
    "often": ("souvent", False),
    "always": ("toujours", False),
    "sometimes": ("parfois", False),
}


class Predicate(NamedTuple):
    """A verb and what it takes: `english` and `french` follow it, `pronoun` comes before it in French."""

    verb: Verb
    english: str = ""
    french: str = ""
    pronoun: str = ""
    agrees: Phrase | None = None  # what a direct pronoun stands for: "les pommes, je les ai mangées"
    nothing: str = ""  # "rien" or "personne": takes the place of "pas"
    pairs: tuple[tuple[str, str], ...] = ()  # the French verb and its object noun: what a split can hold out


def clause(
    subject: Phrase,
    predicate: Predicate,
    tense: str,
    adverb: str = "",
    question: str | None = None,
    short: bool = False,
) -> tuple[str, str]:
    """A clause in both languages, without capital or mark.

    `tense`: a name in `verbs.KINDS`. `adverb`: a key of ADVERBS. `question`: None, "" (yes or no) or a question word
    as "where|où". `short`: "don't" for "do not".
    """
    english = _english(subject, predicate, tense, adverb, question is not None, short)
    french = _french(subject, predicate, tense, adverb)
    if question is None:
        return english, french
    asked, _, demande = question.partition("|")
    return f"{asked} {english}".lstrip(), f"{demande} est-ce que {french}".lstrip().replace("que est-ce", "qu'est-ce")


def helper(subject: Phrase, tense: str, verb: Verb, supported: bool) -> tuple[str, str]:
    """English auxiliary ("" where there is none) and main verb: ("is", "eating"), ("did", "eat"), ("", "eats")."""
    base, past, third_form = verb.english
    am = ("am", "are", "is", "are", "are")[subject.person]
    was = ("was", "were", "was", "were", "were")[subject.person]
    if base == "be" and tense in ("simple", "was"):
        return (am if tense == "simple" else was), ""
    if tense == "want":
        auxiliary, main = helper(subject, "simple", WANT, supported)
        return auxiliary, f"{main} to {base}"
    if tense == "meant":
        return "did", f"mean to {base}"
    if tense in ("simple", "past"):
        if supported:
            does = "does" if subject.person == 2 else "do"
            return ("did" if tense == "past" else does), base
        return "", past if tense == "past" else third(base) if subject.person == 2 else base
    has = "has" if subject.person == 2 else "have"
    return {
        "progressive": (am, ing(base)),
        "was": (was, ing(base)),
        "perfect": (has, third_form),
        "going": (am, f"going to {base}"),
        "can": ("can", base),
        "must": ("must", base),
    }[tense]


def _english(subject: Phrase, predicate: Predicate, tense: str, adverb: str, asked: bool, short: bool) -> str:
    auxiliary, main = helper(subject, tense, predicate.verb, asked or adverb == "not")
    if adverb == "not" and short and auxiliary != "am":
        auxiliary, adverb = {"can": "can't"}.get(auxiliary, f"{auxiliary}n't"), ""
    if adverb == "not" and auxiliary == "can":
        auxiliary, adverb = "cannot", ""
    first = (auxiliary, subject.english) if asked else (subject.english, auxiliary)
    tail = predicate.verb.particle + (predicate.english and f" {predicate.english}")
    return " ".join(filter(None, (*first, adverb, main))) + tail


def _french(subject: Phrase, predicate: Predicate, tense: str, adverb: str) -> str:
    verb, (negation, ne) = predicate.verb, ADVERBS[adverb]
    pronoun = REFLEXIVE_PRONOUNS[subject.person] if verb.reflexive else predicate.pronoun
    finite, rest = _forms(subject, predicate, tense)
    nothing = predicate.nothing
    late = nothing == "personne" and rest  # je n'ai vu personne, but: je n'ai rien vu
    middle = negation if not nothing else "" if late else nothing
    infinitive = bool(rest) and tense not in ("past", "perfect")
    words = (
        subject.french,
        "ne" if ne or nothing or subject.negative else "",
        "" if infinitive else pronoun,
        finite,
        middle,
        pronoun if infinitive else "",
        rest,
        nothing if late else "",
        predicate.french,
    )
    return " ".join(filter(None, words))


def _forms(subject: Phrase, predicate: Predicate, tense: str) -> tuple[str, str]:
    """The French finite verb, and the participle or infinitive that follows it ("" if none does)."""
    verb, person = predicate.verb, subject.person
    if tense in ("simple", "progressive"):
        return present(verb.french)[person], ""
    if tense == "was":
        return imperfect(verb.french)[person], ""
    if tense == "going":
        return present("aller")[person], verb.french
    if tense == "meant":
        return imperfect("vouloir")[person], verb.french
    if tense in MODALS:
        return present(MODALS[tense])[person], verb.french
    if verb.reflexive or verb.french in ETRE:
        return present("être")[person], participle(verb.french, subject.feminine, subject.plural)
    said = predicate.agrees
    agreement = (said.feminine, said.plural) if said else (False, False)
    return present("avoir")[person], participle(verb.french, *agreement)
