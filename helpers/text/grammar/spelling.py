"""How French words change beside one another: elision (je ai → j'ai) and contraction (à le → au)."""

from __future__ import annotations

import re

# An h is silent but in these words, a y is a vowel but in these: le haricot, le yaourt, le onze.
HARD = r"(?!haricot|hamster|haut|héros|huit|onze|yaourt)"
VOWEL = re.compile(HARD + r"[aeiouyhàâæéèêëîïôœûAEIOUYHÉÎ]")
ELIDED = re.compile(r"(?<![\w'-])(?:([jmtsndc]|qu)e|(l)[ea]) (?=" + VOWEL.pattern + ")")
CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
CONSONANT_LIKE = ("use", "uni", "one", "eu")  # a useful book


def starts_with_vowel(words: str) -> bool:
    """Whether French words begin with a vowel sound: l'arbre, l'homme, but le haricot."""
    return VOWEL.match(words) is not None


def elide(words: str) -> str:
    """Every elision that is due: "je le ai vu" → "je l'ai vu", "est-ce que il" → "est-ce qu'il"."""
    return ELIDED.sub(r"\1\2'", words)


def after(preposition: str, phrase: str) -> str:
    """A phrase that begins with its article, after "à", "de" or what ends in one: "à côté de" + "le lit" → "… du lit".

    Before a vowel the article is elided later, not contracted: "à le arbre" → "à l'arbre".
    """
    *head, last = preposition.split()
    article, _, rest = phrase.partition(" ")
    short = CONTRACTED.get((last, article))
    if short is None or (article == "le" and starts_with_vowel(rest)):
        return f"{preposition} {phrase}"
    return " ".join([*head, short, rest])


def a(words: str) -> str:
    """English words with their indefinite article: "an apple", "a useful book"."""
    vowel = words[0] in "aeiou" and not words.startswith(CONSONANT_LIKE)
    return f"{'an' if vowel else 'a'} {words}"


def sentence(words: str, mark: str, french: bool) -> str:
    """Words as a sentence: a capital first, the mark last (French puts a space before "?" and "!")."""
    words = elide(words) if french else words
    return f"{words[0].upper()}{words[1:]}{' ' if french and mark != '.' else ''}{mark}"
