"""Sentences about having, needing, liking and what one cannot help or did not mean."""

from __future__ import annotations

from random import Random

from helpers.text.grammar.actions import HUMAN, mood, other
from helpers.text.grammar.clauses import Predicate, clause
from helpers.text.grammar.doings import GAMES
from helpers.text.grammar.nouns import nouns
from helpers.text.grammar.phrases import (
    NUMBERS,
    PRONOUNS,
    described,
    kin,
    noun_phrase,
    own,
    person,
    somebody,
    thing,
)
from helpers.text.grammar.setting import (
    FEELINGS,
    Said,
)
from helpers.text.grammar.spelling import after
from helpers.text.grammar.verbs import (
    FEEL,
    HARMING,
    HAVE,
    LIKES,
    NEED,
    PLAY,
    PREFER,
    REFLEXIVE_PRONOUNS,
    VERBS,
    WANT,
    WITHOUT_OBJECT,
    Verb,
    ing,
    present,
)


def having(draw: Random) -> Said:
    """ "I have a red car." "Do you have a brother?" "They have three cats." """
    subject = somebody(draw)
    noun = draw.choice(OWNED)
    many = draw.random() < 0.35
    adverb, question, mark = mood(draw, subject)
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
    adverb, question, mark = mood(draw, subject)
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
    adverb, question, mark = mood(draw, subject)
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
    adverb, question, mark = mood(draw, subject)
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
    adverb, question, mark = mood(draw, subject)
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
    adverb, question, mark = mood(draw, subject)
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
