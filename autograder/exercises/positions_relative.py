"""03_positions, continued: what positions bring into scores, and scores that see distances."""

import torch

from autograder.exercise import exercise, holds, mistake
from helpers import positions

# ---- added or concatenated ----


def _terms(*names, change=lambda terms: terms, second=("xx", "pp")):
    """The two dictionaries with some terms in other places: `names` are what stands under xx, xp, px, pp."""

    def terms(x_i, p_i, x_j, p_j):
        full, _ = positions.add_or_concat(x_i, p_i, x_j, p_j)
        added = dict(zip(full, [full[name] for name in names or full], strict=True))
        return change(added), change({name: added[name] for name in second})

    return terms


def _scaled(x_i, p_i, x_j, p_j):
    return [
        {n: t / x_i.shape[-1] ** 0.5 for n, t in part.items()} for part in positions.add_or_concat(x_i, p_i, x_j, p_j)
    ]


def _scaled_by_own_width(x_i, p_i, x_j, p_j):
    added, joined = positions.add_or_concat(x_i, p_i, x_j, p_j)
    d = x_i.shape[-1]
    return {n: t / d**0.5 for n, t in added.items()}, {n: t / (2 * d) ** 0.5 for n, t in joined.items()}


def _by_features(x_i, p_i, x_j, p_j):
    added = {"xx": x_i * x_j, "xp": x_i * p_j, "px": p_i * x_j, "pp": p_i * p_j}
    return added, {"xx": added["xx"], "pp": added["pp"]}


def _within_a_token(x_i, p_i, x_j, p_j):
    added = {"xx": x_i @ x_j, "xp": x_i @ p_i, "px": p_j @ x_j, "pp": p_i @ p_j}
    return added, {"xx": added["xx"], "pp": added["pp"]}


def _i_alone(x_i, p_i, x_j, p_j):
    return positions.add_or_concat(x_i, p_i, x_i, p_i)


def _two_sums(x_i, p_i, x_j, p_j):
    return tuple(sum(part.values()) for part in positions.add_or_concat(x_i, p_i, x_j, p_j))


def _one_cross(terms):
    return {n: (t if n in ("xx", "pp") else (terms["xp"] + terms["px"])) for n, t in terms.items()}


def _half_cross(terms):
    return {n: (t if n in ("xx", "pp") else (terms["xp"] + terms["px"]) / 2) for n, t in terms.items()}


