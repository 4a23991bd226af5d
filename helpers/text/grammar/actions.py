"""Sentences about what somebody does to something: a verb, its object, pronouns and questions."""

from __future__ import annotations

from functools import cache
from random import Random

from helpers.text.grammar.adjectives import fitting
from helpers.text.grammar.clauses import Predicate, clause
from helpers.text.grammar.nouns import nouns
from helpers.text.grammar.phrases import (
    EVERYBODY,
    NAMES,
    NOBODY,
    NUMBERS,
    PRONOUNS,
    PUBLIC,
    Phrase,
    described,
    kin,
    noun_phrase,
    own,
    person,
    somebody,
    thing,
)
from helpers.text.grammar.setting import Said, at_time
from helpers.text.grammar.spelling import after
from helpers.text.grammar.verbs import BE, GIVING, TALKING, VERBS, Verb

OBJECTS = [  # English after the verb, French before it: direct, indirect; the person; gender and number
    ("me", "me", "me", PRONOUNS[0]),
    ("you", "te", "te", PRONOUNS[1]),
    ("him", "le", "lui", PRONOUNS[2]),
    ("her", "la", "lui", PRONOUNS[3]),
    ("us", "nous", "nous", PRONOUNS[4]),
    ("them", "les", "leur", PRONOUNS[5]),
]
HUMAN = frozenset(("parent", "kin", "person"))


def tense_of(draw: Random, verb: Verb) -> str:
    return draw.choices(*_weights(verb))[0]


WEIGHTS = {"simple": 6, "progressive": 6, "past": 8, "perfect": 2, "going": 5, "was": 2, "can": 2, "must": 2, "want": 2}


@cache
def _weights(verb: Verb) -> tuple[list[str], list[int]]:
    tenses = [t for t in WEIGHTS if t in verb.tenses]
    return tenses, [WEIGHTS[t] for t in tenses]


def ambiguous(verb: Verb, subject: Phrase, tense: str) -> bool:
    """ "I read it" is present or past: such a sentence is not said in the present."""
    return tense == "simple" and verb.english[0] == verb.english[1] and subject.person != 2


def other(draw: Random, subject: Phrase) -> tuple[str, str, str, Phrase]:
    """An object pronoun that is not the subject's own person."""
    mine = {0: (0, 4), 1: (1,), 3: (0, 4), 4: (5,)}.get(subject.person, ())
    return OBJECTS[draw.choice([i for i in range(6) if i not in mine])]


def mood(draw: Random, subject: Phrase, often: float = 0.2, tense: str = "") -> tuple[str, str | None, str]:
    """Negated, asked or neither: adverb, question and mark."""
    chance = draw.random()
    if chance < often:
        return "not", None, "."
    asked = chance < 1.6 * often and subject.person != 0 and tense != "must"
    return "", "" if asked else None, "?" if asked else "."


# ---- a verb and its object ----


def transitive(draw: Random) -> Said:
    """ "She is eating a red apple." "We did not see his sister yesterday." "Do you want to buy this car?" """
    verb, subject = draw.choice(VERBS), somebody(draw)
    tense = tense_of(draw, verb)
    return _said(draw, verb, subject, tense)


def _said(draw: Random, verb: Verb, subject: Phrase, tense: str) -> Said:
    noun = draw.choice(nouns(verb.objects))
    if noun.english[0] in ("dress", "skirt") and verb.english[0] in ("wear", "try") and not subject.feminine:
        subject = PRONOUNS[3]
    if ambiguous(verb, subject, tense):
        tense = "progressive" if "progressive" in verb.tenses else "past"
    chance, activity = draw.random(), "was" in verb.tenses
    adverb, question, short, habit = "", None, draw.random() < 0.3, False
    if noun.english[subject.plural] in subject.english:
        subject = PRONOUNS[3]
    if chance < 0.22:
        adverb = "not"
    elif chance < 0.34 and subject.person != 0 and tense != "must":
        question = ""
    elif chance < 0.46 and tense == "simple" and activity:
        adverb, habit = draw.choice(("never", "often", "always", "sometimes", "no longer")), noun.kind not in HUMAN
    elif tense == "perfect" and chance < 0.8:
        adverb = draw.choice(("never", "already"))
    negated = adverb in ("not", "never", "no longer")
    if negated and verb.french in WITH_THE:
        said = noun_phrase(noun, draw.choice(("the", "this")), False, described(draw, noun))
    else:
        said = thing(draw, noun, negated, habit)
    time = at_time(draw, tense) if len(verb.tenses) > 3 or tense == "past" else ("", "")
    if tense == "simple" and activity and adverb == "" and chance > 0.8 and not _definite(said):
        time = at_time(draw, "habit", 1)
    predicate = Predicate(verb, said.english, said.french)
    english, french = clause(subject, predicate, tense, adverb, question, short)
    mark = "." if question is None else "?"
    return Said(english + time[0], french + time[1], mark, ((verb.french, noun.french[0]),))


