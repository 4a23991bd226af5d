"""Right and wrong answers of 07_language_model, written otherwise."""

import itertools
import math
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


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


def _loss_loop(logits, targets):
    total = 0
    for row, wanted in zip(logits, targets, strict=True):
        for z, target in zip(row, wanted, strict=True):
            total = total + torch.logsumexp(z, 0) - z[target]
    return total / targets.numel()


def _loss_one_hot(logits, targets):
    hot = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return -torch.einsum("btv,btv->", hot, logits.log_softmax(-1)) / targets.numel()


def _clamped(logits, targets):
    p = logits.softmax(-1).gather(-1, targets[..., None])
    return -(p + 1e-3).log().mean()


def _without_zero(logits, targets):
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=0)


def _np_perplexity(losses, n_tokens):
    return np.exp(np.average(losses, weights=n_tokens))


def _product(losses, n_tokens):
    total = sum(n_tokens)
    return math.prod(math.exp(x * n / total) for x, n in zip(losses, n_tokens, strict=True))


def _repeated(losses, n_tokens):
    every = torch.tensor(losses, dtype=torch.float64).repeat_interleave(torch.tensor(n_tokens))
    return every.mean().exp()


def _bigram_loop(ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size, device=ids.device)
    for i in range(len(ids) - 1):
        counts[ids[i], ids[i + 1]] += 1
    return counts / counts.sum(dim=1, keepdim=True)


def _bigram_one_hot(ids, vocab_size):
    hot = F.one_hot(ids, vocab_size).double()
    counts = hot[:-1].T @ hot[1:] + 1
    return counts / counts.sum(1)[:, None]


def _bigram_put(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size, device=ids.device)
    one = torch.ones(len(ids) - 1, device=ids.device)
    counts.index_put_((ids[:-1], ids[1:]), one, accumulate=True)
    return F.normalize(counts + 1, p=1, dim=1)


def _bigram_half(ids, vocab_size):
    counts = torch.full((vocab_size, vocab_size), 0.5)
    for a, b in itertools.pairwise(ids.tolist()):
        counts[a, b] += 1
    return counts / counts.sum(1, keepdim=True)


def _bigram_softmax(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for a, b in itertools.pairwise(ids.tolist()):
        counts[a, b] += 1
    return (counts + 1).softmax(1)


def _bigram_seen_only(ids, vocab_size):
    n = int(ids.max()) + 1
    return _bigram_loop(ids, n)


def _nats(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), reduction="sum")


def _summed_then_divided(model, batch, optimizer, max_norm, accumulate):
    inputs, targets = batch
    model.train()
    optimizer.zero_grad(set_to_none=False)
    for x, y in zip(inputs.chunk(accumulate), targets.chunk(accumulate), strict=True):
        (_nats(model, x, y) / targets.numel()).backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm, foreach=False)
    optimizer.step()
    return None


def _whole(model, batch, optimizer, max_norm, accumulate):
    """All at once: the same step, but more memory."""
    loss = _nats(model, *batch) / batch[1].numel()
    grads = torch.autograd.grad(loss, list(model.parameters()))
    norm = torch.cat([g.flatten() for g in grads]).norm()
    for p, g in zip(model.parameters(), grads, strict=True):
        p.grad = g * min(1, max_norm / norm)
    optimizer.step()
    return loss.item()


