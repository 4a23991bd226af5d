"""When, where and how: times, places, trades, feelings, and what things are full of."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from helpers.text.grammar.nouns import NOUNS, nouns


class Said(NamedTuple):
    """A sentence without capital and mark, and which verbs have which objects in it (French lemmas)."""

    english: str
    french: str
    mark: str = "."
    pairs: tuple[tuple[str, str], ...] = ()


def _table(rows: str) -> list[tuple[str, str]]:
    """ "today: aujourd'hui, now: maintenant" as pairs."""
    return [tuple(row.strip().split(": ")) for row in rows.split(",")]


TIMES = {
    "past": _table("""yesterday: hier, last night: hier soir, last week: la semaine dernière, on Monday: lundi,
        this morning: ce matin, yesterday morning: hier matin, two days ago: il y a deux jours"""),
    "going": _table("""tomorrow: demain, tonight: ce soir, next week: la semaine prochaine, on Sunday: dimanche,
        this afternoon: cet après-midi, tomorrow morning: demain matin, soon: bientôt"""),
    "progressive": _table("now: maintenant, today: aujourd'hui"),
    "habit": _table("""every day: tous les jours, every morning: tous les matins, every evening: tous les soirs,
        in the morning: le matin, in the evening: le soir, on Sundays: le dimanche"""),
}
TIMES |= {"can": TIMES["progressive"], "must": TIMES["progressive"] + TIMES["going"][:3], "want": TIMES["going"][:3]}
# to; at | French, the same for both
PLACES = [
    ("to the market", "at the market", "à", "le marché"),
    ("to the beach", "at the beach", "à", "la plage"),
    ("to the cinema", "at the cinema", "à", "le cinéma"),
    ("to the station", "at the station", "à", "la gare"),
    ("to the library", "at the library", "à", "la bibliothèque"),
    ("to the hospital", "at the hospital", "à", "le hôpital"),
    ("to the restaurant", "at the restaurant", "à", "le restaurant"),
    ("to the museum", "at the museum", "à", "le musée"),
    ("to the hotel", "at the hotel", "à", "le hôtel"),
    ("to the airport", "at the airport", "à", "le aéroport"),
    ("to the office", "at the office", "à", "le bureau"),
    ("to the park", "in the park", "à", "le parc"),
    ("to school", "at school", "à", "la école"),
    ("to church", "at church", "à", "la église"),
    ("to Paris", "in Paris", "à", "Paris"),
    ("to London", "in London", "à", "Londres"),
    ("to France", "in France", "en", "France"),
    ("to England", "in England", "en", "Angleterre"),
    ("into the garden", "in the garden", "dans", "le jardin"),
    ("into the kitchen", "in the kitchen", "dans", "la cuisine"),
    ("into the forest", "in the forest", "dans", "la forêt"),
]
# English preposition: (French one, what can stand after it)
SPOTS = {
    "on": ("sur", "table chair bed sofa armchair carpet mat desk"),
    "under": ("sous", "table chair bed sofa tree armchair desk"),
    "in": ("dans", "room garden box basket drawer wardrobe cupboard bag"),
    "in front of": ("devant", "fireplace building car window door tree mirror"),
    "behind": ("derrière", "building car door tree sofa wardrobe"),
    "near": ("près de", "river lake fireplace building window door tree bed"),
    "next to": ("à côté de", "fireplace window door tree bed sofa chair table lamp"),
}
ALL_SPOTS = [(english, french, noun) for english, (french, names) in SPOTS.items() for noun in nouns(names)]
OUTSIDE = [spot for spot in ALL_SPOTS if spot[2].kind in ("building", "nature", "vehicle", "garden")]
INSIDE = [
    spot for spot in ALL_SPOTS if spot[2].kind in ("furniture", "opening", "room") or spot[2] is NOUNS["fireplace"]
]
TRADES = _table("""student: étudiant étudiante, teacher: professeur professeur, doctor: médecin médecin,
    baker: boulanger boulangère, nurse: infirmier infirmière, singer: chanteur chanteuse, lawyer: avocat avocate,
    engineer: ingénieur ingénieure, actor: acteur actrice, farmer: fermier fermière, pilot: pilote pilote,
    journalist: journaliste journaliste, writer: écrivain écrivaine, musician: musicien musicienne""")
FEELINGS = _table("hungry: faim, thirsty: soif, cold: froid, hot: chaud, sleepy: sommeil, right: raison, afraid: peur")
WEATHER = _table("""it is cold: il fait froid, it is hot: il fait chaud, it is raining: il pleut,
    it is snowing: il neige, the weather is fine: il fait beau, the weather is bad: il fait mauvais,
    it is dark: il fait nuit""")
FULL = [
    (box, inside)
    for boxes, insides in (
        ("river lake", "fish duck"),
        ("fridge", "food fruit cheese_ meat_ egg"),
        ("basket", "apple pear flower egg cherry apricot"),
        ("box", "toy photo letter key biscuit"),
        ("bag suitcase", "book clothes_ money_ gift toy"),
        ("street city", "people car"),
        ("forest", "bird animal squirrel"),
        ("tree", "bird apple"),
        ("garden", "flower child tree"),
        ("bottle glass", "water_ wine_ milk_"),
        ("cup", "coffee_ tea_"),
        ("house restaurant museum", "people child student"),
        ("wardrobe", "dress coat shirt"),
        ("drawer", "pencil sock letter"),
    )
    for box in boxes.split()
    for inside in insides.split()
]
CROWDS = {"fish": "poissons", "fruit": "fruits", "people": "gens", "animal": "animaux", "clothes_": "vêtements"}


def at_time(draw: Random, tense: str, often: float = 0.3) -> tuple[str, str]:
    """A time that suits the tense, in both languages, with a space before; mostly none."""
    times = TIMES.get(tense)
    if not times or draw.random() > often:
        return "", ""
    english, french = draw.choice(times)
    return f" {english}", f" {french}"
