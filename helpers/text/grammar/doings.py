"""Sentences about how a day goes: moving, sleeping, working, playing; and what animals do."""

from __future__ import annotations

from random import Random

from helpers.text.grammar.actions import ambiguous, mood, tense_of
from helpers.text.grammar.clauses import Predicate, clause
from helpers.text.grammar.nouns import NOUNS, Noun, nouns
from helpers.text.grammar.phrases import (
    Phrase,
    animal,
    noun_phrase,
    somebody,
    thing,
)
from helpers.text.grammar.setting import (
    ALL_SPOTS,
    OUTSIDE,
    PLACES,
    Said,
    at_time,
)
from helpers.text.grammar.spelling import after
from helpers.text.grammar.verbs import (
    DAILY,
    GOING_OUT,
    MOVING,
    PLAY,
    PLAYED,
    VERBS,
    WITHOUT_OBJECT,
    Verb,
)

GAMES = [tuple(row.strip().split(": ")) for row in PLAYED.split(",")]


def moving(draw: Random) -> Said:
    """ "She went to the market yesterday." "We are not going to come back." """
    subject = somebody(draw)
    verb = draw.choice(MOVING if draw.random() < 0.7 else GOING_OUT)
    tense = tense_of(draw, verb)
    adverb, question, mark = mood(draw, subject, tense=tense)
    to, at, preposition, place = draw.choice(PLACES)
    english, french = "", ""
    if verb in MOVING:
        english, french = at if verb.french in ("arriver", "rester") else to, after(preposition, place)
    time = at_time(draw, tense, 0.4)
    said = clause(subject, Predicate(verb, english, french), tense, adverb, question, draw.random() < 0.3)
    return Said(said[0] + time[0], said[1] + time[1], mark)


def daily(draw: Random) -> Said:
    """ "The cat fell asleep on the mat." "She gets up every morning." "Are you working today?" """
    reflexive = draw.random() < 0.45
    subject = animal(draw) if draw.random() < 0.25 else somebody(draw)
    verb = draw.choice(DAILY if reflexive else WITHOUT_OBJECT)
    if is_animal(subject) and verb.french not in ("endormir", "réveiller", "dormir", "courir"):
        verb = next(v for v in DAILY if v.french == "endormir")
    tense = tense_of(draw, verb)
    adverb, question, mark = mood(draw, subject, tense=tense)
    time = at_time(draw, tense)
    if tense == "simple" and not adverb and verb.french != "dépêcher":
        time = at_time(draw, "habit", 0.8)
    english = french = ""
    if verb.french in ("endormir", "dormir", "jouer", "danser", "reposer", "travailler", "pleurer") and not time[0]:
        english, french = where(draw, draw.choice(_spots(subject, verb)))
    said = clause(subject, Predicate(verb, english, french), tense, adverb, question, draw.random() < 0.3)
    return Said(said[0] + time[0], said[1] + time[1], mark)


def _spots(subject: Phrase, verb: Verb) -> list[tuple[str, str, Noun]]:
    """Where this subject would do this: a cat sleeps anywhere, a cow does not sleep on a chair."""
    if is_animal(subject):
        return ALL_SPOTS if subject.english.split()[-1] in ("cat", "cats", "dog", "mouse") else OUTSIDE
    return AWAKE if verb.french in ("travailler", "danser") else RESTING


AWAKE = [spot for spot in OUTSIDE if spot[0] in ("in", "in front of", "near")]
RESTING = [
    s for s in ALL_SPOTS if (s[0] == "on" and s[2].english[0] != "table") or s[0] == "near" or s[2].kind == "room"
]


def is_animal(subject: Phrase) -> bool:
    """Whether a subject is an animal."""
    return subject.english.split()[-1] in ANIMAL_WORDS


ANIMAL_WORDS = frozenset(form for noun in nouns("animal") for form in noun.english)


def where(draw: Random, spot: tuple[str, str, Noun]) -> tuple[str, str]:
    """ "in front of the fireplace": "devant la cheminée"."""
    english, french, noun = spot
    place = noun_phrase(noun, draw.choice(("the", "the", "the", "this")) if noun.kind != "room" else "the")
    return f"{english} {place.english}", after(french, place.french)


def playing(draw: Random) -> Said:
    """ "The children were playing hide and seek." "Does he play the piano?" """
    subject = noun_phrase(NOUNS["child"], "the", True) if draw.random() < 0.15 else somebody(draw)
    game, jeu = draw.choice(GAMES)
    tense = tense_of(draw, PLAY)
    adverb, question, mark = mood(draw, subject, tense=tense)
    if tense == "simple" and not adverb and question is None and draw.random() < 0.4:
        adverb = draw.choice(("often", "sometimes", "never", "always"))
    time = at_time(draw, tense)
    said = clause(subject, Predicate(PLAY, game, jeu), tense, adverb, question, draw.random() < 0.3)
    return Said(said[0] + time[0], said[1] + time[1], mark, (("jouer", game),))


def animals(draw: Random) -> Said:
    """ "The dog is following the cat." "Her rabbit ate my carrots." """
    subject = animal(draw)
    verb = draw.choice(ANIMAL_VERBS)
    noun = draw.choice(nouns(FODDER.get(verb.french, "animal boy girl child cat")))
    tense = tense_of(draw, verb)
    if tense in ("must", "can") or ambiguous(verb, subject, tense):
        tense = "past"
    adverb, question, mark = mood(draw, subject)
    said = thing(draw, noun, bool(adverb))
    time = at_time(draw, tense, 0.2)
    english, french = clause(
        subject, Predicate(verb, said.english, said.french), tense, adverb, question, draw.random() < 0.3
    )
    return Said(english + time[0], french + time[1], mark, ((verb.french, noun.french[0]),))


ANIMAL_VERBS = [v for v in VERBS if v.english[0] in ("eat", "drink", "follow", "see", "hear")]
FODDER = {"manger": "fish bread carrot apple cake meat salad", "boire": "water milk"}