@exercise("positions.add_or_concat", points=2, minutes=10, difficulty=2)
class AddOrConcat:
    """The terms of z_i·z_j, by name: of z = x + p (a dict with "xx", "xp", "px", "pp") and of z = [x, p] ("xx", "pp").

    "xp" is x_i·p_j, the token of i with the position of j. Each sum is the whole dot product; nothing is scaled.
    """

    signature = "add_or_concat(x_i, p_i, x_j, p_j: Tensor (D,)) -> tuple[dict[str, Tensor ()], dict[str, Tensor ()]]"
    reference = positions.add_or_concat
    why = "Concatenating leaves a bias that looks at no token; adding also lets a token ask for a place, "
    why += "and a place for a token."
    hints = [
        "Multiply out (x_i + p_i)·(x_j + p_j), as with numbers.",
        "In [x, p] the first half of one vector meets the first half of the other only. Which products are left?",
        '`added = {"xx": x_i @ x_j, "xp": x_i @ p_j, …}`, and a second dict with two of them.',
    ]

    def cases(rng):
        return [tuple(rng.normal(d) for _ in range(4)) for d in (5, 1, 4, rng.integer(6, 20))]

    properties = [
        holds(
            "two dictionaries",
            lambda two, *given: len(two) == 2 and all(type(part) is dict for part in two),
            "Two dictionaries are due, for added positions first: `return added, concatenated`.",
        ),
        holds(
            "four terms and two",
            lambda two, *given: set(two[0]) == {"xx", "xp", "px", "pp"} and set(two[1]) == {"xx", "pp"},
            'Added positions have the terms "xx", "xp", "px", "pp", concatenated ones "xx" and "pp".',
        ),
        holds(
            "numbers",
            lambda two, *given: all(t.shape == () for part in two for t in part.values()),
            "Each term is one dot product, a single number: `@` of two vectors.",
        ),
        holds(
            "the first sum",
            lambda two, x_i, p_i, x_j, p_j: abs(sum(two[0].values()) - (x_i + p_i) @ (x_j + p_j)) < 1e-3,
            "Your four terms do not sum to (x_i + p_i)·(x_j + p_j).",
        ),
        holds(
            "the second sum",
            lambda two, x_i, p_i, x_j, p_j: abs(sum(two[1].values()) - x_i @ x_j - p_i @ p_j) < 1e-3,
            "Your two terms do not sum to the dot product of [x_i, p_i] and [x_j, p_j].",
        ),
    ]
    mistakes = [
        mistake(
            "cross terms exchanged",
            _terms("xx", "px", "xp", "pp"),
            'Your "xp" and "px" have changed places: the first letter belongs to i and the second to j, so "xp" is '
            "x_i·p_j.",
        ),
        mistake(
            "cross terms in both",
            _terms(second=("xx", "xp", "px", "pp")),
            "You give concatenated vectors cross terms too: x_i stands in one half and p_j in the other, so they "
            "never meet.",
        ),
        mistake(
            "cross terms in neither",
            lambda *given: (positions.add_or_concat(*given)[1],) * 2,
            "You give added vectors two terms: (a + b)·(c + d) has four, and the cross terms are what adding brings.",
        ),
        mistake(
            "concatenated first",
            lambda *given: positions.add_or_concat(*given)[::-1],
            "Both are right and in the wrong order: `return added, concatenated`.",
        ),
        mistake(
            "one dictionary",
            lambda *given: positions.add_or_concat(*given)[0],
            "You give the terms of the sum alone: those of the concatenation are due as well, in a second dictionary.",
        ),
        mistake(
            "cross terms together",
            _terms(change=_one_cross),
            'You put x_i·p_j + p_i·x_j under both "xp" and "px", so they are counted twice: each stands by itself.',
        ),
        mistake(
            "cross terms shared out",
            _terms(change=_half_cross),
            "You share the cross terms out evenly, so the sum is right and neither term: x_i·p_j and p_i·x_j differ.",
        ),
        mistake(
            "xp is px",
            _terms("xx", "xp", "xp", "pp"),
            'You take "px" for the same as "xp": p_i·x_j and x_i·p_j are different products.',
        ),
        mistake(
            "px is xp",
            _terms("xx", "px", "px", "pp"),
            'You take "xp" for the same as "px": x_i·p_j and p_i·x_j are different products.',
        ),
        mistake(
            "a token with its own position",
            _within_a_token,
            "Your cross terms multiply a token with its *own* position: every product has one factor of i and one of "
            "j, x_i·p_j and p_i·x_j.",
        ),
        mistake(
            "i with itself",
            _i_alone,
            "You never look at j: each product has one factor of i and one of j.",
        ),
        mistake(
            "scaled",
            _scaled,
            "You divide by √d: these are the bare products, and a common scale changes nothing about who meets whom.",
        ),
        mistake(
            "scaled by own width",
            _scaled_by_own_width,
            "You divide by the roots of d and of 2d: these are the bare products, before any scale.",
        ),
        mistake(
            "feature by feature",
            _by_features,
            "You multiply feature by feature and do not sum: each term is a dot product, `@`.",
        ),
        mistake(
            "sums",
            _two_sums,
            "You give the two whole products: what is due are their terms, by name.",
        ),
        mistake(
            "numbers of Python",
            _terms(change=lambda terms: {n: t.item() for n, t in terms.items()}),
            "Your values are right, but `.item()` cuts them from their gradient: leave them tensors.",
        ),
        mistake(
            "values alone",
            lambda *given: tuple(list(part.values()) for part in positions.add_or_concat(*given)),
            'You give the terms without their names: dictionaries are due, with "xx", "xp", "px", "pp" as keys.',
        ),
    ]


def _bias(score=lambda q, k: q @ k.mT, finish=lambda b: b):
    return lambda q_pos, k_pos: finish(score(q_pos, k_pos))


