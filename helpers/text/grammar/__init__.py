"""Everyday English–French pairs that agree in gender, number, person and tense, written by a grammar of our own."""

from helpers.text.grammar.corpus import more_tests, pairs, split

__all__ = ["more_tests", "pairs", "split"]
