"""09_bert: the second task that BERT learns from, next sentences. All chance is judged at 6σ."""

from itertools import pairwise

import torch

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from autograder.exercises.bert_masking import near, seeded
from helpers import bert


def _places(documents):
    return [(i, j) for i, sentences in enumerate(documents) for j in range(len(sentences) - 1)]


def _follower(documents, i, j, lots):
    return documents[i][j + 1]


def _elsewhere(documents, i, j, lots):
    others = [k for k, sentences in enumerate(documents) if k != i and sentences]
    other = documents[others[int(lots[0] * len(others))]]
    return other[int(lots[1] * len(other))]


def _anywhere(documents, i, j, lots):
    full = [sentences for sentences in documents if sentences]
    other = full[int(lots[0] * len(full))]
    return other[int(lots[1] * len(other))]


def _same_document(documents, i, j, lots):
    return documents[i][int(lots[1] * len(documents[i]))]


def _first_elsewhere(documents, i, j, lots):
    others = [k for k, sentences in enumerate(documents) if k != i and sentences]
    return documents[others[int(lots[0] * len(others))]][0]


def _next_document(documents, i, j, lots):
    others = [sentences for sentences in documents[i + 1 :] + documents[:i] if sentences]
    return others[0][int(lots[1] * len(others[0]))]


def _by_coin(coin, n):
    return coin < 0.5


def _made(
    places=_places,
    follows=_by_coin,
    yes=_follower,
    no=_elsewhere,
    pair=lambda a, b, is_next: (a, b, is_next),
    chance=lambda generator: generator,
):
    """Pairs in steps that can be exchanged one by one."""

    def made(documents, generator):
        found = places(documents)
        lots = torch.rand(len(found), 3, generator=chance(generator)).tolist()
        pairs = []
        for n, ((i, j), (coin, *more)) in enumerate(zip(found, lots, strict=True)):
            is_next = follows(coin, n)
            b = (yes if is_next else no)(documents, i, j, more)
            pairs.append(pair(documents[i][j], b, is_next))
        return pairs

    return made


def _both(documents, generator):
    pairs = _made()(documents, generator)
    return [
        (a, b, True) for (i, j), (a, *_) in zip(_places(documents), pairs, strict=True) for b in [documents[i][j + 1]]
    ] + [(a, b, False) for a, b, _ in _made(follows=lambda coin, n: False)(documents, generator)]


def _across(documents, generator):
    """All documents as one, so that the last sentence of one is followed by the first of the next."""
    joined = [s for sentences in documents for s in sentences]
    lots = torch.rand(len(joined), 2, generator=generator).tolist()
    return [
        (a, b, True) if coin < 0.5 else (a, joined[int(where * len(joined))], False)
        for (a, b), (coin, where) in zip(pairwise(joined), lots, strict=False)
    ]


def _two_by_two(documents):
    return [(i, j) for i, j in _places(documents) if j % 2 == 0]


def _last_missed(documents):
    return [(i, j) for i, sentences in enumerate(documents) for j in range(len(sentences) - 2)]


def _of_long_ones(documents):
    return [(i, j) for i, j in _places(documents) if len(documents[i]) > 2]


def _shape_of(found):
    for pairs in found:
        if type(pairs) is not list:
            return "no list"
        if not all(type(p) in (tuple, list) and len(p) == 3 for p in pairs):
            return "no triples"
        if any(type(p[2]) is not bool for p in pairs):
            return "no truth"
        if not all(type(text) is str for p in pairs for text in p[:2]):
            return "no sentences"
    return "due"


def _firsts(pairs, where, due):
    """Which sentences come first in a pair, in a word."""
    firsts = [where.get(a) for a, *_ in pairs]
    if sorted(firsts, key=str) == sorted(due, key=str):
        return "due"
    if None in firsts:
        return "strangers"
    missing, extra = set(due) - set(firsts), set(firsts) - set(due)
    if not missing and not extra:
        return "more than once"
    return f"{len(missing)} missing, {len(extra)} without a successor"


def _kinds(pairs, where):
    """What is wrong with what comes second, in a word."""
    seen = set()
    for a, b, is_next in pairs:
        (i, j), (k, m) = where[a], where.get(b, (-1, -1))
        if k < 0:
            seen.add("strangers")
        elif is_next:
            seen.add("due" if (k, m) == (i, j + 1) else "true and does not follow")
        else:
            seen.add("false and of the same document" if k == i else "false")
    if "false" in seen and "false and of the same document" in seen:
        return "some of the same document"
    return ", ".join(sorted(seen - {"due", "false"})) or "due"


