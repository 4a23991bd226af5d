"""Adjectives: their French forms, whether they stand before or after the noun, and what they can be said of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from helpers.text.grammar.nouns import Noun

PLACES = "building room garden town"
PEOPLE = "parent kin person"
# english: french (feminine where no rule gives it) | what it can be said of
BEFORE = f"""
big: grand | animal vehicle transport furniture container building room town nature
small: petit | animal vehicle transport furniture device tableware object container building room town
little: petit | brother sister boy girl child baby
tall: grand | man woman boy girl teacher student tree
young: jeune | person
old: vieux vieille | person animal clothes pair vehicle transport furniture device container building town book film
new: nouveau nouvelle | clothes pair vehicle transport furniture device container building film book teacher
good: bon bonne | food foodstuff wine coffee beer tea text film restaurant hotel teacher doctor song lesson
bad: mauvais | restaurant hotel film book teacher
beautiful: beau belle | clothes pair {PLACES} vehicle transport flower ring mirror nature animal song poem story photo
pretty: joli | clothes pair flower ring cup plate garden village house girl photo lamp
long: long longue | letter story film poem street message song
"""
AFTER = f"""
red: rouge | clothes pair vehicle transport furniture device tableware object container door
blue: bleu | clothes pair vehicle transport furniture device tableware object container door bird
green: vert | clothes pair vehicle transport furniture device tableware object container door apple
white: blanc blanche | clothes pair vehicle transport furniture tableware horse cat dog mouse rabbit house door cow
black: noir | clothes pair vehicle transport furniture device cat dog horse hen pen umbrella bag suitcase
yellow: jaune | clothes pair vehicle transport tableware flower bird umbrella pencil apple
grey: gris | clothes pair vehicle transport cat donkey mouse suitcase
expensive: cher chère | clothes pair vehicle transport furniture device hotel restaurant ring flat wine
heavy: lourd | container furniture computer book
light: léger légère | suitcase bag coat jacket chair
clean: propre | clothes pair vehicle transport tableware room table hotel window
dirty: sale | clothes pair vehicle transport tableware room carpet window
empty: vide | container bottle glass cup room house fridge
cold: froid | food foodstuff drink
hot: chaud | foodstuff coffee tea milk water omelette pancake
fresh: frais fraîche | fish bread butter egg milk water
delicious: délicieux | food foodstuff drink
modern: moderne | {PLACES} furniture device
comfortable: confortable | bed sofa armchair chair car shoe flat house
interesting: intéressant | text film museum lesson question city
boring: ennuyeux ennuyeuse | text film museum lesson match
difficult: difficile | task
easy: facile | task
important: important | letter question word lesson message
famous: célèbre | singer song museum restaurant castle doctor
dangerous: dangereux | dog mountain river street motorbike
useful: utile | device tableware book umbrella
quiet: calme | {PLACES} baby child pupil
noisy: bruyant | street restaurant child city hotel
fast: rapide | vehicle transport horse computer
slow: lent | vehicle transport computer tortoise
rich: riche | person
clever: intelligent | person dog cat horse
funny: drôle | text film person
kind: gentil gentille | person
lazy: paresseux | student pupil boy girl cat donkey
shy: timide | boy girl child student
polite: poli | boy girl child waitress baker pupil
brave: courageux | man woman boy girl nurse dog
sad: triste | story song film poem boy girl child
"""
# Only after the verb: "she is tired", never "the tired girl".
PREDICATE = f"""
tired: fatigué | {PEOPLE}
happy: heureux | {PEOPLE}
sad: triste | parent kin
ill: malade | {PEOPLE} animal
mean: méchant | kin person
kind: gentil gentille | parent kin
funny: drôle | parent kin
clever: intelligent | parent kin
shy: timide | kin
brave: courageux | parent kin
lazy: paresseux | kin
rich: riche | kin
tall: grand | parent kin
young: jeune | parent kin
ready: prêt | {PEOPLE} foodstuff
late: en retard | {PEOPLE} train bus plane
alone: seul | {PEOPLE}
busy: occupé | {PEOPLE}
worried: inquiet inquiète | {PEOPLE}
open: ouvert | opening shop museum restaurant box window suitcase
closed: fermé | opening shop museum restaurant box suitcase
broken: cassé | device tableware chair window toy
wet: mouillé | clothes pair dog cat
"""
INVARIABLE = ("en retard",)
BEFORE_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}
COMPARATIVES = {"good": "better", "bad": "worse", "big": "bigger", "sad": "sadder", "wet": "wetter"}
SHORT = [
    "small",
    "tall",
    "young",
    "old",
    "long",
    "kind",
    "rich",
    "brave",
    "clean",
    "cold",
    "hot",
    "dirty",
    "heavy",
    "easy",
    "funny",
    "lazy",
    "pretty",
    "noisy",
    "fast",
    "slow",
]


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective: its English form, its French ones (masculine, feminine; singular, plural), its place, its uses."""

    english: str
    french: tuple[tuple[str, str], tuple[str, str]]
    place: str
    uses: frozenset[str]

    def form(self, feminine: bool, plural: bool) -> str:
        """The French form that agrees."""
        return self.french[feminine][plural]


def feminine_of(masculine: str) -> str:
    """ "vert" → "verte", "rouge" → "rouge", "heureux" → "heureuse"."""
    if masculine.endswith("x"):
        return masculine[:-1] + "se"
    return masculine if masculine.endswith("e") else masculine + "e"


def plural_of(form: str) -> str:
    """ "petit" → "petits", "gris" → "gris", "beau" → "beaux"."""
    if form.endswith(("s", "x")):
        return form
    return form + ("x" if form.endswith("eau") else "s")


def _read(rows: str, place: str) -> list[Adjective]:
    adjectives = []
    for row in rows.strip().splitlines():
        words, _, uses = row.partition(" | ")
        english, _, french = words.partition(": ")
        if french in INVARIABLE:
            forms = ((french, french), (french, french))
        else:
            masculine, *feminine = french.split()
            feminine = feminine[0] if feminine else feminine_of(masculine)
            forms = ((masculine, plural_of(masculine)), (feminine, plural_of(feminine)))
        adjectives.append(Adjective(english, forms, place, frozenset(uses.split())))
    return adjectives


ADJECTIVES = _read(BEFORE, "before") + _read(AFTER, "after") + _read(PREDICATE, "predicate")


@cache
def fitting(noun: Noun, *places: str) -> tuple[Adjective, ...]:
    """The adjectives that can be said of a noun, at these places."""
    return tuple(x for x in ADJECTIVES if x.place in places and not x.uses.isdisjoint((noun.kind, noun.english[0])))
