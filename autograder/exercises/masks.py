"""02_masks: who may look at whom."""

import torch

from autograder.ask import Case
from autograder.exercise import Draws, exercise, holds, mistake
from helpers import masks


@exercise("masks.causal", points=2, minutes=8, difficulty=2)
class Causal:
    """Additive mask (n, n): 0 where query i may see key j ≤ i, −inf where j > i."""

    signature = "causal(n: int) -> Tensor (n, n)"
    reference = masks.causal
    book = ["helpers.masks.sliding_window", "helpers.masks.prefix"]
    shortcuts = ["generate_square_subsequent_mask"]
    hints = [
        "Rows are queries, columns are keys. Which entries lie in the future of row i?",
        "`torch.ones(n, n, dtype=torch.bool).triu(1)` is True strictly above the diagonal.",
        "`torch.zeros(n, n).masked_fill(future, float('-inf'))`",
    ]

    def cases(rng):
        return [(1,), (2,), (rng.integer(5, 12),), (rng.integer(13, 40),)]

    properties = [
        holds(
            "the diagonal is 0",
            lambda m, n: (m.diagonal() == 0).all(),
            "A token may always see itself: the diagonal must be 0, or row 0 has nothing left to see.",
        ),
        holds(
            "only 0 and −inf",
            lambda m, n: ((m == 0) | (m == -torch.inf)).all(),
            "An additive mask holds exactly two values: 0 where one may look and −inf where one may not.",
        ),
    ]
    mistakes = [
        mistake(
            "transposed",
            lambda n: masks.causal(n).T,
            "Your mask hides the past and shows the future. Rows are queries, columns are keys: hide j > i.",
        ),
        mistake(
            "diagonal blocked",
            lambda n: torch.zeros(n, n).masked_fill(torch.ones(n, n).tril(-1) == 0, -torch.inf),
            "Your mask hides each token from itself, so row 0 has nothing left to see: keep the diagonal, j = i, at 0.",
        ),
        mistake(
            "keep and hide as 1 and 0",
            lambda n: torch.ones(n, n).tril(),
            "An additive mask is added to the scores, so 0 must mean 'may look' and −inf 'may not'.",
        ),
    ]


def probe(rng: Draws, leak: str, vocab: int, n: int) -> dict:
    """Weights of a generic model that leaks the future in one way, or not at all ("honest")."""
    d = 6
    past = torch.ones(n, n).tril().double()
    mix = rng.normal(2, n, n) * past * 0.5
    running = past.clone()
    gates = rng.normal(vocab, d)
    if leak == "one step":
        mix[0] += torch.diag(0.5 + rng.normal(n - 1).abs(), 1)
    elif leak == "far":
        mix[0, 0, n - 1] = 1.5
    elif leak == "late":
        mix[0, n - 2, n - 1] = 1.5
    elif leak == "some tokens":
        mix[1] += torch.diag(1 + rng.normal(n - 1).abs(), 1)
        kept = torch.zeros(vocab, 1, dtype=torch.float64)
        kept[rng.integer(0, vocab)] = 1
        gates = 2 * (0.5 + gates.abs()) * kept
    elif leak == "normalisation":
        running = torch.ones(n, n, dtype=torch.float64)
    names = ("a", "b", "c", "d", "e", "f", "g")
    rest = (
        rng.normal(vocab, d),
        rng.normal(n, d),
        mix,
        gates,
        running,
        rng.normal(d, vocab),
        rng.normal(vocab),
    )
    return dict(zip(names, rest, strict=True))


def _tries(model, vocab_size, n, pairs):
    """Leaky judges of leaks: each looks only at the perturbations in `pairs(n)` of (position, replacement)."""
    ids = torch.arange(n)[None] % vocab_size
    with torch.no_grad():
        before = model(ids)
        for position, step in pairs(n):
            other = ids.clone()
            other[0, position] = (ids[0, position] + step) % vocab_size
            if not torch.allclose(before[:, :position], model(other)[:, :position], atol=1e-5):
                return True
    return False


@exercise("masks.leaks_future", points=3, minutes=20, difficulty=4, ask="models")
class LeaksFuture:
    """True if logits of some position depend on a later token: `model(ids (B, T))` → logits (B, T, V), any T ≤ n."""

    signature = "leaks_future(model, vocab_size: int, n: int) -> bool"
    reference = masks.leaks_future
    gradient = False
    fake = False
    dtypes = []
    may_use_global_random = True
    hints = [
        "Change one token and watch the logits before it: in a causal model they stay as they are.",
        "Try every position, the last one too: a leak may hide late in the sequence.",
        "Try every token in that place: a leak may open for a single one. A batch holds many sequences at once.",
    ]

    def cases(rng):
        leaks = [
            "honest",
            "one step",
            "honest",
            "far",
            "late",
            "some tokens",
            "normalisation",
            "honest",
            "some tokens",
        ]
        leaks += ["late", "honest", "some tokens", "normalisation", "honest"]
        found = []
        for leak in leaks:
            vocab, n = rng.integer(5, 9), rng.integer(6, 11)
            found.append(Case((probe(rng, leak, vocab, n), vocab, n)))
        return found

    mistakes = [
        mistake(
            "always True",
            lambda model, vocab_size, n: True,
            "You call honest models leaky: if nothing but later tokens changes, an honest model's earlier logits stay.",
        ),
        mistake(
            "changes the last token only",
            lambda model, vocab_size, n: _tries(
                model, vocab_size, n, lambda n: [(n - 1, s) for s in range(1, vocab_size)]
            ),
            "You change the last token only, so a leak from another position escapes you: try every position.",
        ),
        mistake(
            "one replacement for each position",
            lambda model, vocab_size, n: _tries(
                model, vocab_size, n, lambda n: [(i, 1) for i in range(1, n)]
            ),
            "You try one replacement at each position: a model that leaks for a few tokens only escapes you. Try them all.",
        ),
    ]
