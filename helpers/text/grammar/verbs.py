"""Verbs: what they take and when they can be said; and their forms in both languages.

French persons are numbered 0 je, 1 tu, 2 il/elle, 3 nous, 4 ils/elles: "you" is always "tu" here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

# What a verb's kind allows; the names of tenses are those of `clauses.TENSES`.
KINDS = {
    "activity": "simple progressive past perfect going was can must want",
    "action": "simple progressive past perfect going can must want",
    "aim": "past perfect going can must want",
    "event": "past perfect",
    "accident": "past perfect going",
    "sense": "simple past perfect going can",
    "state": "simple",
}
GROWN = "food foodstuff drink"
GOODS = "clothes pair furniture device tableware"
SMALL = "object phone watch book letter photo bag suitcase box hat scarf coat"
PEOPLE = "parent kin person"
# English forms | French infinitive (with the preposition its object needs) | kind | objects
TRANSITIVE = f"""
eat ate eaten | manger | activity | food foodstuff
drink drank drunk | boire | activity | drink
cook | préparer | activity | omelette pancake pizza soup rice meat fish
buy bought bought | acheter | action | {GROWN} {GOODS} vehicle object house flat book newspaper magazine suitcase bag
sell sold sold | vendre | action | food foodstuff wine {GOODS} vehicle object house flat book horse cow goat
order | commander | aim | cake pizza salad omelette pancake sandwich soup meat fish ice_cream drink book
taste | goûter | action | food foodstuff wine beer lemonade
share | partager | action | cake pizza orange apple bread cheese chocolate bedroom flat toy
wear wore worn | porter | activity | dress shirt hat coat tie suit skirt jumper scarf jacket shoe glove watch ring
try_on | essayer | action | dress shirt hat coat suit skirt jumper jacket shoe
wash | laver | activity | clothes pair car bike motorbike lorry tableware window apple pear carrot dog
clean | nettoyer | activity | room window carpet car boat flat house mirror lamp fridge shoe table
break broke broken | casser | accident | tableware lamp mirror chair window watch clock phone toy egg
repair | réparer | action | vehicle transport device chair bed door window toy drawer bridge
draw drew drawn | dessiner | activity | animal tree flower house boat castle car bridge plane
cut cut cut | couper | action | bread cake cheese meat apple pizza carrot onion tomato lemon
open | ouvrir | aim | opening container bottle gift letter book umbrella restaurant shop
close | fermer | aim | opening container bottle book umbrella shop
read read read | lire | activity | text
write wrote written | écrire | activity | letter book story poem message song word
finish | finir | aim | book letter story exercise lesson cake soup sandwich
learn | apprendre | action | lesson song poem word
explain | expliquer | action | lesson exercise question story word poem
understand understood understood | comprendre | sense | lesson exercise question story word poem film message
know knew known | connaître | state | {PEOPLE} song story poem restaurant city village hotel museum
forget forgot forgotten | oublier | event | {SMALL} umbrella key word story lesson song
lose lost lost | perdre | event | {SMALL} glove money cat dog
find found found | trouver | aim | {SMALL} flat hotel money glove cat dog word child
look_for looked looked | chercher | activity | {SMALL} glove flat hotel cat dog child restaurant word
take took taken | prendre | action | train bus plane boat {SMALL} photo bottle
drive drove driven | conduire | activity | car bus lorry train
choose chose chosen | choisir | aim | clothes pair book film gift cake car flower restaurant hotel watch ring song photo
see saw seen | voir | sense | animal {PEOPLE} vehicle transport building film match nature town photo
watch | regarder | activity | film match photo bird boat train child
look_at looked looked | regarder | activity | photo watch clock mirror mountain house car shoe flower
listen_to listened listened | écouter | activity | song music story bird {PEOPLE}
hear heard heard | entendre | sense | song music noise bird dog baby train plane cat child donkey
visit | visiter | action | castle museum church city village house flat island school
build built built | construire | action | house bridge castle boat church school hotel
hide hid hidden | cacher | aim | key gift letter money chocolate ring box phone toy photo
throw threw thrown | lancer | action | ball
carry | porter | activity | bag suitcase box basket chair table baby bottle child cat
help | aider | action | {PEOPLE}
wait_for waited waited | attendre | activity | {PEOPLE} bus train plane letter boat
call | appeler | action | {PEOPLE} dog cat
meet met met | rencontrer | aim | kin person
invite | inviter | aim | {PEOPLE}
follow | suivre | action | {PEOPLE} animal vehicle transport street river
thank | remercier | action | {PEOPLE}
kiss | embrasser | action | parent kin baby child
feed fed fed | nourrir | activity | animal baby
stroke | caresser | activity | cat dog horse rabbit donkey goat
catch caught caught | attraper | aim | ball mouse bird cat hen train squirrel
use | utiliser | activity | device knife pen pencil glass bike bag
"""
# Objects that are no noun phrase of ours: games with "à", instruments with "de".
PLAYED = """football: au football, tennis: au tennis, chess: aux échecs, cards: aux cartes, video games: aux jeux vidéo,
hide and seek: à cache-cache, rugby: au rugby, basketball: au basket, dominoes: aux dominos, the piano: du piano,
the guitar: de la guitare, the violin: du violon, the trumpet: de la trompette, the accordion: de l'accordéon"""
INTRANSITIVE = """
sleep slept slept | dormir | activity
work | travailler | activity
sing sang sung | chanter | activity
dance | danser | activity
cry | pleurer | activity
laugh | rire | activity
swim swam swum | nager | activity
run ran run | courir | activity
walk | marcher | activity
travel | voyager | activity
smile | sourire | activity
"""
# Verbs of motion, and those of the body's day: their passé composé takes être.
MOTION = """
go went gone | aller | action
come came come | venir | action
arrive | arriver | aim
stay | rester | aim
go_back went gone | retourner | action
"""
LEAVING = """
leave left left | partir | aim
go_out went gone | sortir | aim
come_back came come | revenir | aim
"""
REFLEXIVE = """
fall_asleep fell fallen | se endormir | event
get_up got got | se lever | action
wake_up woke woken | se réveiller | aim
go_to_bed went gone | se coucher | action
rest | se reposer | activity
have_fun had had | se amuser | activity
hurry | se dépêcher | action
"""
DITRANSITIVE = f"""
give gave given | donner | action | {SMALL} object book money food flower cat dog
show showed shown | montrer | action | photo letter house car ring dress watch book garden flat
lend lent lent | prêter | action | car bike umbrella pen pencil book money coat phone computer suitcase
send sent sent | envoyer | action | letter message photo gift flower book money
bring brought brought | apporter | action | book cake flower gift coffee tea water key letter newspaper glass
sell sold sold | vendre | action | car bike house flat horse boat book computer
tell told told | raconter | action | story
"""
DATIVE = f"""
talk_to talked talked | parler | activity | {PEOPLE}
write_to wrote written | écrire | action | {PEOPLE}
answer | répondre | aim | {PEOPLE}
obey | obéir | aim | parent teacher doctor
"""
# Harm that nobody meant: "I did not mean to hurt you".
HARM = """
hurt hurt hurt | blesser | event
wake woke woken | réveiller | event
disturb | déranger | event
frighten | effrayer | event
annoy | ennuyer | event
"""
LIKING = "like | aimer | state\nlove | adorer | state\nhate | détester | state\n"
OTHERS = """
have had had | avoir | state
want | vouloir | state
prefer | préférer | state
need | avoir | state
play | jouer | activity
be was been | être | state
be was been | avoir | state
"""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: English base, past, participle and what follows them ("look" + " for"), French infinitive, uses."""

    english: tuple[str, str, str]
    particle: str
    french: str
    reflexive: bool
    tenses: frozenset[str]
    objects: str


def _read(rows: str) -> list[Verb]:
    verbs = []
    for row in rows.strip().splitlines():
        forms, french, kind, *objects = (part.strip() for part in row.split("|"))
        first, *others = forms.split()
        base, *particle = first.split("_")
        past, participle = others or (regular_past(base),) * 2
        reflexive, infinitive = french.startswith("se "), french.removeprefix("se ")
        tail = "".join(f" {word}" for word in particle)
        tenses = frozenset(KINDS[kind].split())
        verbs.append(Verb((base, past, participle), tail, infinitive, reflexive, tenses, "".join(objects)))
    return verbs


# ---- English forms ----

DOUBLED = {"swim", "run", "cut", "get", "forget", "travel"}


def _consonant_y(base: str) -> bool:
    return base[-1] == "y" and base[-2] not in "aeiou"


def regular_past(base: str) -> str:
    """ "wash" → "washed", "carry" → "carried", "travel" → "travelled"."""
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if _consonant_y(base) else base + base[-1] * (base in DOUBLED) + "ed"


def third(base: str) -> str:
    """The form after he or she: "wash" → "washes", "carry" → "carries"."""
    if base in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[base]
    if base.endswith(("s", "x", "ch", "sh")):
        return base + "es"
    return base[:-1] + "ies" if _consonant_y(base) else base + "s"


def ing(base: str) -> str:
    """ "take" → "taking", "swim" → "swimming", "see" → "seeing"."""
    if base.endswith("e") and base not in ("see", "be"):
        return base[:-1] + "ing"
    return base + base[-1] * (base in DOUBLED) + "ing"


# ---- French forms ----

PRESENT = {
    "être": "suis es est sommes sont",
    "avoir": "ai as a avons ont",
    "aller": "vais vas va allons vont",
    "vouloir": "veux veux veut voulons veulent",
    "pouvoir": "peux peux peut pouvons peuvent",
    "devoir": "dois dois doit devons doivent",
    "voir": "vois vois voit voyons voient",
    "boire": "bois bois boit buvons boivent",
    "lire": "lis lis lit lisons lisent",
    "écrire": "écris écris écrit écrivons écrivent",
    "prendre": "prends prends prend prenons prennent",
    "apprendre": "apprends apprends apprend apprenons apprennent",
    "comprendre": "comprends comprends comprend comprenons comprennent",
    "connaître": "connais connais connaît connaissons connaissent",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrent",
    "dormir": "dors dors dort dormons dorment",
    "endormir": "endors endors endort endormons endorment",
    "partir": "pars pars part partons partent",
    "sortir": "sors sors sort sortons sortent",
    "courir": "cours cours court courons courent",
    "rire": "ris ris rit rions rient",
    "sourire": "souris souris sourit sourions sourient",
    "venir": "viens viens vient venons viennent",
    "revenir": "reviens reviens revient revenons reviennent",
    "suivre": "suis suis suit suivons suivent",
    "conduire": "conduis conduis conduit conduisons conduisent",
    "construire": "construis construis construit construisons construisent",
    "appeler": "appelle appelles appelle appelons appellent",
    "préférer": "préfère préfères préfère préférons préfèrent",
}
GRAVE = {"acheter", "lever"}  # j'achète, nous achetons
PARTICIPLES = {
    "être": "été", "avoir": "eu", "voir": "vu", "boire": "bu", "lire": "lu", "écrire": "écrit", "prendre": "pris",
    "apprendre": "appris", "comprendre": "compris", "connaître": "connu", "ouvrir": "ouvert", "courir": "couru",
    "rire": "ri", "sourire": "souri", "venir": "venu", "revenir": "revenu", "suivre": "suivi", "conduire": "conduit",
    "construire": "construit", "vouloir": "voulu",
}  # fmt: skip
REFLEXIVE_PRONOUNS = ("me", "te", "se", "nous", "se")
ETRE = {"aller", "venir", "arriver", "rester", "retourner", "partir", "sortir", "revenir"}


@cache
def present(infinitive: str) -> tuple[str, ...]:
    """The five forms of the present."""
    if infinitive in PRESENT:
        return tuple(PRESENT[infinitive].split())
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        return tuple(stem + ending for ending in ("is", "is", "it", "issons", "issent"))
    if infinitive.endswith("re"):
        return tuple(stem + ending for ending in ("s", "s", "", "ons", "ent"))
    stressed = stem
    if infinitive in GRAVE:
        stressed = stem[:-2] + "è" + stem[-1]
    elif stem.endswith(("oy", "uy", "ay")):
        stressed = stem[:-1] + "i"
    soft = {"g": stem + "e", "c": stem[:-1] + "ç"}.get(stem[-1], stem)
    return stressed + "e", stressed + "es", stressed + "e", soft + "ons", stressed + "ent"


@cache
def imperfect(infinitive: str) -> tuple[str, ...]:
    """The five forms of the imparfait."""
    stem = "ét" if infinitive == "être" else present(infinitive)[3].removesuffix("ons")
    hard = stem.removesuffix("e") if stem.endswith("ge") else stem.replace("ç", "c")
    return stem + "ais", stem + "ais", stem + "ait", hard + "ions", stem + "aient"


@cache
def participle(infinitive: str, feminine: bool = False, plural: bool = False) -> str:
    """The past participle that agrees."""
    regular = {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]] if infinitive not in PARTICIPLES else ""
    form = PARTICIPLES.get(infinitive) or infinitive[:-2] + regular
    form += "e" * feminine
    return form + "s" * (plural and form[-1] != "s")


def imperative(infinitive: str) -> str:
    """What one says to a friend: "mange", "finis", "ouvre"."""
    form = present(infinitive)[1]
    return form[:-1] if form.endswith("es") or form == "vas" else form


VERBS = _read(TRANSITIVE)
WITHOUT_OBJECT, MOVING, GOING_OUT, DAILY = (_read(rows) for rows in (INTRANSITIVE, MOTION, LEAVING, REFLEXIVE))
GIVING, TALKING, HARMING, LIKES = (_read(rows) for rows in (DITRANSITIVE, DATIVE, HARM, LIKING))
HAVE, WANT, PREFER, NEED, PLAY, BE, FEEL = _read(OTHERS)