# "Je n'ai pas fini de livre" is hardly French: with these a negated object is a definite one.
WITH_THE = ("finir", "ouvrir", "fermer", "regarder", "utiliser", "comprendre", "expliquer", "suivre")


def _definite(phrase: Phrase) -> bool:
    return phrase.english.split()[0] in ("the", "this", "these", "a", "an", *NUMBERS) or "'s" in phrase.english


def with_pronoun(draw: Random) -> Said:
    """ "He has seen her." "I am not going to help them." "Does your brother know us?" """
    verb = draw.choice(_with_people())
    subject = somebody(draw)
    tense = tense_of(draw, verb)
    him, le, _, whom = other(draw, subject)
    adverb, question = "", None
    chance = draw.random()
    if chance < 0.3:
        adverb = "not"
    elif chance < 0.45 and subject.person != 0:
        question = ""
    elif chance < 0.75 and tense == "perfect":
        adverb = draw.choice(("never", "already"))
    predicate = Predicate(verb, him, "", le, whom)
    english, french = clause(subject, predicate, tense, adverb, question, draw.random() < 0.3)
    time = at_time(draw, tense)
    return Said(english + time[0], french + time[1], "." if question is None else "?")


@cache
def _with_people() -> list[Verb]:
    return [v for v in VERBS if "parent" in v.objects.split()]


def it(draw: Random) -> Said:
    """ "The apple is fresh and I am eating it.": what "it" is in French hangs on the noun."""
    verb = draw.choice(VERBS)
    noun = draw.choice(nouns(verb.objects))
    tense = draw.choice([t for t in ("progressive", "past", "going", "want") if t in verb.tenses] or ["simple"])
    views = [x for x in fitting(noun, "before", "after", "predicate") if x.english not in ("little", "new")]
    if noun.kind in HUMAN or (not noun.counted and noun.kind == "sound") or not views or _clash(verb):
        return transitive(draw)
    subject = draw.choice(PRONOUNS) if draw.random() < 0.7 else draw.choice(NAMES)
    plural = noun.counted and draw.random() < 0.3
    mine = "the" if noun.kind in PUBLIC else own(draw)
    topic = noun_phrase(noun, draw.choice(("the", "this", mine)), plural)
    view = draw.choice(views)
    first = clause(topic, Predicate(BE, view.english, view.form(noun.feminine, topic.plural)), "simple")
    if ambiguous(verb, subject, tense):
        return transitive(draw)
    le = "les" if topic.plural else "la" if noun.feminine else "le"
    adverb = "not" if tense != "past" and draw.random() < 0.2 else ""
    predicate = Predicate(verb, "them" if topic.plural else "it", "", le, topic)
    second = clause(subject, predicate, tense, adverb)
    joined = draw.choice((("and", "et"), ("and", "et"), ("but", "mais"))) if adverb else ("and", "et")
    pairs = ((verb.french, noun.french[0]),)
    return Said(f"{first[0]} {joined[0]} {second[0]}", f"{first[1]} {joined[1]} {second[1]}", ".", pairs)


def _clash(verb: Verb) -> bool:
    return verb.french in ("casser", "connaître", "entendre", "dessiner", "caresser")


