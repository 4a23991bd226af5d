"""Sentences about states, places, likings and wishes: what is where, who is what, what somebody loves doing."""

from __future__ import annotations

from functools import cache
from random import Random

from helpers.text.grammar.actions import HUMAN, ambiguous, other, tense_of
from helpers.text.grammar.adjectives import COMPARATIVES, SHORT, Adjective, fitting
from helpers.text.grammar.clauses import Predicate, clause
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
    thing,
)
from helpers.text.grammar.setting import (
    ALL_SPOTS,
    CROWDS,
    FEELINGS,
    FULL,
    INSIDE,
    OUTSIDE,
    PLACES,
    TRADES,
    WEATHER,
    Said,
    at_time,
)
from helpers.text.grammar.spelling import a, after
from helpers.text.grammar.verbs import (
    BE,
    DAILY,
    FEEL,
    GOING_OUT,
    HARMING,
    HAVE,
    LIKES,
    MOVING,
    NEED,
    PLAY,
    PLAYED,
    PREFER,
    REFLEXIVE_PRONOUNS,
    VERBS,
    WANT,
    WITHOUT_OBJECT,
    Verb,
    ing,
    present,
)

GAMES = [tuple(row.strip().split(": ")) for row in PLAYED.split(",")]
DETERMINERS = ("the", "the", "the", "this")


def _mood(draw: Random, subject: Phrase, often: float = 0.2, tense: str = "") -> tuple[str, str | None, str]:
    """Negated, asked or neither: adverb, question and mark."""
    chance = draw.random()
    if chance < often:
        return "not", None, "."
    asked = chance < 1.6 * often and subject.person != 0 and tense != "must"
    return "", "" if asked else None, "?" if asked else "."


# ---- moving, sleeping, playing ----


def moving(draw: Random) -> Said:
    """ "She went to the market yesterday." "We are not going to come back." """
    subject = somebody(draw)
    verb = draw.choice(MOVING if draw.random() < 0.7 else GOING_OUT)
    tense = tense_of(draw, verb)
    adverb, question, mark = _mood(draw, subject, tense=tense)
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
    adverb, question, mark = _mood(draw, subject, tense=tense)
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
    adverb, question, mark = _mood(draw, subject, tense=tense)
    if tense == "simple" and not adverb and question is None and draw.random() < 0.4:
        adverb = draw.choice(("often", "sometimes", "never", "always"))
    time = at_time(draw, tense)
    said = clause(subject, Predicate(PLAY, game, jeu), tense, adverb, question, draw.random() < 0.3)
    return Said(said[0] + time[0], said[1] + time[1], mark, (("jouer", game),))


# ---- being ----


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
    adverb, question, mark = _mood(draw, subject)
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
        better = noun and view.english == "good"
        more = view.form(subject.feminine, subject.plural).replace("bon", "meilleur").replace("meilleurne", "meilleure")
        english = f"{comparative(view.english)} than {than.english}"
        french = f"{more if better else 'plus ' + form} que {than.french}"
    said = clause(subject, Predicate(BE, english, french), "simple", draw.choice(("", "", "", "not")))
    return Said(*said) if than.english.split()[-1] != subject.english.split()[-1] else describing(draw)


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
    adverb, question, mark = _mood(draw, topic, 0.12)
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
    adverb, question, mark = _mood(draw, subject)
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
    adverb, question, mark = _mood(draw, subject)
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


# ---- having, needing, liking ----


def having(draw: Random) -> Said:
    """ "I have a red car." "Do you have a brother?" "They have three cats." """
    subject = somebody(draw)
    noun = draw.choice(OWNED)
    many = draw.random() < 0.35
    adverb, question, mark = _mood(draw, subject)
    number = draw.choice((*NUMBERS, "some")) if many and not adverb else "some" if many else "a"
    if question is not None and many:
        number = draw.choice(("two", "some", "three"))
    said = noun_phrase(noun, number, many, described(draw, noun, 0.45), bool(adverb))
    if question is not None and draw.random() < 0.35:
        de = noun_phrase(noun, "bare", True, negated=True)
        english, french = clause(subject, Predicate(HAVE), "simple", "", f"how many {de.english}|combien {de.french}")
        return Said(english, french, "?")
    english, french = clause(
        subject, Predicate(HAVE, said.english, said.french), "simple", adverb, question, draw.random() < 0.3
    )
    return Said(english, french, mark)