@exercise("positions.bias_from_concat", points=1, minutes=8, difficulty=2)
class BiasFromConcat:
    """What must be added to unscaled scores q kᵀ so that they equal those of [q, q_pos] and [k, k_pos]: (Tq, Tk)."""

    signature = "bias_from_concat(q_pos: Tensor (Tq, K), k_pos: Tensor (Tk, K)) -> Tensor (Tq, Tk)"
    reference = positions.bias_from_concat
    why = "Concatenated positions are a table added to the scores, so one may as well learn the table."
    hints = [
        "Which of the two terms that concatenation leaves is already in q kᵀ?",
        "The other is the product of each query's position with each key's.",
        "`q_pos @ k_pos.T`",
    ]

    def cases(rng):
        def case(tq, tk, d):
            return rng.normal(tq, d), rng.normal(tk, d)

        return [case(5, 7, 4), case(1, 3, 2), case(4, 4, 4), case(3, 1, 1), case(rng.integer(5, 9), 11, 3)]

    properties = [
        holds(
            "a row for each query",
            lambda b, q, k: b.shape == (len(q), len(k)),
            "There is one number for each query and each key, a row for each query: (Tq, Tk).",
        ),
        holds(
            "no more and no less",
            lambda b, q, k: torch.allclose(b, q @ k.mT, atol=1e-3),
            "q kᵀ plus your bias is not the product of [q, q_pos] and [k, k_pos]: write both for one pair.",
        ),
    ]
    mistakes = [
        mistake(
            "scaled",
            _bias(score=lambda q, k: q @ k.mT / q.shape[-1] ** 0.5),
            "You divide by the root of the positions' width: scores are unscaled here, and a common scale would come "
            "after the sum.",
        ),
        mistake(
            "scaled by both widths",
            _bias(score=lambda q, k: q @ k.mT / (2 * q.shape[-1]) ** 0.5),
            "You divide by a root: scores are unscaled here, and a common scale would come after the sum.",
        ),
        mistake(
            "transposed",
            _bias(finish=lambda b: b.mT),
            "Your table lies on its side: queries are rows, keys columns, `q_pos @ k_pos.T`.",
        ),
        mistake(
            "positions of queries alone",
            lambda q, k: q @ q.mT,
            "You multiply the queries' positions with each other: they meet the keys' positions.",
        ),
        mistake(
            "positions of keys alone",
            lambda q, k: k @ k.mT,
            "You multiply the keys' positions with each other: the queries' positions meet them.",
        ),
        mistake(
            "position by position",
            lambda q, k: (q * k).sum(-1),
            "You multiply query i with key i alone: every query meets every key, a table (Tq, Tk).",
        ),
        mistake(
            "sums in place of products",
            _bias(score=lambda q, k: q.sum(-1)[:, None] + k.sum(-1)),
            "You add the two positions' features up: concatenated vectors are multiplied, so positions are too.",
        ),
        mistake(
            "features kept",
            _bias(score=lambda q, k: q[:, None] * k),
            "You multiply feature by feature and do not sum: one number for each pair is due, (Tq, Tk).",
        ),
        mistake(
            "softmax included",
            _bias(finish=lambda b: b.softmax(-1)),
            "Your rows sum to one: a bias goes *into* the softmax, so give the products.",
        ),
        mistake(
            "cosine",
            _bias(score=lambda q, k: torch.nn.functional.cosine_similarity(q[:, None], k, -1)),
            "You divide by the lengths of the vectors: the bare product is due.",
        ),
        mistake(
            "distance",
            _bias(score=lambda q, k: (q[:, None] - k).norm(dim=-1)),
            "You give distances between positions: concatenated vectors meet in a dot product.",
        ),
        mistake(
            "cross terms",
            _bias(finish=lambda b: 2 * b),
            "You count the positions twice: concatenated, their product appears once.",
        ),
        mistake(
            "minus",
            _bias(finish=lambda b: -b),
            "Your sign is wrong: the bias is added.",
        ),
        mistake(
            "for heads",
            _bias(finish=lambda b: b[None, None]),
            "You added axes for batch and heads: (Tq, Tk) is asked for, and broadcasting adds them when needed.",
        ),
    ]


