"""Orders to a friend: "open the door!", "don't look at them!", "help me choose a tie!"."""

from __future__ import annotations

from random import Random

from helpers.text.grammar.actions import HUMAN, OBJECTS
from helpers.text.grammar.nouns import nouns
from helpers.text.grammar.phrases import Phrase, described, noun_phrase, own
from helpers.text.grammar.setting import Said
from helpers.text.grammar.verbs import GIVING, VERBS, Verb, imperative


def _verbs(bases: str) -> list[Verb]:
    return [verb for verb in VERBS if verb.english[0] in bases.split()]


ORDERED = _verbs("""eat drink cook buy sell share try wash clean repair draw cut open close read write finish learn
    take choose watch look listen hide throw carry follow feed use""")
TO_PEOPLE = _verbs("help listen wait follow look call thank invite")
TO_HELP_WITH = _verbs("find look wash clean repair open close carry choose write finish feed build cook")
PRONOUNS = [(english, direct, indirect) for english, direct, indirect, _ in OBJECTS if english != "you"]
DETERMINERS = ("the", "the", "this", "my")


def _emphatic(pronoun: str) -> str:
    """ "me" becomes "moi" after an imperative: "donne-moi"."""
    return "moi" if pronoun == "me" else pronoun


def _thing(draw: Random, verb: Verb) -> tuple[Phrase, tuple[tuple[str, str], ...]]:
    noun = draw.choice([noun for noun in nouns(verb.objects) if noun.kind not in HUMAN])
    many = draw.random() < 0.2
    phrase = noun_phrase(noun, draw.choice(DETERMINERS), many, described(draw, noun, 0.2))
    return phrase, ((verb.french, noun.french[0]),)


def order(draw: Random) -> Said:
    """ "Open the window!" "Do not eat my cake!" """
    verb = draw.choice(ORDERED)
    said, pairs = _thing(draw, verb)
    english, french = f"{verb.english[0]}{verb.particle} {said.english}", imperative(verb.french)
    if draw.random() < 0.3:
        return Said(f"do not {english}", f"ne {french} pas {said.french}", "!", pairs)
    return Said(english, f"{french} {said.french}", "!", pairs)


def order_about_somebody(draw: Random) -> Said:
    """ "Listen to her!": "écoute-la"; but "do not listen to her!": "ne l'écoute pas"."""
    verb, (him, le, _) = draw.choice(TO_PEOPLE), draw.choice(PRONOUNS)
    english, french = f"{verb.english[0]}{verb.particle} {him}", imperative(verb.french)
    if draw.random() < 0.3:
        return Said(f"do not {english}", f"ne {le} {french} pas", "!")
    return Said(english, f"{french}-{_emphatic(le)}", "!")


def order_to_give(draw: Random) -> Said:
    """ "Show them your photos!": "montre-leur tes photos"."""
    verb, (him, _, lui) = draw.choice(GIVING), draw.choice(PRONOUNS)
    noun = draw.choice(nouns(verb.objects))
    determiner = draw.choice(("the", "this", "a", own(draw))) if noun.counted else "the"
    said = noun_phrase(noun, determiner, adjectives=described(draw, noun, 0.2))
    french = f"{imperative(verb.french)}-{_emphatic(lui)} {said.french}"
    return Said(f"{verb.english[0]} {him} {said.english}", french, "!", ((verb.french, noun.french[0]),))


def helping(draw: Random) -> Said:
    """ "Help me repair this bike!" "Help us pick out a tie to go with this suit!" """
    him, le, _ = draw.choice(PRONOUNS)
    if draw.random() < 0.6:
        verb = draw.choice(TO_HELP_WITH)
        said, pairs = _thing(draw, verb)
        english = f"help {him} {verb.english[0]}{verb.particle} {said.english}"
        return Said(english, f"aide-{_emphatic(le)} à {verb.french} {said.french}", "!", pairs)
    first, second = draw.sample(nouns("clothes pair"), 2)
    tie, suit = noun_phrase(first, "a", adjectives=described(draw, first, 0.15)), noun_phrase(second, "this")
    english = f"help {him} {draw.choice(('choose', 'pick out'))} {tie.english} to go with {suit.english}"
    french = f"aide-{_emphatic(le)} à choisir {tie.french} pour aller avec {suit.french}"
    return Said(english, french, "!", (("choisir", first.french[0]),))
