"""Texts to learn from: where they come from, how they are split, and how they become numbers."""

from helpers.text.made_up import made_up
from helpers.text.reviews import imdb, sentences
from helpers.text.splits import Parts, split

__all__ = ["Parts", "imdb", "made_up", "sentences", "split"]
