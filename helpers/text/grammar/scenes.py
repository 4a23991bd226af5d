"""Sentences about states and places: who or what somebody is, what is where, how things are."""

from __future__ import annotations

from functools import cache
from random import Random

from helpers.text.grammar.actions import mood
from helpers.text.grammar.adjectives import COMPARATIVES, SHORT, Adjective, fitting
from helpers.text.grammar.clauses import Predicate, clause
from helpers.text.grammar.doings import where
from helpers.text.grammar.nouns import NOUNS, Noun, nouns
from helpers.text.grammar.phrases import (
    COLOURS,
    KIN,
    NAMES,
    NUMBERS,
    PRONOUNS,
    PUBLIC,
    Phrase,
    animal,
    described,
    kin,
    noun_phrase,
    own,
    person,
    somebody,
)
from helpers.text.grammar.setting import (
    ALL_SPOTS,
    CROWDS,
    FULL,
    INSIDE,
    OUTSIDE,
    PLACES,
    TRADES,
    WEATHER,
    Said,
)
from helpers.text.grammar.spelling import a, after
from helpers.text.grammar.verbs import (
    BE,
    present,
)

DETERMINERS = ("the", "the", "the", "this")


def _topic(draw: Random) -> tuple[Phrase, Noun]:
    noun = draw.choice(DESCRIBED)
    determiner = (
        own(draw, noun)
        if noun.kind in ("parent", "kin")
        else draw.choice(DETERMINERS if noun.kind in PUBLIC else (*DETERMINERS, own(draw)))
    )
    many = noun.counted and noun.kind != "parent" and draw.random() < 0.3
    return noun_phrase(noun, "the" if noun.kind == "person" else determiner, many), noun


def describing(draw: Random) -> Said:
    """ "She is so mean." "The house was empty." "Your shoes are not clean." """
    if draw.random() < 0.35:
        subject = draw.choice(PRONOUNS + NAMES)
        view = draw.choice(HUMAN_VIEWS)
    else:
        subject, noun = _topic(draw)
        view = draw.choice(_views(noun))
    adverb, question, mark = mood(draw, subject)
    degree = ("", "")
    if question is None and not adverb and view.english not in (*ABSOLUTE, *COLOURS) and draw.random() < 0.4:
        degree = draw.choice((("so ", "si "), ("very ", "très "), ("too ", "trop ")))
    tense = "was" if draw.random() < 0.25 else "simple"
    form = view.form(subject.feminine, subject.plural)
    predicate = Predicate(BE, degree[0] + view.english, degree[1] + form)
    english, french = clause(subject, predicate, tense, adverb, question, draw.random() < 0.3)
    return Said(english, french, mark)


ABSOLUTE = ("empty", "open", "closed", "broken", "ready", "alone", "delicious", "worried", "late", "fresh")


@cache
def _views(noun: Noun) -> list[Adjective]:
    return [view for view in fitting(noun, "before", "after", "predicate") if view.english not in ("little", "new")]


DESCRIBED = [noun for noun in NOUNS.values() if _views(noun)]
HUMAN_VIEWS = fitting(NOUNS["sister"], "after", "predicate")


def comparing(draw: Random) -> Said:
    """ "My house is bigger than your flat." "Paul is taller than his brother." """
    subject, noun = _topic(draw)
    other_noun = draw.choice([n for n in DESCRIBED if n.kind == noun.kind])
    views = [
        v
        for v in _views(noun)
        if v in _views(other_noun) and v.english not in (*ABSOLUTE, *COLOURS, "bad", "ill", "open")
    ]
    if not views or noun.kind == "parent":
        return describing(draw)
    view = draw.choice(views)
    whose = ("this", "the") if noun.kind in (*PUBLIC, "person") else ("my", "your", "his", "her")
    than = noun_phrase(other_noun, draw.choice(whose), subject.plural)
    form = view.form(subject.feminine, subject.plural)
    if draw.random() < 0.4:
        english, french = f"as {view.english} as {than.english}", f"aussi {form} que {than.french}"
    else:
        more = BETTER[subject.feminine][subject.plural] if view.english == "good" else f"plus {form}"
        english, french = f"{comparative(view.english)} than {than.english}", f"{more} que {than.french}"
    said = clause(subject, Predicate(BE, english, french), "simple", draw.choice(("", "", "", "not")))
    return Said(*said) if than.english.split()[-1] != subject.english.split()[-1] else describing(draw)


BETTER = (("meilleur", "meilleurs"), ("meilleure", "meilleures"))


def comparative(adjective: str) -> str:
    """ "taller", "easier", "better", "more expensive"."""
    if adjective in COMPARATIVES:
        return COMPARATIVES[adjective]
    if adjective not in SHORT:
        return f"more {adjective}"
    return adjective[:-1] + "ier" if adjective[-1] == "y" else adjective.removesuffix("e") + "er"