OWNED = nouns("animal kin clothes pair vehicle furniture device object book bag suitcase house flat garden question")


def age(draw: Random) -> Said:
    """ "My sister is ten years old.": French has years."""
    if draw.random() < 0.3:
        subject = draw.choice(PRONOUNS)
    else:
        subject = noun_phrase(draw.choice(YOUNG), own(draw), draw.random() < 0.2)
    number = draw.choice(("three", "four", "five", "six", "ten"))
    years = f"{number} years old", f"{NUMBERS[number]} ans"
    tense = "simple" if draw.random() < 0.7 else "going"
    return Said(*clause(subject, Predicate(FEEL, *years), tense, draw.choice(("", "", "not"))))


YOUNG = nouns("brother sister cousin son daughter dog cat horse bike car house")


def feeling(draw: Random) -> Said:
    """ "Are you hungry?" "She is afraid of dogs." """
    subject = somebody(draw)
    english, french = draw.choice(FEELINGS)
    adverb, question, mark = _mood(draw, subject)
    if english == "afraid":
        noun = draw.choice(nouns("animal"))
        what = noun_phrase(noun, draw.choice(("kind", "the", "your")), draw.random() < 0.6)
        if what.english == noun.english[0]:
            what = noun_phrase(noun, "kind", True)
        english, french = f"afraid of {what.english}", f"{french} {after('de', what.french)}"
    said = clause(subject, Predicate(FEEL, english, french), "simple", adverb, question, draw.random() < 0.3)
    return Said(*said, mark)


def needing(draw: Random) -> Said:
    """ "He needs a new coat.": "il a besoin d'un nouveau manteau"."""
    subject, noun = somebody(draw), draw.choice(NEEDED)
    adverb, question, mark = _mood(draw, subject)
    adjectives = described(draw, noun)
    if noun.counted and noun.kind != "pair":
        said = noun_phrase(noun, draw.choice(("a", "this", own(draw))), False, adjectives)
        french = f"besoin {after('de', said.french)}"
    else:
        said = noun_phrase(noun, "bare", False, adjectives, True)
        french = f"besoin {said.french}"
    pairs = (("avoir besoin", noun.french[0]),)
    return Said(
        *clause(subject, Predicate(NEED, said.english, french), "simple", adverb, question, draw.random() < 0.3),
        mark,
        pairs,
    )


NEEDED = nouns(
    "clothes pair device object tableware foodstuff water milk coffee money book bag suitcase car bike chair table"
)


def liking(draw: Random) -> Said:
    """ "My brother likes pizza.": "mon frère aime la pizza"."""
    subject, noun = somebody(draw), draw.choice(LIKED)
    verb = draw.choice((*LIKES, LIKES[0], PREFER))
    adverb, question, mark = _mood(draw, subject)
    chance = draw.random()
    if chance < 0.6:
        said = noun_phrase(noun, "kind", noun.english[0] not in ("pizza", "salad"))
    else:
        determiner = "this" if chance < 0.8 else "the" if chance < 0.9 else own(draw)
        said = noun_phrase(noun, determiner, draw.random() < 0.3, described(draw, noun))
    pairs = ((verb.french, noun.french[0]),)
    predicate = Predicate(verb, said.english, said.french)
    return Said(*clause(subject, predicate, "simple", adverb, question, draw.random() < 0.3), mark, pairs)


LIKED = nouns("food foodstuff drink animal clothes pair text film song music flower city forest")


def wishing(draw: Random) -> Said:
    """ "I want some water." "Do you want a coffee?" """
    subject, noun = (
        somebody(draw),
        draw.choice(nouns("food foodstuff drink clothes pair object bike car cat dog horse phone watch")),
    )
    adverb, question, mark = _mood(draw, subject)
    said = thing(draw, noun, bool(adverb))
    predicate = Predicate(WANT, said.english, said.french)
    pairs = (("vouloir", noun.french[0]),)
    return Said(*clause(subject, predicate, "simple", adverb, question, draw.random() < 0.3), mark, pairs)


# ---- a verb that takes another ----