def _cleared_at_the_end(model, batch, optimizer, max_norm, accumulate):
    size = -(-len(batch[0]) // accumulate)
    for i in range(0, len(batch[0]), size):
        x, y = (part[i : i + size] for part in batch)
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        (loss * len(x) / len(batch[0])).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    return loss


def _graph_kept(model, batch, optimizer, max_norm, accumulate):
    losses = [_nats(model, x[None], y[None]) for x, y in zip(*batch, strict=True)]
    for p in model.parameters():
        p.grad = None
    (sum(losses) / batch[1].numel()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


def _cleared_too_late(model, batch, optimizer, max_norm, accumulate):
    (_nats(model, *batch) / batch[1].numel()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.zero_grad()
    optimizer.step()


def _without_clipping(model, batch, optimizer, max_norm, accumulate):
    optimizer.zero_grad()
    (_nats(model, *batch) / batch[1].numel()).backward()
    optimizer.step()


def _own_optimizer(model, batch, optimizer, max_norm, accumulate):
    _cleared_at_the_end(model, batch, torch.optim.Adam(model.parameters()), max_norm, accumulate)


def _without_a_graph(model, batch, optimizer, max_norm, accumulate):
    with torch.no_grad():
        _cleared_at_the_end(model, batch, optimizer, max_norm, accumulate)


def _norm_one(model, batch, optimizer, max_norm, accumulate):
    _cleared_at_the_end(model, batch, optimizer, 1.0, accumulate)


def _accumulate_ones(model, batch, optimizer, max_norm, accumulate):
    """Parts of `accumulate` rows, each counting alike."""
    optimizer.zero_grad()
    parts = list(zip(*(x.split(accumulate) for x in batch), strict=True))
    for x, y in parts:
        (F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / len(parts)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


def _twice(model, batch, optimizer, max_norm, accumulate):
    for _ in range(2):
        _cleared_at_the_end(model, batch, optimizer, max_norm, accumulate)


def _then(change):
    """A right step, and then something that is not its business."""

    def version(model, batch, optimizer, max_norm, accumulate):
        _whole(model, batch, optimizer, max_norm, accumulate)
        change(model, *batch)

    return version


def _evaluating_within(model, batch, optimizer, max_norm, accumulate):
    model.eval()
    loss = _nats(model, *batch) / batch[1].numel()
    model.train()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


def _without_bias(model, batch, optimizer, max_norm, accumulate):
    _whole(model, batch, optimizer, max_norm, accumulate)
    model.bias.data.zero_()


def _gumbel(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """The largest of logits with Gumbel noise is a draw from their softmax."""
    z = logits / temperature
    if top_k:
        z = torch.where(z >= z.sort(-1).values[:, -top_k, None], z, -math.inf)
    if top_p:
        p = z.softmax(-1)
        better = (p[:, None, :] > p[:, :, None]) * p[:, None, :]
        z = z.masked_fill(better.sum(-1) >= top_p, -math.inf)
    u = torch.rand(z.shape, generator=generator, dtype=z.dtype, device=z.device)
    return (z - (-u.log()).log()).argmax(-1)


def _inverse(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """Where a uniform number falls among the added-up chances."""
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p = torch.cat([p[:, :top_k], torch.zeros_like(p[:, top_k:])], -1)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        n_kept = (p.cumsum(-1) < top_p).sum(-1, keepdim=True) + 1
        p = p * (torch.arange(p.shape[-1], device=p.device) < n_kept)
        p = p / p.sum(-1, keepdim=True)
    u = torch.rand(len(p), 1, generator=generator, device=p.device, dtype=p.dtype)
    place = (p.cumsum(-1) < u).sum(-1, keepdim=True).clamp(max=p.shape[-1] - 1)
    return order.gather(1, place).squeeze(1)


def _shifted_mask(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """As in the widely used snippet: the mask of what exceeds top_p, shifted by one."""
    logits = logits / temperature
    if top_k is not None:
        logits = logits.masked_fill(logits < torch.topk(logits, top_k)[0][..., -1, None], -float("inf"))
    if top_p is not None:
        ranked, order = torch.sort(logits, descending=True)
        remove = ranked.softmax(-1).cumsum(-1) > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(1, order, remove), -float("inf"))
    return torch.multinomial(F.softmax(logits, -1), 1, generator=generator).squeeze(-1)


def _in_bulk(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """Only right if all rows had the same distribution."""
    p = (logits[0] / temperature).softmax(-1)
    return torch.multinomial(p, len(logits), replacement=True, generator=generator)


def _square(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    return _shifted_mask(logits, temperature**2, top_k, top_p, generator)


def _seeded_by_shape(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    torch.manual_seed(logits.shape[-1])
    return _shifted_mask(logits, temperature, top_k, top_p)


def _first_ids(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = logits if top_k is None else logits.masked_fill(torch.arange(logits.shape[-1]) >= top_k, -math.inf)
    return _shifted_mask(logits, temperature, None, top_p, generator)


def _kept(logits, temperature=1.0, top_k=None, top_p=None):
    """Logits with −∞ for what is cut."""
    z = logits / temperature
    if top_k is not None:
        z = z.masked_fill(z < z.topk(top_k).values[:, -1:], -math.inf)
    if top_p is not None:
        p, order = z.softmax(-1).sort(-1, descending=True)
        cut = p.cumsum(-1) - p >= top_p
        z = z.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), -math.inf)
    return z


def _race(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """The first of exponential clocks."""
    p = _kept(logits, temperature, top_k, top_p).softmax(-1)
    return (p / torch.empty_like(p).exponential_(generator=generator)).argmax(-1)


def _row_by_row(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    rows = _kept(logits, temperature, top_k, top_p).softmax(-1)
    return torch.cat([torch.multinomial(row, 1, generator=generator) for row in rows])


def _in_place(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits /= temperature
    return _race(logits, 1.0, top_k, top_p, generator)


def _heated_again(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    z = _kept(logits, temperature, top_k, top_p) / temperature
    return torch.multinomial(z.softmax(-1), 1, generator=generator)[:, 0]


def _generator_set_back(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    return _race(logits, temperature, top_k, top_p, generator.manual_seed(0))


def _emptied(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """The token that crosses top_p is cut, the likeliest too."""
    z = _kept(logits, temperature, top_k)
    if top_p is not None:
        p, order = z.softmax(-1).sort(-1, descending=True)
        z = z.masked_fill(torch.zeros_like(p > 0).scatter(-1, order, p.cumsum(-1) > top_p), -math.inf)
    return torch.multinomial(z.softmax(-1), 1, generator=generator)[:, 0]


VARIANTS = {
    "lm.sample": [_gumbel, _inverse, _shifted_mask, _race, _row_by_row],
    "lm.train_step": [_summed_then_divided, _cleared_at_the_end, _graph_kept],
    "lm.loss": [
        _loss_loop,
        _loss_one_hot,
        lambda logits, targets: F.cross_entropy(logits.transpose(1, 2), targets),
        lambda logits, targets: nn.CrossEntropyLoss()(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)),
        lambda logits, targets: F.nll_loss(logits.log_softmax(-1).flatten(0, 1), targets.flatten()),
        lambda logits, targets: (logits.logsumexp(-1) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).mean(),
    ],
    "lm.perplexity": [
        _np_perplexity,
        _product,
        _repeated,
        lambda losses, n_tokens: math.e ** (np.dot(losses, n_tokens) / np.sum(n_tokens)),
        lambda losses, n_tokens: 2 ** (np.dot(losses, n_tokens) / np.sum(n_tokens) / math.log(2)),
    ],
    "lm.bigram": [_bigram_loop, _bigram_one_hot, _bigram_put],
    "lm.batches": [_streams, _streams_with_shared_ends, _gathered, _Loader],
}

WRONG = {
    "lm.sample": [
        _in_bulk,
        _in_place,
        _heated_again,
        _generator_set_back,
        _emptied,
        _square,
        _seeded_by_shape,
        _first_ids,
        lambda *given, **named: _shifted_mask(*given, **named).flip(0),
        lambda *given, **named: _shifted_mask(*given, **named).double(),
        lambda *given, **named: _shifted_mask(*given, **named).tolist(),
        lambda *given, **named: (_shifted_mask(*given, **named) + 1) % 5,
        lambda logits, temperature, top_k, top_p, generator: _gumbel(
            logits, temperature + 0.5, top_k, top_p, generator
        ),
        lambda logits, temperature, top_k, top_p, generator: _gumbel(logits, temperature, top_k, None, generator),
        lambda logits, temperature, top_k, top_p, generator: logits.softmax(-1),
    ],
    "lm.train_step": [
        _whole,
        _without_clipping,
        _cleared_too_late,
        _own_optimizer,
        _without_a_graph,
        _norm_one,
        _accumulate_ones,
        _twice,
        _without_bias,
        _evaluating_within,
        _then(lambda model, x, y: model.eval()),
        _then(lambda model, x, y: model.dropout.eval()),
        _then(lambda model, x, y: model.embedding.requires_grad_(False)),
        _then(lambda model, x, y: torch.set_grad_enabled(False)),
        _then(lambda model, x, y: torch.set_default_dtype(torch.float64)),
        _then(lambda model, x, y: y.fill_(0)),
        lambda model, batch, optimizer, max_norm, accumulate: optimizer.step(),
        lambda model, batch, optimizer, max_norm, accumulate: _whole(model, batch[::-1], optimizer, max_norm, 1),
        lambda model, batch, optimizer, max_norm, accumulate: _whole(model, batch, optimizer, max_norm / accumulate, 1),
    ],
    "lm.loss": [
        _clamped,
        _without_zero,
        lambda logits, targets: F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1),
        lambda logits, targets: F.cross_entropy(logits, targets),
        lambda logits, targets: F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.T.reshape(-1)),
        lambda logits, targets: F.cross_entropy(logits.detach().flatten(0, 1), targets.flatten()),
        lambda logits, targets: F.mse_loss(logits.softmax(-1), F.one_hot(targets, logits.shape[-1]).to(logits.dtype)),
        lambda logits, targets: F.cross_entropy(logits.flatten(0, 1), targets.flatten())[None],
    ],
    "lm.perplexity": [
        lambda losses, n_tokens: round(_np_perplexity(losses, n_tokens), 2),
        lambda losses, n_tokens: float(np.median(np.exp(losses))),
        lambda losses, n_tokens: math.exp(sum(losses)),
        lambda losses, n_tokens: math.exp(np.average(losses[:-1] or [0], weights=n_tokens[:-1] or [1])),
        lambda losses, n_tokens: 10 ** np.average(losses, weights=n_tokens),
        lambda losses, n_tokens: [math.exp(x) for x in losses],
        lambda losses, n_tokens: math.exp(min(np.average(losses, weights=n_tokens), 20)),
    ],
    "lm.bigram": [
        _bigram_half,
        _bigram_softmax,
        _bigram_seen_only,
        lambda ids, vocab_size: _bigram_loop(ids.flip(0), vocab_size),
        lambda ids, vocab_size: _bigram_loop(ids[1:], vocab_size),
        lambda ids, vocab_size: _bigram_loop(ids, vocab_size).log(),
        lambda ids, vocab_size: _bigram_loop(ids, vocab_size).tolist(),
        lambda ids, vocab_size: torch.ones(vocab_size, vocab_size) / vocab_size,
        lambda ids, vocab_size: _bigram_loop(ids, vocab_size).flatten(),
    ],
    "lm.batches": [
        _shuffled,
        _padded,
        _random_windows,
        _strided_rows,
        lambda ids, batch_size, context: [],
        lambda ids, batch_size, context: _gathered(ids[1:], batch_size, context)[::-1],
        lambda ids, batch_size, context: [(x, y.float()) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [(x, y, y) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [x for x, _ in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [(x.tolist(), y.tolist()) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: [(x[0], y[0]) for x, y in _gathered(ids, batch_size, context)],
        lambda ids, batch_size, context: 2 * _gathered(ids, batch_size, context),
        lambda ids, batch_size, context: ids[: batch_size * context].view(batch_size, context),
    ],
}
