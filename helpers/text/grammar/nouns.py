"""Nouns by what can be done with them: "apple: une pomme" says the gender, too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

COUNTED = {
    "food": """apple: une pomme, orange: une orange, pear: une poire, banana: une banane, tomato: une tomate,
        egg: un œuf, cake: un gâteau, sandwich: un sandwich, pizza: une pizza, salad: une salade, carrot: une carotte,
        strawberry: une fraise, cherry: une cerise, biscuit: un biscuit, omelette: une omelette, pancake: une crêpe,
        onion: un oignon, bean: un haricot, apricot: un abricot, lemon: un citron""",
    "animal": """cat: un chat, dog: un chien, bird: un oiseau, horse: un cheval, cow: une vache, rabbit: un lapin,
        mouse: une souris, duck: un canard, hen: une poule, tortoise: une tortue, donkey: un âne, goat: une chèvre,
        pig: un cochon, squirrel: un écureuil""",
    "parent": """mother: une mère, father: un père, grandmother: une grand-mère, grandfather: un grand-père,
        husband: un mari, wife: une femme""",
    "kin": """brother: un frère, sister: une sœur, uncle: un oncle, aunt: une tante, cousin: un cousin, son: un fils,
        daughter: une fille, friend: un ami, neighbour: un voisin""",
    "person": """man: un homme, woman: une femme, boy: un garçon, girl: une fille, child: un enfant, baby: un bébé,
        teacher: un professeur, doctor: un médecin, nurse: une infirmière, student: un étudiant, baker: un boulanger,
        waitress: une serveuse, pupil: un élève, singer: un chanteur""",
    "clothes": """dress: une robe, shirt: une chemise, hat: un chapeau, coat: un manteau,
        tie: une cravate, suit: un costume, skirt: une jupe, jumper: un pull,
        scarf: une écharpe, jacket: une veste""",
    "pair": "shoe: une chaussure, sock: une chaussette, glove: un gant",
    "text": """book: un livre, letter: une lettre, newspaper: un journal, magazine: un magazine, story: une histoire,
        poem: un poème, message: un message""",
    "show": "film: un film, match: un match, photo: une photo",
    "sound": "song: une chanson, noise: un bruit",
    "vehicle": """car: une voiture, bike: un vélo, boat: un bateau, lorry: un camion, motorbike: une moto""",
    "transport": "train: un train, bus: un bus, plane: un avion",
    "furniture": """table: une table, chair: une chaise, bed: un lit, sofa: un canapé, armchair: un fauteuil,
        wardrobe: une armoire, desk: un bureau, carpet: un tapis, mat: un tapis""",
    "device": """lamp: une lampe, clock: une horloge, phone: un téléphone, computer: un ordinateur, watch: une montre,
        mirror: un miroir""",
    "tableware": "cup: une tasse, glass: un verre, plate: une assiette, knife: un couteau, bottle: une bouteille",
    "object": """key: une clé, umbrella: un parapluie, pen: un stylo, pencil: un crayon, ball: un ballon,
        gift: un cadeau, flower: une fleur, ring: une bague, toy: un jouet""",
    "container": """box: une boîte, bag: un sac, suitcase: une valise, drawer: un tiroir, basket: un panier,
        cupboard: un placard, fridge: un frigo""",
    "opening": "door: une porte, window: une fenêtre",
    "building": """house: une maison, flat: un appartement, castle: un château, church: une église, hotel: un hôtel,
        museum: un musée, restaurant: un restaurant, shop: un magasin, school: une école, bridge: un pont""",
    "room": "kitchen: une cuisine, bedroom: une chambre, bathroom: une salle de bain, garage: un garage",
    "garden": "garden: un jardin",
    "town": "city: une ville, village: un village, street: une rue, island: une île",
    "nature": """river: une rivière, lake: un lac, forest: une forêt, mountain: une montagne, tree: un arbre,
        fireplace: une cheminée""",
    "task": "lesson: une leçon, exercise: un exercice, question: une question, word: un mot",
}
UNCOUNTED = {
    "foodstuff": """bread: un pain, cheese: un fromage, meat: une viande, chocolate: un chocolat, butter: un beurre,
        rice: un riz, fish: un poisson, honey: un miel, jam: une confiture, soup: une soupe, ice cream: une glace""",
    "drink": """water: une eau, milk: un lait, coffee: un café, tea: un thé, wine: un vin, beer: une bière,
        lemonade: une limonade, orange juice: un jus de orange""",
    "stuff": "music: une musique, money: un argent, food: une nourriture",
}
ENGLISH_PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "mouse": "mice",
    "knife": "knives",
    "scarf": "scarves",
    "tomato": "tomatoes",
}
FRENCH_PLURALS = {"salle de bain": "salles de bain", "grand-mère": "grands-mères", "grand-père": "grands-pères"}


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: its English and French forms, singular and plural, its French gender and its class."""

    english: tuple[str, str]
    french: tuple[str, str]
    feminine: bool
    kind: str
    counted: bool


def english_plural(noun: str) -> str:
    """ "glass" → "glasses", "cherry" → "cherries", "man" → "men"."""
    if noun in ENGLISH_PLURALS:
        return ENGLISH_PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if noun[-1] == "y" and noun[-2] not in "aeou" else noun + "s"


def french_plural(noun: str) -> str:
    """ "gâteau" → "gâteaux", "cheval" → "chevaux", "souris" → "souris"."""
    if noun in FRENCH_PLURALS:
        return FRENCH_PLURALS[noun]
    if noun.endswith(("s", "x", "z")):
        return noun
    if noun.endswith("al"):
        return noun[:-1] + "ux"
    return noun + ("x" if noun.endswith(("au", "eu")) else "s")


def _read(table: dict[str, str], counted: bool) -> dict[str, Noun]:
    nouns = {}
    for kind, rows in table.items():
        for row in rows.split(","):
            english, _, french = row.strip().partition(": ")
            article, _, french = french.partition(" ")
            forms = (english, english_plural(english)), (french, french_plural(french))
            nouns[english] = Noun(*forms, article == "une", kind, counted)
    return nouns


NOUNS = _read(COUNTED, True) | _read(UNCOUNTED, False)


@cache
def nouns(names: str) -> tuple[Noun, ...]:
    """The nouns of the classes, or of the English names, in `names` ("food coffee": all food, and coffee)."""
    every = NOUNS.values()
    return tuple(n for name in names.split() for n in every if name.replace("_", " ") in (n.kind, n.english[0]))