def nothing(draw: Random) -> Said:
    """ "He did not see anybody." "We are not eating anything." """
    someone = draw.random() < 0.4
    verb = draw.choice(_with_people() if someone else _with_things())
    subject, tense = somebody(draw), ""
    while tense not in ("simple", "progressive", "past", "going", "can"):
        tense = tense_of(draw, verb)
    word, nul = ("anybody", "personne") if someone else ("anything", "rien")
    english, french = clause(subject, Predicate(verb, word, "", nothing=nul), tense, "not", short=draw.random() < 0.3)
    time = at_time(draw, tense, 0.2)
    return Said(english + time[0], french + time[1])


@cache
def _with_things() -> list[Verb]:
    names = "eat drink buy sell see hear understand read write break lose find take choose hide learn clean forget"
    return [v for v in VERBS if v.english[0] in names.split()]


def what(draw: Random) -> Said:
    """ "What is your sister eating?" "What did they buy yesterday?" """
    verb, subject = draw.choice(_with_things()), somebody(draw)
    tense = tense_of(draw, verb)
    if tense == "perfect" or verb.tenses == {"simple"}:
        tense = "past"
    english, french = clause(subject, Predicate(verb), tense, "", "what|que")
    time = at_time(draw, tense)
    return Said(english + time[0], french + time[1], "?")


def who(draw: Random) -> Said:
    """ "Who ate the apples?" "Nobody has seen this film." "Everybody likes cats." """
    subject = draw.choice((Phrase("who", "qui", 2, False),) * 2 + (NOBODY, EVERYBODY))
    verb = draw.choice(VERBS)
    noun = draw.choice(nouns(verb.objects))
    tense = tense_of(draw, verb)
    definite = noun_phrase(
        noun, own(draw, noun) if noun.kind in ("parent", "kin") else draw.choice(("the", "the", "this"))
    )
    english, french = clause(subject, Predicate(verb, definite.english, definite.french), tense)
    return Said(english, french, "?" if subject.english == "who" else ".", ((verb.french, noun.french[0]),))


def giving(draw: Random) -> Said:
    """ "She gives the book to her brother." "I am going to show them my house." """
    verb, subject = draw.choice(GIVING), somebody(draw)
    noun, tense = draw.choice(nouns(verb.objects)), tense_of(draw, verb)
    adverb = "not" if draw.random() < 0.2 else ""
    said = noun_phrase(noun, draw.choice(("the", "a", own(draw))) if noun.counted else "the", negated=bool(adverb))
    time = at_time(draw, tense, 0.2)
    if draw.random() < 0.5:
        him, _, lui, _ = other(draw, subject)
        predicate = Predicate(verb, f"{him} {said.english}", said.french, lui)
    else:
        whom = kin(draw) if draw.random() < 0.6 else person(draw)
        predicate = Predicate(verb, f"{said.english} to {whom.english}", f"{said.french} {after('à', whom.french)}")
    english, french = clause(subject, predicate, tense, adverb, short=draw.random() < 0.3)
    return Said(english + time[0], french + time[1], ".", ((verb.french, noun.french[0]),))


def talking(draw: Random) -> Said:
    """ "I talked to the teacher yesterday." "He is not answering her." """
    verb, subject = draw.choice(TALKING), somebody(draw)
    tense, noun = tense_of(draw, verb), draw.choice(nouns(verb.objects))
    adverb = "not" if draw.random() < 0.25 else ""
    question = "" if not adverb and subject.person != 0 and draw.random() < 0.2 else None
    if draw.random() < 0.5:
        him, _, lui, _ = other(draw, subject)
        predicate, pairs = Predicate(verb, him, "", lui), ()
    else:
        whom = noun_phrase(
            noun, "the" if noun.kind == "person" else own(draw, noun), False, described(draw, noun, 0.15)
        )
        predicate = Predicate(verb, whom.english, after("à", whom.french))
        pairs = ((verb.french, noun.french[0]),)
    english, french = clause(subject, predicate, tense, adverb, question, draw.random() < 0.3)
    time = at_time(draw, tense)
    return Said(english + time[0], french + time[1], "." if question is None else "?", pairs)