def _sources(pairs, where):
    """Where sentences that do not follow come from, in a word."""
    false = [(where[a], where[b]) for a, b, is_next in pairs if not is_next]
    if len({b for _, b in false}) < 3:  # two, where one would be of the same document
        return "one sentence"
    if all(j == 0 for _, (_, j) in false):
        return "first sentences"
    of = {}
    for (i, _), (k, _) in false:
        of.setdefault(i, []).append(k)
    return "one document for each" if all(len(set(ks)) == 1 for ks in of.values() if len(ks) > 9) else "due"


PAIR_FACTS = ("shape", "firsts", "kinds", "again", "onward", "share", "fair", "by turns", "sources")


def _seen(found, documents, seed):
    """Facts of three draws, the first two of one seed, up to the first that spoils the others; None for the rest.

    Of a few pairs only what no chance decides is told.
    """
    facts = dict.fromkeys(PAIR_FACTS) | {"shape": _shape_of(found)}
    if facts["shape"] != "due":
        return facts
    where = {s: (i, j) for i, sentences in enumerate(documents) for j, s in enumerate(sentences)}
    due = [(i, j) for i, j in _places(documents)]
    facts["firsts"] = _firsts(found[0], where, due)
    if facts["firsts"] in ("strangers", "more than once") or len(due) < 50:
        return facts
    pairs = found[0] + found[2]
    facts["kinds"] = _kinds(pairs, where)
    told = [is_next for *_, is_next in pairs]
    share = sum(told) / len(told)
    facts["share"] = "all" if share == 1 else "none" if share == 0 else "few" if share < 0.15 else "some"
    if facts["firsts"] != "due":
        return facts
    facts["again"] = found[0] == found[1]
    facts["onward"] = found[0] != found[2]
    facts["fair"] = near(share, 0.5, len(told))
    first = told[: len(found[0])]
    turns = sum(x != y for x, y in pairwise(first))
    facts["by turns"] = (
        "due"
        if near(turns / (len(first) - 1), 0.5, len(first) - 1)
        else "often"
        if turns > len(first) / 2
        else "rarely"
    )
    facts["sources"] = _sources(pairs, where) if facts["kinds"] == "due" and share < 1 else None
    return facts


def _fact(name, due, sentence):
    return holds(name, lambda facts, *given: facts["shape"] == "due" and facts[name] in (due, None), sentence)


