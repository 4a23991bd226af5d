"""Right and wrong answers of 07_language_model, written otherwise."""

import random

import torch


def _streams(ids, batch_size, context):
    rows = ids[: len(ids) // batch_size * batch_size].view(batch_size, -1)
    for i in range(0, rows.shape[1] - context, context):
        yield rows[:, i : i + context], rows[:, i + 1 : i + context + 1]


def _streams_with_shared_ends(ids, batch_size, context):
    length = (len(ids) - 1) // batch_size // context * context
    x, y = (ids[k : k + batch_size * length].view(batch_size, length) for k in (0, 1))
    return [(x[:, i : i + context], y[:, i : i + context]) for i in range(0, length, context)]


def _gathered(ids, batch_size, context):
    i = 0
    found = []
    while i + batch_size * context < len(ids):
        rows = [
            (ids[j : j + context], ids[j + 1 : j + context + 1]) for j in range(i, i + batch_size * context, context)
        ]
        found.append((torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])))
        i += batch_size * context
    return found


class _Loader:
    def __init__(self, ids, batch_size, context):
        self.windows = ids.unfold(0, context + 1, context) if len(ids) > context else ids.new_zeros(0, context + 1)
        self.batch_size = batch_size

    def __iter__(self):
        for part in self.windows.split(self.batch_size):
            if len(part) == self.batch_size:
                yield part[:, :-1], part[:, 1:]


def _shuffled(ids, batch_size, context):
    found = _gathered(ids, batch_size, context)
    random.Random(0).shuffle(found)
    return found


def _padded(ids, batch_size, context):
    ids = torch.cat([ids, ids.new_zeros(batch_size * context)])
    return _gathered(ids, batch_size, context)


def _random_windows(ids, batch_size, context):
    found = []
    for _ in range((len(ids) - 1) // batch_size // context):
        at = torch.randint(0, len(ids) - context, (batch_size, 1)) + torch.arange(context)
        found.append((ids[at], ids[at + 1]))
    return found


def _strided_rows(ids, batch_size, context):
    """Each row takes every batch_size-th token."""
    n = (len(ids) - 1) // batch_size // context
    for i in range(n):
        start = i * batch_size * context
        x, y = (ids[start + k : start + k + batch_size * context].view(context, batch_size).T for k in (0, 1))
        yield x, y


VARIANTS = {
    "lm.batches": [_streams, _streams_with_shared_ends, _gathered, _Loader],
}

WRONG = {
    "lm.batches": [
        _shuffled,
        _padded,
        _random_windows,
        _strided_rows,
        lambda ids, batch_size, context: [],
        lambda ids, batch_size, context: _gathered(ids[1:], batch_size, context)[::-1],
        lambda ids, batch_size, context: [(x, y, y) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [x for x, _ in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [(x.tolist(), y.tolist()) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [(x[0], y[0]) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: 2 * _gathered(ids, batch_size, context),
        lambda ids, batch_size, context: ids[: batch_size * context].view(batch_size, context),
    ],
}