def full_of(draw: Random) -> Said:
    """ "This river is full of fish.": "cette rivière est pleine de poissons"."""
    box, inside = draw.choice(FULL)
    topic = noun_phrase(
        NOUNS[box], draw.choice(DETERMINERS if NOUNS[box].kind in PUBLIC else (*DETERMINERS, own(draw)))
    )
    if inside in CROWDS:
        english, french = inside.rstrip("_"), CROWDS[inside]
    else:
        noun = NOUNS[inside.rstrip("_")]
        many = noun.counted
        english, french = noun.english[many], noun.french[many]
    full = "pleine" if topic.feminine else "plein"
    adverb, question, mark = mood(draw, topic, 0.12)
    tense = "was" if draw.random() < 0.3 else "simple"
    said = clause(topic, Predicate(BE, f"full of {english}", f"{full} de {french}"), tense, adverb, question)
    return Said(*said, mark)


def trade(draw: Random) -> Said:
    """ "I am a student.": French has no article here."""
    subject = draw.choice(PRONOUNS[:4] + NAMES) if draw.random() < 0.6 else kin(draw, 0)
    if subject.english.split()[-1] == "friend":
        subject = PRONOUNS[0]
    english, french = draw.choice(
        TRADES if subject in (*PRONOUNS, *NAMES) else TRADES[1:]
    )  # no grandfather is a student
    adverb, question, mark = mood(draw, subject)
    predicate = Predicate(BE, a(english), french.split()[subject.feminine])
    return Said(*clause(subject, predicate, "was" if draw.random() < 0.2 else "simple", adverb, question), mark)


def being_where(draw: Random) -> Said:
    """ "My keys are on the table." "Where is the cat?" "They were at the beach." """
    small = draw.random() < 0.5
    if small:
        noun = draw.choice(SMALL_THINGS)
        subject = noun_phrase(
            noun, draw.choice(("the", own(draw))), noun.counted and draw.random() < 0.25, described(draw, noun, 0.2)
        )
        spot = draw.choice([s for s in INSIDE if s[0] in ("on", "under", "in") and s[2] is not noun])
        english, french = where(draw, spot)
    elif draw.random() < 0.5:
        subject = somebody(draw)
        _, english, preposition, place = draw.choice(PLACES)
        french = after(preposition, place)
    else:
        subject = animal(draw) if draw.random() < 0.5 else person(draw)
        english, french = where(
            draw, draw.choice(ALL_SPOTS if subject.english.split()[-1] in ("cat", "cats") else OUTSIDE)
        )
    if draw.random() < 0.2:
        be = "are" if subject.person in (1, 3, 4) else "am" if subject.person == 0 else "is"
        if subject.person in (2, 4) and subject not in PRONOUNS and subject.english != "everybody":
            return Said(f"where {be} {subject.english}", f"où {present('être')[subject.person]} {subject.french}", "?")
    adverb, question, mark = mood(draw, subject)
    tense = "was" if draw.random() < 0.25 else "simple"
    said = clause(subject, Predicate(BE, english, french), tense, adverb, question, draw.random() < 0.3)
    return Said(*said, mark)


SMALL_THINGS = nouns("clothes pair book letter newspaper magazine tableware object phone watch photo bag")


def there_is(draw: Random) -> Said:
    """ "There is a cat under the table." "There are no glasses in the cupboard." """
    spot = draw.choice([s for s in ALL_SPOTS if s[0] in ("on", "under", "in", "behind", "in front of", "near")])
    small = spot[2].kind in ("container", "furniture")
    noun = draw.choice(
        SMALL_THINGS
        if small
        else nouns("person furniture" if spot[2].kind == "room" else "animal person vehicle transport")
    )
    adjectives = described(draw, noun, 0.35)
    adverb = draw.random() < 0.2
    many = draw.random() < 0.35
    number = draw.choice((*NUMBERS, "some")) if many else "a"
    if adverb:
        number = "some" if many else "a"
    said = noun_phrase(noun, number, many, adjectives, adverb)
    english, french = where(draw, spot)
    is_, a_ = ("are" if said.plural else "is"), "il ne y a pas" if adverb else "il y a"
    if not adverb and draw.random() < 0.15:
        return Said(f"{is_} there {said.english} {english}", f"est-ce que il y a {said.french} {french}", "?")
    return Said(f"there {is_}{' not' if adverb else ''} {said.english} {english}", f"{a_} {said.french} {french}")


def this_is(draw: Random) -> Said:
    """ "This is my car." "These are not her shoes." """
    noun = draw.choice((*SMALL_THINGS, *KIN, *nouns("vehicle animal house flat school furniture")))
    many = noun.kind != "parent" and draw.random() < 0.3
    adjectives = described(draw, noun)
    mine = noun.kind in ("kin", "parent", "pair") or many or draw.random() < 0.5
    said = noun_phrase(noun, own(draw, noun) if mine else "a", many, adjectives)
    negated, many = draw.random() < 0.25, said.plural
    these = "these are" if many else "this is"
    cest = ("ce ne sont pas" if many else "ce ne est pas") if negated else "ce sont" if many else "ce est"
    return Said(f"{these}{' not' if negated else ''} {said.english}", f"{cest} {said.french}")


def weather(draw: Random) -> Said:
    """ "It is raining today." "Il pleut aujourd'hui." """
    english, french = draw.choice(WEATHER)
    place = draw.choice(
        [p for p in PLACES if p[3] in ("Paris", "Londres", "France", "Angleterre", "la plage", "la forêt")]
    )
    extra = draw.choice(
        (("", ""), (" today", " aujourd'hui"), (" now", " maintenant"), (f" {place[1]}", f" {after(*place[2:])}"))
    )
    return Said(english + extra[0], french + extra[1])