@exercise("bert.next_sentence_pairs", points=3, minutes=15, difficulty=2, ask="draws")
class NextSentencePairs:
    """For each sentence a that has a successor in its document a triple (a, b, is_next).

    A fair coin decides: True, and b is the sentence that follows a; or False, and b is a random sentence of a random
    other document. Documents may have one sentence only, or none. All chance comes from `generator`, and the order of
    the triples is free.
    """

    signature = (
        "next_sentence_pairs(documents: list[list[str]], generator: torch.Generator) -> list[tuple[str, str, bool]]"
    )
    reference = bert.next_sentence_pairs
    measure = _seen
    unique = False
    gradient = False
    fake = False
    dtypes = ()
    why = (
        "A second task for free, which asks whether B follows A; whether it helps is another question, and comes next."
    )
    hints = [
        "Two loops: over documents, and over `zip(sentences, sentences[1:])`, which ends by itself before the last.",
        "`torch.rand((), generator=generator) < 0.5` is a coin, `torch.randint(n, (), generator=generator)` one of n.",
        "For False: of the documents that are not this one and not empty choose one, then one of its sentences. "
        "`bool(…)` and `int(…)` make Python's own of a tensor.",
    ]

    def cases(rng):
        def asked(*lengths):
            names = iter(rng.permutation(900).tolist())
            documents = [[f"sentence {next(names)}" for _ in range(n)] for n in lengths]
            return Case((documents,), named={"generator": rng.integer(1, 10**6)})

        return [  # the case that tells most mistakes apart comes first
            asked(31, 0, 47, 1, 2, 83, 0, 29),
            asked(2, 1),
            asked(1, 0, 1),
            asked(0, 3, 4),
        ]

    properties = [
        holds(
            "shape",
            lambda facts, *given: type(facts) is dict and facts["shape"] == "due",
            "A list of triples is due, `(a, b, is_next)`, with two sentences as they are given and True or False.",
        ),
        _fact(
            "firsts",
            "due",
            "Each sentence that another one follows in its document comes first once, and no other does.",
        ),
        _fact("kinds", "due", "True must mean that b is what follows a, and False that b is of another document."),
        _fact(
            "again", True, "With a generator of the same seed you give other pairs: all chance comes from `generator`."
        ),
        _fact("onward", True, "Where the generator has gone on your pairs are the same: draw from it as it comes."),
        _fact("fair", True, "It is not half of your pairs that are True: a fair coin decides."),
        _fact("by turns", "due", "True and False come in an order that no fair coin gives: a new coin for each pair."),
        _fact("sources", "due", "Sentences that do not follow may be any of any other document, by chance."),
    ]
    mistakes = [
        mistake(
            "negatives from anywhere",
            _made(no=_anywhere),
            "Your False pairs may come from the same document, and even follow: take them from another one.",
        ),
        mistake(
            "negatives from the same document",
            _made(no=_same_document),
            "Your False pairs are of one document: then even the successor may come, so take another document.",
        ),
        mistake(
            "always next",
            _made(follows=lambda coin, n: True),
            "All your pairs are True, so there is nothing to tell apart: a coin decides.",
        ),
        mistake(
            "never next",
            _made(follows=lambda coin, n: False),
            "None of your pairs is True: in half of them b follows a.",
        ),
        mistake(
            "by turns",
            _made(follows=lambda coin, n: n % 2 == 0),
            "True and False take turns, and what comes by turns can be guessed: a coin for each pair.",
        ),
        mistake(
            "labels exchanged",
            _made(yes=_elsewhere, no=_follower),
            "Your labels say the opposite: True is where b really follows a.",
        ),
        mistake(
            "backwards",
            _made(pair=lambda a, b, is_next: (b, a, True) if is_next else (a, b, False)),
            "Where it is True you give the later sentence first: whether B follows A is asked, so (a, what follows a).",
        ),
        mistake(
            "both for each",
            _both,
            "You give a True and a False pair for each sentence: one pair for each, by a coin.",
        ),
        mistake(
            "across documents",
            _across,
            "You run all documents together, so the last sentence of one is followed by the first of the next: go "
            "through each by itself.",
        ),
        mistake(
            "last pair missed",
            _made(places=_last_missed),
            "The last pair of each document is missing: n sentences have n − 1 successors.",
        ),
        mistake(
            "two by two",
            _made(places=_two_by_two),
            "You go two sentences on, so every second one never comes first: step by one.",
        ),
        mistake(
            "short documents left out",
            _made(places=_of_long_ones),
            "You leave out documents of two sentences: they have a pair.",
        ),
        mistake(
            "first sentences",
            _made(no=_first_elsewhere),
            "Where b does not follow it is always the first sentence of its document, which is easily seen: take any.",
        ),
        mistake(
            "the next document",
            _made(no=_next_document),
            "Where b does not follow it always comes from the document after this one: draw among all others.",
        ),
        mistake(
            "one random sentence",
            _made(no=lambda documents, i, j, lots: _elsewhere(documents, i, j, (0.0, 0.0))),
            "Your random sentence is always the same one: draw anew for each pair.",
        ),
        mistake(
            "generator ignored",
            _made(chance=lambda generator: None),
            "Your coins do not come from `generator`, so nobody can repeat them: hand it on, and use no `random`.",
        ),
        mistake(
            "seeded anew",
            _made(chance=seeded),
            "You seed a generator of your own at each call, so every epoch has the same pairs: use the one given.",
        ),
        mistake(
            "empty documents",
            _made(
                no=lambda documents, i, j, lots: documents[
                    (i + 1 + int(lots[0] * (len(documents) - 1))) % len(documents)
                ][0]
            ),
            "You draw from a document that has no sentence: choose among those that have any.",
        ),
        mistake(
            "0 and 1",
            _made(pair=lambda a, b, is_next: (a, b, int(is_next))),
            "You label with 0 and 1, and the libraries' 0 means that it follows: True and False leave no doubt.",
        ),
        mistake(
            "pairs alone",
            _made(pair=lambda a, b, is_next: (a, b)),
            "You give pairs and do not say which of them are real: (a, b, is_next).",
        ),
    ]