def _doing(draw: Random, verbs: list[Verb], alone: list[Verb]) -> tuple[Verb, str, str, tuple]:
    """An activity as such: "playing video games", "reading books", "dancing"."""
    chance = draw.random()
    if chance < 0.2:
        game, jeu = draw.choice(GAMES)
        return PLAY, game, jeu, (("jouer", game),)
    if chance < 0.5:
        return draw.choice(alone), "", "", ()
    verb = draw.choice(verbs)
    noun = draw.choice([n for n in nouns(verb.objects) if n.kind not in (*HUMAN, "stuff", "animal")])
    said = noun_phrase(noun, "bare", True)
    return verb, said.english, said.french, ((verb.french, noun.french[0]),)


PLEASANT = [
    v
    for v in VERBS
    if v.english[0] in ["eat", "drink", "read", "write", "watch", "wear", "buy", "draw", "repair", "visit", "drive"]
]
TEMPTING = [v for v in PLEASANT if v.english[0] in ["eat", "drink", "read", "buy", "watch"]]
IRRESISTIBLE = [v for v in WITHOUT_OBJECT if v.english[0] in ["laugh", "cry", "smile", "sing", "dance"]]


def loving(draw: Random) -> Said:
    """ "I love playing video games.": "j'adore jouer aux jeux vidéo"."""
    subject, like = somebody(draw), draw.choice(LIKES)
    verb, english, french, pairs = _doing(draw, PLEASANT, WITHOUT_OBJECT)
    adverb, question, mark = _mood(draw, subject)
    predicate = Predicate(like, _words(ing(verb.english[0]) + verb.particle, english), _words(verb.french, french))
    return Said(*clause(subject, predicate, "simple", adverb, question, draw.random() < 0.3), mark, pairs)


def cannot_help(draw: Random) -> Said:
    """ "I can't help eating chocolate.": "je ne peux pas m'empêcher de manger du chocolat"."""
    subject = draw.choice(PRONOUNS) if draw.random() < 0.6 else somebody(draw)
    verb, english, french, pairs = _doing(draw, TEMPTING, IRRESISTIBLE)
    cannot = "can't" if draw.random() < 0.6 else "cannot"
    what = _words(ing(verb.english[0]) + verb.particle, english)
    dont = "" if subject.negative else "pas "
    se = f"{REFLEXIVE_PRONOUNS[subject.person]} empêcher de"
    puis = f"ne {present('pouvoir')[subject.person]} {dont}{se}"
    return Said(
        f"{subject.english} {cannot} help {what}", f"{subject.french} {puis} {_words(verb.french, french)}", ".", pairs
    )


def did_not_mean(draw: Random) -> Said:
    """ "I did not mean to hurt you.": "je ne voulais pas te blesser"."""
    subject = somebody(draw)
    verb = draw.choice(HARMING)
    if draw.random() < 0.75:
        him, le, _, whom = other(draw, subject)
        predicate = Predicate(verb, him, "", le, whom)
    else:
        whom = kin(draw) if draw.random() < 0.5 else person(draw)
        predicate = Predicate(verb, whom.english, whom.french)
    return Said(*clause(subject, predicate, "meant", "not", short=draw.random() < 0.4))


def _words(*parts: str) -> str:
    return " ".join(filter(None, parts))


# ---- animals ----


def animals(draw: Random) -> Said:
    """ "The dog is following the cat." "Her rabbit ate my carrots." """
    subject = animal(draw)
    verb = draw.choice(ANIMAL_VERBS)
    noun = draw.choice(nouns(FODDER.get(verb.french, "animal boy girl child cat")))
    tense = tense_of(draw, verb)
    if tense in ("must", "can") or ambiguous(verb, subject, tense):
        tense = "past"
    adverb, question, mark = _mood(draw, subject)
    said = thing(draw, noun, bool(adverb))
    time = at_time(draw, tense, 0.2)
    english, french = clause(
        subject, Predicate(verb, said.english, said.french), tense, adverb, question, draw.random() < 0.3
    )
    return Said(english + time[0], french + time[1], mark, ((verb.french, noun.french[0]),))


ANIMAL_VERBS = [v for v in VERBS if v.english[0] in ("eat", "drink", "follow", "see", "hear")]
FODDER = {"manger": "fish bread carrot apple cake meat salad", "boire": "water milk"}