# ---- a bias for each distance ----


def _looked_up(column):
    """Biases from other columns of the table; `column(i, j, T, n)`."""

    def bias(table, n):
        i = torch.arange(n, device=table.device)
        return table[:, column(i[:, None], i, (table.shape[1] + 1) // 2, n)]

    return bias


def _causal_alone(table, n):
    bias = positions.relative_bias(table, n)
    return bias.masked_fill(torch.ones_like(bias[0], dtype=torch.bool).triu(1), -torch.inf)


@exercise("positions.relative_bias", points=2, minutes=12, difficulty=3)
class RelativeBias:
    """A bias for each score from one number for each head and distance: out[h, i, j] = table[h, i − j + T − 1].

    i is the query and j the key; the table has 2T − 1 columns, for distances from −(T − 1) to T − 1, and n ≤ T.
    """

    signature = "relative_bias(table: Tensor (H, 2T − 1), n: int) -> Tensor (H, n, n)"
    reference = positions.relative_bias
    why = "The same number along every diagonal: what a head learns about “three tokens back” holds everywhere."
    hints = [
        "All distances i − j at once: `i[:, None] - i` with `i = torch.arange(n)`.",
        "T is not n: it is in the table's width, 2T − 1. In which column does distance 0 stand?",
        "`table[:, i[:, None] - i + T - 1]` takes the columns for all heads, `T = (table.shape[1] + 1) // 2`.",
    ]

    def cases(rng):
        def case(heads, reach, n):
            return rng.normal(heads, 2 * reach - 1), n

        return [
            case(3, 6, 4),
            case(2, 1, 1),
            case(3, 5, 5),
            case(1, 7, 1),
            case(4, 4, 4),
            case(2, rng.integer(8, 12), rng.integer(5, 8)),
        ]

    properties = [
        holds(
            "shape",
            lambda b, table, n: b.shape == (len(table), n, n),
            "There is one number for each head, query and key: (H, n, n).",
        ),
        holds(
            "distance 0",
            lambda b, table, n: torch.equal(
                b.diagonal(dim1=1, dim2=2), table[:, table.shape[1] // 2, None].expand(-1, n)
            ),
            "On the diagonal i − j = 0: there belongs column T − 1, the middle of the table.",
        ),
        holds(
            "the same along diagonals",
            lambda b, table, n: torch.equal(b[:, 1:, 1:], b[:, :-1, :-1]),
            "Entries of one diagonal have the same i − j, so they are the same number, but some of yours differ.",
        ),
    ]
    mistakes = [
        mistake(
            "sign",
            _looked_up(lambda i, j, T, n: j - i + T - 1),
            "Your distances are j − i: before and after have changed places. It is the query's less the key's.",
        ),
        mistake(
            "one column too far right",
            _looked_up(lambda i, j, T, n: (i - j + T) % (2 * T - 1)),
            "You are one column too far right: distance 0 stands in column T − 1, as columns count from 0.",
        ),
        mistake(
            "one column too far right, and out of it",
            _looked_up(lambda i, j, T, n: i - j + T),
            "You are one column too far right, and out of the table at the largest distance: 0 stands in column "
            "T − 1, as columns count from 0.",
        ),
        mistake(
            "one column too far left",
            _looked_up(lambda i, j, T, n: i - j + T - 2),
            "You are one column too far left: distance 0 stands in column T − 1. (2T − 1) // 2 is T − 1, not T.",
        ),
        mistake(
            "n for T",
            _looked_up(lambda i, j, T, n: i - j + n - 1),
            "You take n for T, so distance 0 stands elsewhere for a shorter text: T is half the table's width, "
            "(2T − 1 + 1) / 2.",
        ),
        mistake(
            "n for T, and the sign",
            _looked_up(lambda i, j, T, n: j - i + n - 1),
            "Two things at once: distances are i − j, and T comes from the table's width, not from n.",
        ),
        mistake(
            "absolute distance",
            _looked_up(lambda i, j, T, n: (i - j).abs() + T - 1),
            "You take |i − j|, so a key before and one after look the same: keep the sign, that is what half the table "
            "is for.",
        ),
        mistake(
            "absolute distance from column 0",
            _looked_up(lambda i, j, T, n: (i - j).abs()),
            "You take |i − j| as the column: distances have a sign, and distance 0 stands in column T − 1.",
        ),
        mistake(
            "no shift",
            _looked_up(lambda i, j, T, n: i - j),
            "You use i − j itself as a column, so distance 0 is column 0 and negative ones count from the end: add "
            "T − 1.",
        ),
        mistake(
            "no shift, and the sign",
            _looked_up(lambda i, j, T, n: j - i),
            "You use j − i itself as a column: distances are i − j, and T − 1 is added so that none is negative.",
        ),
        mistake(
            "distances clipped",
            _looked_up(lambda i, j, T, n: (i - j).clamp(min=0) + T - 1),
            "You treat all later keys like the token itself: each distance has a column of its own, negative ones too.",
        ),
        mistake(
            "causal",
            _causal_alone,
            "You hide the future as well: a bias is no mask, and this one has numbers for both directions.",
        ),
        mistake(
            "the first head's for all",
            lambda table, n: positions.relative_bias(table[:1], n).repeat(len(table), 1, 1),
            "All heads get the first one's numbers: each head has a row of the table to itself.",
        ),
        mistake(
            "a number for each key",
            lambda table, n: table[:, None, :n].expand(-1, n, -1),
            "Your rows are all the same, a number for each key: the column depends on i − j.",
        ),
        mistake(
            "a number for each query",
            lambda table, n: table[:, :n, None].expand(-1, -1, n),
            "Your columns are all the same, a number for each query: the column of the table depends on i − j.",
        ),
        mistake(
            "heads last",
            lambda table, n: positions.relative_bias(table, n).permute(1, 2, 0),
            "Your heads stand last: `table[:, index]` keeps them in front, (H, n, n).",
        ),
        mistake(
            "first head",
            lambda table, n: positions.relative_bias(table, n)[0],
            "You give one head's biases: there is a row of the table for each, (H, n, n).",
        ),
        mistake(
            "the whole table",
            lambda table, n: positions.relative_bias(table, (table.shape[1] + 1) // 2),
            "You give biases for T tokens whatever n is: the text has n.",
        ),
        mistake(
            "distances",
            lambda table, n: (i := torch.arange(n, device=table.device))[:, None] - i,
            "You give the distances: they say where to look in the table.",
        ),
        mistake(
            "for a batch",
            lambda table, n: positions.relative_bias(table, n)[None],
            "You added an axis for the batch: (H, n, n) is asked for, and broadcasting adds it when needed.",
        ),
    ]


@exercise("positions.extra_parameters", points=1, minutes=5, difficulty=2, kind="claim")
class ExtraParameters:
    """How many numbers such biases add to one layer, for texts of up to max_len tokens and keys on both sides."""

    signature = "extra_parameters(max_len: int, n_heads: int) -> int"
    reference = positions.extra_parameters
    gradient = False
    dtypes = []
    why = "512 tokens and 12 heads: some twelve thousand numbers, where BERT's learned positions take 393,216."
    hints = [
        "How many different values does i − j take, if i and j go from 0 to max_len − 1?",
        "From −(max_len − 1) to max_len − 1, and 0 is one of them.",
        "Each head has a number of its own for each.",
    ]

    def cases(rng):
        return [(6, 3), (1, 1), (1, 5), (7, 1), (rng.integer(20, 90), rng.integer(2, 15)), (512, 12)]

    properties = [
        holds(
            "more than nothing",
            lambda found, *sizes: found > 0,
            "Even a text of one token has a distance, 0: the number is positive.",
        ),
        holds(
            "one token",
            lambda found, max_len, n_heads: max_len > 1 or found == n_heads,
            "For max_len = 1 there is one distance, 0, so one number for each head.",
        ),
    ]
    mistakes = [
        mistake(
            "causal",
            lambda max_len, n_heads: n_heads * max_len,
            "That is enough for causal attention, where no key comes after the query: here keys stand on both sides.",
        ),
        mistake(
            "one for all heads",
            lambda max_len, n_heads: 2 * max_len - 1,
            "You count one head's numbers: each of n_heads has its own.",
        ),
        mistake(
            "0 counted twice",
            lambda max_len, n_heads: n_heads * 2 * max_len,
            "You count max_len on each side, and so distance 0 twice: 2·max_len − 1.",
        ),
        mistake(
            "0 left out",
            lambda max_len, n_heads: n_heads * 2 * (max_len - 1),
            "You leave out distance 0, a token's own: 2·(max_len − 1) + 1.",
        ),
        mistake(
            "max_len on either side",
            lambda max_len, n_heads: n_heads * (2 * max_len + 1),
            "You let distances go up to max_len: from the first token to the last it is max_len − 1.",
        ),
        mistake(
            "one for each pair",
            lambda max_len, n_heads: n_heads * max_len**2,
            "You count a number for each query and key: pairs at the same distance share theirs.",
        ),
        mistake(
            "one for each pair, and no heads",
            lambda max_len, n_heads: max_len**2,
            "You count a number for each query and key: pairs at the same distance share theirs, and each head has its "
            "own.",
        ),
        mistake(
            "causal pairs",
            lambda max_len, n_heads: n_heads * max_len * (max_len + 1) // 2,
            "You count pairs of tokens: those at the same distance share their number.",
        ),
        mistake(
            "causal, one for all heads",
            lambda max_len, n_heads: max_len,
            "You count keys before the query, for one head: keys stand on both sides, and each head has its own.",
        ),
        mistake(
            "distances without self, causal",
            lambda max_len, n_heads: n_heads * (max_len - 1),
            "You count distances 1 to max_len − 1: 0 and the negative ones have numbers too.",
        ),
    ]


# ---- turning queries and keys ----


def _turned(angle=None, turn=None, join=None, pairs=None):
    """Rotary positions with one of their steps exchanged; `angle(positions, i, d, base)` of pair i."""
    angle = angle or (lambda p, i, d, base: p / base ** (2 * i / d))
    turn = turn or (lambda a, b, cos, sin: (a * cos - b * sin, a * sin + b * cos))
    join = join or (lambda a, b: torch.stack([a, b], -1).flatten(-2))
    pairs = pairs or (lambda x: (x[..., 0::2], x[..., 1::2]))

    def rotary(x, positions, base=10000.0):
        d = x.shape[-1]
        i = torch.arange(d // 2, device=x.device)
        angles = angle(positions[:, None].to(x.dtype), i.to(x.dtype), d, base) + 0 * i  # (T, D/2)
        return join(*turn(*pairs(x), angles.cos(), angles.sin()))

    return rotary


def _halves(x):
    return x.chunk(2, -1)


def _side_by_side(a, b):
    return torch.cat([a, b], -1)


def _rotated(x, turned, spread, p, base):
    """x · cos + turned(x) · sin, as libraries write it."""
    d = x.shape[-1]
    angles = spread(p[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d))  # (T, D)
    return x * angles.cos() + turned(x) * angles.sin()


def _half_turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def _pair_turned(x):
    return torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)


@exercise("positions.rotary", points=3, minutes=20, difficulty=4)
class Rotary:
    """Turn each pair of features (2i, 2i + 1) of x by +position / base^(2i/d), d even. (Su et al. 2021, section 3.2)

    x is (…, T, d) and positions (T,), any whole numbers: not always 0, 1, 2, …
    """

    signature = "rotary(x: Tensor (…, T, d), positions: Tensor (T,), base: float = 10000.0) -> Tensor (…, T, d)"
    reference = positions.rotary
    book = ["helpers.positions.shift_matrix"]
    tolerance = 3e-5
    why = "Queries and keys both turned, their products know i − j alone, and no length of any vector changes."
    hints = [
        "One pair first: (a, b) turned by an angle becomes (a cos − b sin, a sin + b cos).",
        "Angles: positions down, pairs across, (T, d/2). Features: `x[..., 0::2]` and `x[..., 1::2]`, (…, T, d/2).",
        "`torch.stack([first, second], -1).flatten(-2)` puts the turned pairs back into their places.",
    ]

    def cases(rng):
        return [
            (rng.normal(2, 5, 4), torch.arange(5), 100.0),
            (rng.normal(1, 2), torch.tensor([3])),
            (rng.normal(3, 4), torch.tensor([0, 0, 0])),
            (rng.normal(2, 3, 4, 8), rng.integers(0, 20, 4)),
            (rng.normal(5, 6), -torch.arange(5)),
            (rng.normal(2, 2, 3, 10), rng.integers(1, 20, 3), float(rng.integer(20, 90))),
        ]

    properties = [
        holds(
            "shape",
            lambda y, x, *rest: y.shape == x.shape,
            "Turning changes no shape: what comes out has the shape of x.",
        ),
        holds(
            "norms kept",
            lambda y, x, *rest: torch.allclose(y.norm(dim=-1), x.norm(dim=-1), rtol=1e-3),
            "A turn keeps lengths, and some vector of yours is longer or shorter than it was.",
        ),
        holds(
            "position 0",
            lambda y, x, p, base=None: torch.allclose(y[..., p == 0, :], x[..., p == 0, :], atol=1e-4),
            "At position 0 the angle is 0, so a vector there stays as it is.",
        ),
        holds(
            "pairs keep their length",
            lambda y, x, *rest: torch.allclose(
                y.unflatten(-1, (-1, 2)).norm(dim=-1), x.unflatten(-1, (-1, 2)).norm(dim=-1), rtol=1e-3, atol=1e-4
            ),
            "Features 2i and 2i + 1 are one hand that turns and keeps its length, but some pair of yours does not.",
        ),
    ]
    mistakes = [
        mistake(
            "halves for pairs",
            _turned(pairs=_halves, join=_side_by_side),
            "You pair feature i with feature i + d/2, as some libraries do: here the pairs are neighbours, 2i and "
            "2i + 1.",
        ),
        mistake(
            "neighbours' angles, halves turned",
            lambda x, p, base=10000.0: _rotated(x, _half_turned, lambda a: a.repeat_interleave(2, -1), p, base),
            "You mix two layouts: angles repeat for neighbours (`repeat_interleave`), but what is turned are halves. "
            "Turn neighbours too: (−x[2i + 1], x[2i]).",
        ),
        mistake(
            "halves' angles, neighbours turned",
            lambda x, p, base=10000.0: _rotated(x, _pair_turned, lambda a: torch.cat([a, a], -1), p, base),
            "You mix two layouts: neighbours are turned, but angles repeat in halves (`cat`). Both features of a pair "
            "need the same angle, `repeat_interleave(2, -1)`.",
        ),
        mistake(
            "not put back",
            _turned(join=_side_by_side),
            "The pairs are turned well, but come back in halves, all first features and then all second ones: "
            "`stack(…, -1).flatten(-2)` puts them back into turns.",
        ),
        mistake(
            "neighbours from halves",
            _turned(pairs=_halves),
            "You take halves apart and put neighbours together: what is taken at 2i and 2i + 1 goes back there.",
        ),
        mistake(
            "sign",
            _turned(turn=lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)),
            "You turn backwards: (a, b) becomes (a cos − b sin, a sin + b cos). `shift_matrix` turns the other way, as "
            "its pairs begin with the sine.",
        ),
        mistake(
            "two pluses",
            _turned(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
            "There is no minus in your turn, so it stretches: (a cos − b sin, a sin + b cos).",
        ),
        mistake(
            "sine and cosine exchanged",
            _turned(turn=lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)),
            "Your sines and cosines have changed places: at position 0 nothing may turn, so cos 0 = 1 multiplies a.",
        ),
        mistake(
            "the first overwritten",
            _turned(turn=lambda a, b, cos, sin: (a * cos - b * sin, (a * cos - b * sin) * sin + b * cos)),
            "You compute the second feature from the first one *after* its turn: both are made of the old pair.",
        ),
        mistake(
            "only multiplied",
            _turned(turn=lambda a, b, cos, sin: (a * cos, b * sin)),
            "You multiply one feature by cos and the other by sin: to turn a pair, each new feature takes from both.",
        ),
        mistake(
            "cosines alone",
            _turned(turn=lambda a, b, cos, sin: (a * cos, b * cos)),
            "You multiply by cos and leave the sines out, so pairs shrink in place of turning.",
        ),
        mistake(
            "added",
            _turned(turn=lambda a, b, cos, sin: (a + sin, b + cos)),
            "You add the sinusoidal table: here x is turned, (a cos − b sin, a sin + b cos).",
        ),
        mistake(
            "positions counted anew",
            lambda x, p, base=10000.0: positions.rotary(x, torch.arange(len(p), device=x.device), base),
            "You count 0, 1, 2, … whatever `positions` says: with a cache the newest token comes alone, and its "
            "position is not 0.",
        ),
        mistake(
            "positions from 1",
            lambda x, p, base=10000.0: positions.rotary(x, p + 1, base),
            "You add 1 to the positions: they are turned as they come, and position 0 not at all.",
        ),
        mistake(
            "counted on from the first",
            lambda x, p, base=10000.0: positions.rotary(x, p[0] + torch.arange(len(p), device=x.device), base),
            "You count on from the first position, one by one: those given may skip, repeat or fall.",
        ),
        mistake(
            "sign of positions dropped",
            lambda x, p, base=10000.0: positions.rotary(x, p.abs(), base),
            "You drop the sign of positions: a negative one turns backwards.",
        ),
        mistake(
            "counted from the first",
            lambda x, p, base=10000.0: positions.rotary(x, p - p[0], base),
            "You count from the first position that is given: turn by the positions as they come, or a token from the "
            "cache would not fit the newest one.",
        ),
        mistake(
            "turned twice",
            lambda x, p, base=10000.0: positions.rotary(x, 2 * p, base),
            "You turn twice as far: the angle of pair i is position/base^(2i/d), once.",
        ),
        mistake(
            "turned and added",
            lambda x, p, base=10000.0: x + positions.rotary(x, p, base),
            "You add what is turned to x: it takes the place of x.",
        ),
        mistake(
            "the first pair alone",
            lambda x, p, base=10000.0: torch.cat([positions.rotary(x[..., :2], p, base), x[..., 2:]], -1),
            "You turn the first pair and leave the others: each of the d/2 turns at its own speed.",
        ),
        mistake(
            "exponent i/d",
            _turned(lambda p, i, d, base: p / base ** (i / d)),
            "Your pair i turns by position/base^(i/d): the exponent is 2i/d.",
        ),
        mistake(
            "pair doubled twice",
            _turned(lambda p, i, d, base: p / base ** (4 * i / d)),
            "You double twice: `arange(0, d, 2)` holds the numbers 2i already.",
        ),
        mistake(
            "one frequency",
            _turned(lambda p, i, d, base: p),
            "All your pairs turn by the position itself: pair i turns base^(2i/d) times more slowly.",
        ),
        mistake(
            "times, not divided by",
            _turned(lambda p, i, d, base: p * base ** (2 * i / d)),
            "You multiply by base^(2i/d), so the pairs turn faster and faster: divide, the first is the fastest.",
        ),
        mistake(
            "base ignored",
            lambda x, p, base=10000.0: positions.rotary(x, p),
            "You use 10000 whatever `base` is: use the argument.",
        ),
        mistake(
            "full turns",
            _turned(lambda p, i, d, base: 2 * torch.pi * p / base ** (2 * i / d)),
            "You turn by 2π times the angle: it is in radians as it is.",
        ),
        mistake(
            "the last pair first",
            _turned(lambda p, i, d, base: p / base ** ((d - 2 - 2 * i) / d)),
            "Your slowest pair comes first: pair 0 turns fastest, by the position itself.",
        ),
        mistake(
            "first half alone",
            lambda x, p, base=10000.0: _turned()(x, p, base)[..., 0::2],
            "You return half of the features: the second of each pair is turned as well, a sin + b cos.",
        ),
        mistake(
            "dtype written in",
            lambda x, p, base=10000.0: positions.rotary(x.float(), p, base),
            "You compute in float32 whatever x is: stay in x's dtype.",
        ),
    ]
