"""07_language_model: batches, the loss, perplexity, and the bigram."""

import torch

from autograder.exercise import exercise, holds, mistake
from helpers import lm

# ---- batches ----


def _windows(shift=1, gap=0, order=None, keep=False):
    """Windows in rows, with targets `shift` to the right, `gap` tokens between windows, in another order."""

    def made(ids, batch_size, context):
        n_windows = (len(ids) - 1) // (context + gap)
        starts = torch.arange(n_windows) * (context + gap)
        starts = starts if order is None else order(starts)
        for group in starts.split(batch_size):
            if len(group) == batch_size or keep:
                at = group[:, None] + torch.arange(context)  # (B, T)
                yield ids[at], ids[(at + shift).clamp(0, len(ids) - 1)]

    return made


def _changed(change):
    """The right batches, each changed."""

    def made(ids, batch_size, context):
        for inputs, targets in lm.batches(ids, batch_size, context):
            yield change(inputs, targets)

    return made


def _overlapping(ids, batch_size, context):
    for group in torch.arange(len(ids) - context).split(batch_size):
        if len(group) == batch_size:
            at = group[:, None] + torch.arange(context)  # (B, T)
            yield ids[at], ids[at + 1]


def _last_lost(ids, batch_size, context):
    yield from list(lm.batches(ids, batch_size, context))[:-1]


def _no_longer(ids, batch_size, context):
    """Only the first window of each row: a batch, and then no more."""
    yield from list(lm.batches(ids, batch_size, context))[:1]


UNTOLD = ("shift", "astray", "row", "once", "order", "joined", "batches")


