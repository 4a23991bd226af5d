"""07_language_model: one token for each row of logits, by chance."""

import math

import torch

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from helpers import decoding

N_ROWS = 2048  # draws for each distribution: their shares are then known to about 0.01


def _steps(scaled=None, top_k=None, top_p=None, drawn=None, order="tkp"):
    """Sampling in steps that can be exchanged; `order` of (t)emperature, top-(k) and top-(p)."""
    steps = {"t": scaled or _scaled, "k": top_k or _top_k, "p": top_p or _top_p}

    def made(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
        given = {"t": temperature, "k": top_k, "p": top_p}
        rows = _distinct(logits).clone()  # (kinds, V)
        for step in order:
            if given[step] is not None:
                rows = steps[step](rows, given[step])
        return (drawn or _drawn)(rows.repeat(len(logits) // len(rows), 1), generator)

    return made


def _distinct(logits):
    """The rows (kinds, V) that a case repeats N_ROWS times: what is done to each of them need be done once."""
    return logits[: len(logits) // N_ROWS or len(logits)]


def _scaled(logits, temperature):
    return logits / temperature


def _top_k(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[:, -1:], -math.inf)


def _top_p(logits, p, crossing=True, row=slice(None)):
    ranked, order = logits.sort(-1, descending=True)
    chances = ranked.softmax(-1)
    reached = chances.cumsum(-1) - (chances if crossing else 0)
    hidden = (reached >= p)[row].expand_as(ranked)
    return logits.masked_fill(torch.zeros_like(hidden).scatter(-1, order, hidden), -math.inf)


def _one_early(logits, p):
    kept = _top_p(logits, p, crossing=False)
    best = torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).bool()
    return torch.where(best, logits, kept)  # with the usual guard, so that something is left


def _each_above(logits, p):
    """Tokens whose own probability is above p, or the best."""
    chances = logits.softmax(-1)
    return logits.masked_fill((chances < p) & (chances < chances.amax(-1, keepdim=True)), -math.inf)


def _from_below(logits, p):
    ranked, order = logits.sort(-1)
    chances = ranked.softmax(-1)
    hidden = chances.cumsum(-1) - chances >= p
    return logits.masked_fill(torch.zeros_like(hidden).scatter(-1, order, hidden), -math.inf)


def _tail(logits, p):
    return _top_p(logits, 1 - p)


def _not_put_back(logits, p):
    """The sorted mask laid over logits that are not sorted."""
    chances = logits.softmax(-1).sort(-1, descending=True).values
    hidden = chances.cumsum(-1) - chances >= p
    return logits.masked_fill(hidden, -math.inf)


def _drawn(logits, generator):
    chances = _distinct(logits).softmax(-1)  # (kinds, V)
    return torch.multinomial(chances.repeat(len(logits) // len(chances), 1), 1, generator=generator)[:, 0]


def _sorted_place(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """What is drawn is a rank, not a token."""
    ranked = logits.sort(-1, descending=True).values
    return decoding.sample(ranked, temperature, top_k, top_p, generator)


def _of_the_first_row(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    order = logits.argsort(-1, descending=True)
    rank = _sorted_place(logits, temperature, top_k, top_p, generator)
    return order[0, rank]


def _turned_round(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    order = logits.argsort(-1, descending=True)
    rank = _sorted_place(logits, temperature, top_k, top_p, generator)
    return order.argsort(-1).gather(-1, rank[:, None])[:, 0]


def _gathered(logits, p):
    """The mask laid out by `gather`, which goes the other way."""
    ranked, order = logits.sort(-1, descending=True)
    chances = ranked.softmax(-1)
    return logits.masked_fill((chances.cumsum(-1) - chances >= p).gather(-1, order), -math.inf)


def _global(logits, generator):
    return _drawn(logits, None)


def _reseeded(logits, generator):
    return _drawn(logits, torch.Generator(logits.device).manual_seed(0))


def _first_row(logits, generator):
    return _drawn(logits[:1].expand_as(logits), generator)


def _even(logits, generator):
    return torch.multinomial((logits > -math.inf).double(), 1, generator=generator)[:, 0]


def _twice(logits, generator):
    return torch.multinomial(logits.softmax(-1).softmax(-1), 1, generator=generator)[:, 0]


def _zeroed(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[:, -1:], 0)


def _one_more(logits, k):
    return _top_k(logits, min(k + 1, logits.shape[-1]))


def _lowest(logits, k):
    return logits.masked_fill(logits > (-logits).topk(k).values[:, -1:].neg(), -math.inf)


def _facts(found, logits, temperature, top_k, top_p, seed):
    """Which tokens come, how often, and whether the generator decides: `found` are three draws, two of one seed."""
    shapes = [tuple(x.shape) if torch.is_tensor(x) else () for x in found]
    facts = {"shape": "due" if shapes == [(len(logits),)] * 3 else "column" if shapes[0][1:] == (1,) else "other"}
    if facts["shape"] == "due" and any(x.is_floating_point() for x in found):
        facts["shape"] = "float"
    if facts["shape"] != "due":
        return facts | dict.fromkeys(("again", "onward", "tokens", "shares"))
    n_kinds, vocab = len(logits) // N_ROWS, logits.shape[-1]
    kinds = torch.arange(n_kinds).repeat(N_ROWS)  # (B,)
    places = kinds * vocab + found[0].long().clamp(0, vocab - 1)  # (B,)
    shares = places.bincount(minlength=n_kinds * vocab).view(n_kinds, vocab).double() / N_ROWS  # (kinds, V)
    sure = bool(((shares > 0).sum(-1) == 1).all())  # chance has no choice
    return facts | {
        "again": torch.equal(found[0], found[1]),
        "onward": sure or not torch.equal(found[0], found[2]),
        "tokens": shares > 0,
        "shares": shares,
    }


def _kept(logits, temperature, top_k, top_p, seed):
    """The tokens of each distribution that may come, (kinds, V)."""
    return _steps(drawn=lambda left, _: left > -math.inf)(logits[: len(logits) // N_ROWS], temperature, top_k, top_p)


def _is(name, due, sentence):
    return holds(name, lambda facts, *given: type(facts) is dict and facts[name] == due, sentence)


@exercise("lm.sample", points=4, minutes=20, difficulty=3, ask="draws")
class Sample:
    """Draw one token for each row of logits: temperature first, then top-k, then top-p, and then by chance.

    top_k keeps the k likeliest tokens; top_p, of these, renormalised, the fewest likeliest whose chances reach top_p,
    the one that crosses it with them. None is off. All chance comes from `generator`.
    """

    signature = (
        "sample(logits: Tensor (B, V), temperature: float = 1.0, top_k: int | None = None,\n"
        "       top_p: float | None = None, generator: torch.Generator | None = None) -> Tensor (B,)"
    )
    reference = decoding.sample
    measure = _facts
    gradient = False
    fake = False
    tolerance = 0.21  # at least six standard deviations of the difference of two shares, in every case
    why = "Right: greedy text repeats itself and free draws ramble, and between the two lie your three knobs."
    hints = [
        "Do the three steps one after the other on logits; what is cut becomes −∞, and only then draw.",
        "Sort a row's probabilities downwards: a token is kept if what stands before it adds up to less than top_p.",
        "`torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]` draws; `cumsum(-1) - p` is what stands "
        "before each sorted token; `gather` or `scatter` with the sort's indices brings it back in order.",
    ]

    def cases(rng):
        def asked(chances, temperature=1.0, top_k=None, top_p=None, **more):
            """Rows of these chances, each in an order of its own, over and over; `temperature` is made up for."""
            rows = torch.stack([torch.tensor(row, dtype=torch.float64)[rng.permutation(len(row))] for row in chances])
            logits = rows.log() * temperature + rng.normal(len(rows), 1)  # (kinds, V)
            given = (logits.repeat(N_ROWS, 1), temperature, top_k, top_p)
            return Case(given, named={"generator": rng.integer(1, 10**6)}, **more)

        broad = [(0.55, 0.3, 0.08, 0.04, 0.03), (0.4, 0.25, 0.2, 0.1, 0.05)]
        return [  # the case that tells most mistakes apart comes first
            asked([(0.42, 0.2, 0.14, 0.12, 0.12)], temperature=0.5, top_k=3, top_p=0.75),
            asked(broad, temperature=2.0, top_k=3),
            asked(broad, temperature=3.0, top_p=0.7),
            asked(broad[:1], temperature=0.5, top_k=1),
            asked(broad[1:], top_p=0.3),
        ]

    properties = [
        _is("shape", "due", "One token for each row is due, a whole number: a tensor of shape (B,)."),
        _is(
            "again",
            True,
            "With a generator of the same seed your draws differ: all chance must come from `generator`, so hand it to "
            "`torch.multinomial`.",
        ),
        _is(
            "onward",
            True,
            "Where the generator has gone on your draws are the same as before: draw from it as it comes, without a "
            "seed of your own.",
        ),
        holds(
            "none that was cut",
            lambda facts, *given: not (facts["tokens"] & ~_kept(*given)).any(),
            "Some token comes that was cut: what top-k and top-p leave out must be −∞ before you draw.",
        ),
        holds(
            "all that is left",
            lambda facts, *given: not (~facts["tokens"] & _kept(*given)).any(),
            "Some token that should be left never comes: you cut too much.",
        ),
    ]
    mistakes = [
        mistake(
            "the likeliest",
            _steps(drawn=lambda logits, generator: logits.argmax(-1)),
            "You take the likeliest token: draw by chance, with `torch.multinomial` on the probabilities.",
        ),
        mistake(
            "a column",
            _steps(drawn=lambda logits, generator: _drawn(logits, generator)[:, None]),
            "`torch.multinomial` gives a column, (B, 1): take `[:, 0]`.",
        ),
        mistake(
            "generator ignored",
            _steps(drawn=_global),
            "Your draws do not come from `generator`, so nobody can repeat them: hand it to `torch.multinomial`.",
        ),
        mistake(
            "seeded anew",
            _steps(drawn=_reseeded),
            "You seed a generator of your own at each call, so every token falls by the same dice: use the one given.",
        ),
        mistake(
            "temperature multiplied",
            _steps(scaled=lambda logits, temperature: logits * temperature),
            "You multiply by the temperature, so a high one makes the model surer: divide by it.",
        ),
        mistake(
            "temperature ignored",
            _steps(scaled=lambda logits, temperature: logits),
            "The temperature changes nothing: divide the logits by it, before anything else (where "
            "probabilities are divided, normalising takes it back).",
        ),
        mistake(
            "temperature after the cut",
            _steps(order="kpt"),
            "You apply the temperature last, so top-p cuts another distribution than the one you draw from: "
            "temperature comes first.",
        ),
        mistake(
            "top-p before top-k",
            _steps(order="tpk"),
            "Top-p adds up the chances from before top-k: after top-k what is left is renormalised, by a new softmax, "
            "and top-p looks at that.",
        ),
        mistake(
            "top-p one early",
            _steps(top_p=_one_early),
            "You leave out the token that crosses top_p: it is kept, so that what is left reaches top_p.",
        ),
        mistake(
            "each above top_p",
            _steps(top_p=_each_above),
            "You compare each token's own chance with top_p: sort them and add them up, `cumsum`.",
        ),
        mistake(
            "top-p from below",
            _steps(top_p=_from_below),
            "You add chances up from the unlikeliest, so the tail is kept: sort downwards, `descending=True`.",
        ),
        mistake(
            "1 − top_p",
            _steps(top_p=_tail),
            "You keep a share of 1 − top_p: top_p is what is kept.",
        ),
        mistake(
            "mask not put back in order",
            _steps(top_p=_not_put_back),
            "Your top-p mask is in sorted order and the logits are not: bring it back with `scatter` and the sort's "
            "indices.",
        ),
        mistake(
            "a rank for a token",
            _sorted_place,
            "You draw from sorted logits and return the place in the order: look up which token stands there, "
            "`order.gather(-1, choice)`.",
        ),
        mistake(
            "the first row's order",
            _of_the_first_row,
            "You look ranks up in the first row's order, but each row is sorted in its own way: "
            "`order.gather(-1, choice)`, with choice (B, 1).",
        ),
        mistake(
            "looked up the wrong way",
            _turned_round,
            "You look up which rank a token has, where it is asked which token has the rank: the sort's indices are "
            "that already, `order.gather(-1, choice)`, without another `argsort`.",
        ),
        mistake(
            "gather for scatter",
            _steps(top_p=_gathered),
            "You bring the sorted mask back with `gather`, which goes the other way: entry i of the mask belongs to "
            "token order[i], so `scatter(-1, order, mask)` puts it there (or `gather` with `order.argsort(-1)`).",
        ),
        mistake(
            "top-p ignored",
            _steps(order="tk"),
            "top_p changes nothing: keep the fewest likeliest tokens whose chances reach it.",
        ),
        mistake(
            "top-k ignored",
            _steps(order="tp"),
            "top_k changes nothing: keep the k likeliest tokens, −∞ for the others.",
        ),
        mistake(
            "top-k one more",
            _steps(top_k=_one_more),
            "You keep k + 1 tokens: the kth likeliest is the last that stays.",
        ),
        mistake(
            "top-k of the least likely",
            _steps(top_k=_lowest),
            "You keep the k unlikeliest tokens: `topk` gives the largest, and they are what stays.",
        ),
        mistake(
            "zero for minus infinity",
            _steps(top_k=_zeroed),
            "You set the logits of what is cut to 0, and exp(0) is 1, so it still comes: −∞ is due.",
        ),
        mistake(
            "alike",
            _steps(drawn=_even),
            "All tokens that are left come equally often: draw by their probabilities.",
        ),
        mistake(
            "softmax twice",
            _steps(drawn=_twice),
            "You take the softmax twice, which makes all tokens nearly alike, and lets those come that were cut.",
        ),
        mistake(
            "the first row for all",
            _steps(drawn=_first_row),
            "You draw all tokens from the first row's distribution: each row has its own.",
        ),
        mistake(
            "the first row's cut for all",
            _steps(top_p=lambda logits, p: _top_p(logits, p, row=slice(1))),
            "You find what top-p keeps in the first row and use it for all: each row has its own number of tokens.",
        ),
        mistake(
            "one draw for all rows",
            _steps(drawn=lambda logits, generator: _drawn(logits[:1], generator).expand(len(logits)).clone()),
            "You draw once and hand it to all rows: each row needs a draw of its own.",
        ),
    ]
