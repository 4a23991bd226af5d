"""Noun phrases: determiner, adjectives and noun, all agreeing; and the subjects and pronouns that stand for them."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from helpers.text.grammar.adjectives import BEFORE_VOWEL, Adjective, fitting
from helpers.text.grammar.nouns import Noun, nouns
from helpers.text.grammar.spelling import a, after, starts_with_vowel


class Phrase(NamedTuple):
    """What can be a subject: its words in both languages, its person (0 to 4, as in `verbs`) and its gender."""

    english: str
    french: str
    person: int
    feminine: bool
    negative: bool = False  # "nobody": the verb takes "ne"

    @property
    def plural(self) -> bool:
        """Whether verbs and adjectives take the plural."""
        return self.person >= 3


# English: French (masculine, feminine, plural)
POSSESSIVES = {
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
NUMBERS = {"two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six", "ten": "dix"}
# "I" and "you" speak of a man, "they" of men or of both: so one English sentence has one French one.
PRONOUNS = [
    Phrase("I", "je", 0, False),
    Phrase("you", "tu", 1, False),
    Phrase("he", "il", 2, False),
    Phrase("she", "elle", 2, True),
    Phrase("we", "nous", 3, False),
    Phrase("they", "ils", 4, False),
]
NAMES = [Phrase(n, n, 2, n in ("Marie", "Anne", "Sophie")) for n in ("Paul", "Thomas", "Marie", "Anne", "Sophie")]
EVERYBODY = Phrase("everybody", "tout le monde", 2, False)
NOBODY = Phrase("nobody", "personne", 2, False, negative=True)
OWNERS = [*NAMES, *(noun for noun in nouns("brother sister mother father teacher neighbour uncle"))]


def noun_phrase(
    noun: Noun, determiner: str, plural: bool = False, adjectives: tuple[Adjective, ...] = (), negated: bool = False
) -> Phrase:
    """A determiner, adjectives and a noun.

    Determiners: "the", "a", "some", "this", a possessive, a number, or none in English: "bare" means some
    ("he eats apples": "des pommes"), "kind" all of a kind ("he likes apples": "les pommes").
    `negated`: in a negated clause "a", "some" and "bare" become "de".
    """
    if noun.kind == "pair":
        plural, determiner = True, "some" if determiner == "a" else determiner
    number = plural and noun.counted
    before = [x for x in adjectives if x.place == "before"]
    behind = [x for x in adjectives if x.place != "before"]
    french = " ".join([noun.french[number], *(x.form(noun.feminine, number) for x in behind)])
    for adjective in before:
        form = adjective.form(noun.feminine, number)
        if not number and not noun.feminine and starts_with_vowel(french):
            form = BEFORE_VOWEL.get(form, form)
        french = f"{form} {french}"
    if negated and determiner in ("a", "some", "bare"):
        french = f"de {french}"
    elif determiner in ("some", "bare") and noun.counted:
        french = f"{'de' if before else 'des'} {french}"
    elif determiner in ("some", "bare"):
        french = after("de", f"{'la' if noun.feminine else 'le'} {french}")
    else:
        french = f"{_article(determiner, noun.feminine, number, french)} {french}"
    words = " ".join([*(x.english for x in adjectives), noun.english[number]])
    return Phrase(_english(determiner, words, number, negated), french, 4 if number else 2, noun.feminine)


def _english(determiner: str, words: str, plural: bool, negated: bool) -> str:
    if determiner in ("bare", "kind"):
        return words
    if determiner == "a":
        return a(words)
    changed = {("this", True): "these", ("some", True): "any"}
    return f"{changed.get((determiner, negated if determiner == 'some' else plural), determiner)} {words}"


def _article(determiner: str, feminine: bool, plural: bool, french: str) -> str:
    if determiner in POSSESSIVES:
        his, her, their = POSSESSIVES[determiner]
        masculine = not feminine or starts_with_vowel(french)  # mon amie
        return their if plural else his if masculine else her
    if determiner in NUMBERS:
        return NUMBERS[determiner]
    if determiner == "a":
        return "une" if feminine else "un"
    if determiner == "this":
        return "ces" if plural else "cette" if feminine else "cet" if starts_with_vowel(french) else "ce"
    return "les" if plural else "la" if feminine else "le"


def of_somebody(thing: Noun, owner: Phrase, plural: bool) -> Phrase:
    """ "my brother's keys": "les clés de mon frère"."""
    own = noun_phrase(thing, "the", plural)
    english = f"{owner.english}'s {thing.english[own.plural]}"
    return Phrase(english, f"{own.french} {after('de', owner.french)}", own.person, own.feminine)


# ---- phrases drawn at random ----


def described(draw: Random, noun: Noun, often: float = 0.3) -> tuple[Adjective, ...]:
    """No adjective, one, or, now and then, one before the noun and one behind it."""
    if draw.random() > often:
        return ()
    before, behind = fitting(noun, "before"), fitting(noun, "after")
    colours = [x for x in behind if x.english in COLOURS]
    if before and colours and draw.random() < 0.15:
        return draw.choice(before), draw.choice(colours)
    every = before + behind
    return (draw.choice(every),) if every else ()


def own(draw: Random, noun: Noun | None = None) -> str:
    """A possessive; a husband or wife has one owner."""
    if noun is not None and noun.english[0] in ("husband", "wife"):
        return draw.choice(("my", "your"))
    return draw.choice(("my", "your", "his", "her", "our", "their"))


def kin(draw: Random, plural: float = 0.15) -> Phrase:
    """ "my brother", "her aunts"."""
    noun = draw.choice(KIN)
    many = noun.kind == "kin" and draw.random() < plural
    return noun_phrase(noun, own(draw, noun), many, described(draw, noun, 0.1))


def person(draw: Random, plural: float = 0.25) -> Phrase:
    """ "the young woman", "these children"."""
    noun = draw.choice(PEOPLE)
    return noun_phrase(noun, draw.choice(("the", "the", "this")), draw.random() < plural, described(draw, noun, 0.2))


def animal(draw: Random) -> Phrase:
    """ "the black cat", "my dogs"."""
    noun = draw.choice(ANIMALS)
    determiner = draw.choice(("the", "the", "this", "my", "her"))
    return noun_phrase(noun, determiner, draw.random() < 0.2, described(draw, noun, 0.25))


def somebody(draw: Random) -> Phrase:
    """A subject that speaks and acts: a pronoun, a name, kin or a person."""
    chance = draw.random()
    if chance < 0.55:
        return draw.choice(PRONOUNS)
    if chance < 0.65:
        return draw.choice(NAMES)
    if chance < 0.8:
        return kin(draw)
    return person(draw)


def owner(draw: Random) -> Phrase:
    """Who something belongs to: "Paul", "my sister", "the teacher"."""
    who = draw.choice(OWNERS)
    if isinstance(who, Phrase):
        return who
    return noun_phrase(who, "the" if who.kind == "person" else own(draw))


def thing(draw: Random, noun: Noun, negated: bool = False, habit: bool = False) -> Phrase:
    """An object: its determiner suits the noun, and the negation ("pas de pain")."""
    if noun.kind in ("parent", "kin"):
        return noun_phrase(noun, own(draw, noun))
    adjectives = described(draw, noun)
    if habit:  # "she never wears hats"
        return noun_phrase(noun, "bare", True, adjectives, negated)
    if noun.kind == "person":
        return noun_phrase(noun, draw.choice(("the", "the", "this")), draw.random() < 0.2, adjectives)
    if noun.kind == "opening" or noun.english[0] in ("music", "fridge"):
        return noun_phrase(noun, draw.choice(("the", "this")), draw.random() < 0.2, adjectives)
    chance = draw.random()
    if chance < 0.07 and noun.kind not in ("nature", "task", *PUBLIC):
        return of_somebody(noun, owner(draw), noun.counted and draw.random() < 0.3)
    if chance < 0.35:
        determiner = "a" if noun.counted else draw.choice(("some", "bare"))
        return noun_phrase(noun, determiner, False, adjectives, negated)
    if chance < 0.65:
        return noun_phrase(noun, "the", draw.random() < 0.3, adjectives)
    if chance < 0.75 and noun.kind not in PUBLIC:
        return noun_phrase(noun, own(draw), draw.random() < 0.2, adjectives)
    if chance < 0.84 or not noun.counted:
        return noun_phrase(noun, "this", draw.random() < 0.25, adjectives)
    if chance < 0.92 or negated:
        return noun_phrase(noun, "some", True, adjectives, negated)
    return noun_phrase(noun, draw.choice(list(NUMBERS)), True, adjectives)


PUBLIC = ("building", "town", "nature", "show", "task", "sound", "opening", "transport")
COLOURS = ("red", "blue", "green", "white", "black", "yellow", "grey")
KIN, ANIMALS = nouns("parent kin"), nouns("animal")
PEOPLE = tuple(noun for noun in nouns("person") if noun.english[0] != "baby")