def _facts(found, ids, batch_size, context):
    """What is true of the batches, whether they are cut as windows or as streams. Tokens tell their places."""
    pairs = all(type(b) in (list, tuple) and len(b) == 2 and all(torch.is_tensor(x) for x in b) for b in found)
    shape = _shape(found, batch_size, context) if pairs else "due"
    if shape == "due" and pairs and any(x.is_floating_point() for pair in found for x in pair):
        shape = "float"
    facts = {"pairs": pairs, "shape": shape}
    if not pairs or shape != "due":
        return facts | dict.fromkeys(UNTOLD)
    empty = ids.new_zeros(0, batch_size, context)
    inputs, targets = (
        _places(torch.stack([b[k] for b in found]) if found else empty, ids) for k in (0, 1)
    )  # (n, B, T)
    n_due = (len(ids) // batch_size - 1) // context
    shifts = targets - inputs  # (n, B, T)
    shift = int(shifts.flatten().mode().values) if found else 1
    starts = inputs[..., 0]  # (n, B)
    windows, streams, several = starts.flatten().diff(), starts.diff(dim=0), len(found) > 1
    apart = several and bool((starts[-1, :-1] < starts[0, 1:]).all())
    counts = {len(found) * batch_size: "one a row", len(found): "one a batch", 0: "none"}
    return facts | {
        "shift": shift,
        "astray": counts.get(int((shifts != shift).sum()), "more"),
        "row": bool((inputs.diff(dim=-1) == 1).all()),
        "once": len(targets.unique()) == targets.numel(),
        "order": bool((windows > 0).all()) or (apart and bool((streams > 0).all())),
        "joined": bool((windows == context).all()) or (several and bool((streams == context).all())),
        "batches": "all" if len(found) >= n_due else "too few" if found else "none",
    }


def _places(tokens, ids):
    """Where in the stream each token stands, −1 for one that is not there."""
    hits = tokens[..., None] == ids  # (n, B, T, N)
    return torch.where(hits.any(-1), hits.int().argmax(-1), -1)  # (n, B, T)


def _shape(found, batch_size, context):
    """`due`, or in a word what is wrong with the first batch that has another shape."""
    shapes = [[tuple(x.shape) for x in pair] for pair in found]
    odd = [i for i, pair in enumerate(shapes) if pair != [(batch_size, context)] * 2]
    if not odd:
        return "due"
    if odd == [len(found) - 1] and len(found) > 1:
        return "last"
    known = {
        "transposed": [(context, batch_size)] * 2,
        "targets": [(batch_size, context), (batch_size,)],
        "shorter": [(batch_size, context - 1)] * 2,
    }
    return next((word for word, pair in known.items() if shapes[odd[0]] == pair), "other")


def _is(name, due, sentence):
    return holds(name, lambda facts, *given: type(facts) is dict and facts[name] == due, sentence)


@exercise("lm.batches", points=3, minutes=15, difficulty=2, ask="listing")
class Batches:
    """Cut a stream of tokens into batches of inputs and targets: the target of a token is the one that follows it.

    In order and without overlap; each token is a target at most once; what fills no whole batch is dropped. Rows may be
    windows one after the other, or each row may read a stretch of the stream of its own, on from batch to batch.
    """

    signature = (
        "batches(ids: Tensor (N,), batch_size: int, context: int)\n"
        "    -> iterable of (inputs, targets), each (batch_size, context)"
    )
    reference = lm.batches
    measure = _facts
    gradient = False
    dtypes = ()
    why = "Every token of the text is now a question once, and an answer once: no label was written by anybody."
    hints = [
        "Write 0 … 12 on paper, with batch_size 2 and context 3. Which token is the target of the last input?",
        "A batch of windows needs batch_size · context + 1 tokens in a row: the last one is a target only.",
        "`piece = ids[i : i + batch_size * context + 1]`; inputs are `piece[:-1].view(batch_size, context)`, "
        "targets `piece[1:]` in the same shape; the next batch starts batch_size · context further on.",
    ]

    def cases(rng):
        def stream(n):
            return 3 + rng.permutation(n + 5)[:n]

        n = 7 * 3 * 5
        return [
            (stream(n + 1), 3, 7),
            (stream(14), 2, 7),
            (stream(rng.integer(19, 24)), 1, 3),
            (stream(17), 4, 1),
            (stream(3), 2, 5),
            (stream(n + rng.integer(12, 20)), 3, 7),
        ]

    properties = [
        _is("pairs", True, "Each batch is a pair of tensors: `yield inputs, targets`."),
        _is("shape", "due", "Inputs and targets of every batch have the shape (batch_size, context)."),
        _is("shift", 1, "The target of each token is the token that follows it in the stream."),
        _is("astray", "none", "Some targets are not the token that follows their input: look at the ends of the rows."),
        _is("row", True, "A row of inputs holds context tokens as they follow each other in the stream."),
        _is("once", True, "Some token is a target more than once: windows must not overlap."),
        _is("order", True, "Batches come in the order of the stream, so that a reader goes through it once."),
        _is("joined", True, "Where a window ends the next one begins: some tokens between windows are left out."),
        _is("batches", "all", "There are too few batches: only what fills no whole batch at the end is dropped."),
    ]
    mistakes = [
        mistake(
            "targets equal inputs",
            _windows(0),
            "Your targets are the inputs themselves, so the model learns to copy: shift them, `ids[i + 1 : …]`.",
        ),
        mistake(
            "numbers with a point",
            _changed(lambda inputs, targets: (inputs.float(), targets.float())),
            "Your batches hold floating-point numbers: tokens are whole numbers, or no embedding can look them up.",
        ),
        mistake(
            "shifted twice",
            _windows(2),
            "Your targets stand two places on: the token right after the input is the one to predict.",
        ),
        mistake(
            "the other way round",
            _windows(-1),
            "Your targets are the tokens before their inputs: exchange the two, a model predicts what comes next.",
        ),
        mistake(
            "overlapping windows",
            _overlapping,
            "Your windows begin one token apart, so each token is a target `context` times: let the next window begin "
            "where this one ends.",
        ),
        mistake(
            "windows of context + 1",
            _windows(gap=1),
            "You cut windows of context + 1 tokens side by side, so the first token of each is never a target: windows "
            "share that one token, the last target is the next first input.",
        ),
        mistake(
            "rest kept",
            _windows(keep=True),
            "Your last batch is smaller than the others: what fills no whole batch is dropped.",
        ),
        mistake(
            "last batch lost",
            _last_lost,
            "A whole batch at the end is missing: it needs batch_size · context tokens and one more, no second batch.",
        ),
        mistake(
            "no batch",
            lambda ids, batch_size, context: [],
            "No batch comes: put the `yield` (or the `append` to the list that you return) inside the loop, and look "
            "whether the loop runs at all.",
        ),
        mistake(
            "one batch",
            _no_longer,
            "You give one batch and stop: go on to the end of the stream, `yield` inside the loop.",
        ),
        mistake(
            "time first",
            _changed(lambda inputs, targets: (inputs.T, targets.T)),
            "Your batches are (context, batch_size): here the batch comes first.",
        ),
        mistake(
            "one target a row",
            _changed(lambda inputs, targets: (inputs, targets[:, -1])),
            "You keep one target for each row: each of its `context` tokens predicts the next, which is what makes "
            "training cheap.",
        ),
        mistake(
            "shortened",
            _changed(lambda inputs, targets: (inputs[:, :-1], targets[:, :-1])),
            "Your rows have context − 1 tokens, since you shift inside a window of context: take one token more.",
        ),
        mistake(
            "rolled in each row",
            _changed(lambda inputs, targets: (inputs, inputs.roll(-1, 1))),
            "`roll` puts a row's first token behind its last: the last target is the token that follows in the stream.",
        ),
        mistake(
            "rolled over the batch",
            _changed(lambda inputs, targets: (inputs, inputs.flatten().roll(-1).view_as(inputs))),
            "`roll` puts the batch's first token at its end: the last target is the token that follows in the stream.",
        ),
        mistake(
            "backwards",
            _windows(order=lambda starts: starts.flip(0)),
            "Your batches go through the stream from its end: start at the first token.",
        ),
    ]
