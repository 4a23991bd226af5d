"""Right and wrong answers of 02_masks, written otherwise than in the pages."""

import itertools
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

INF = math.inf


def additive(allowed):
    return torch.zeros(allowed.shape).masked_fill(~allowed, -INF)


def rule(allowed):
    """A mask from `allowed(i, j, …)`, entry by entry."""

    def made(n, *more):
        rows = [[0.0 if allowed(i, j, *more) else -INF for j in range(n)] for i in range(n)]
        return torch.tensor(rows)

    return made


# ---- causal ----


def causal_in_numpy(n):
    hidden = np.triu(np.full((n, n), -np.inf), k=1)
    return torch.from_numpy(hidden).to(torch.get_default_dtype()).to(torch.get_default_device())


def causal_by_assignment(n):
    mask = torch.zeros(n, n)
    for i in range(n):
        mask[i, i + 1 :] = -INF
    return mask


# ---- padding ----


def padding_by_loop(ids, pad_id):
    mask = torch.zeros(ids.shape[0], 1, 1, ids.shape[1], dtype=torch.bool, device=ids.device)
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            mask[b, 0, 0, t] = ids[b, t] != pad_id
    return mask


# ---- combine ----


def combine_through_booleans(*masks):
    floats = [m.dtype for m in masks if m.dtype != torch.bool]
    allowed = torch.ones((), dtype=torch.bool, device=masks[0].device)
    for m in masks:
        allowed = allowed & (m if m.dtype == torch.bool else m == 0)
    if not floats:
        return allowed
    return torch.where(allowed, 0.0, -INF).to(floats[0])


def combine_by_minimum(*masks):
    floats = [m.dtype for m in masks if m.dtype != torch.bool]
    if not floats:
        return torch.stack(torch.broadcast_tensors(*masks)).all(0)
    zeros = [torch.where(m, 0.0, -INF).to(floats[0]) if m.dtype == torch.bool else m for m in masks]
    return torch.stack(torch.broadcast_tensors(*zeros)).amin(0)


def combine_by_recursion(first, *rest):
    if not rest:
        return first
    other = combine_by_recursion(*rest)
    if first.dtype == other.dtype == torch.bool:
        return first * other
    if first.dtype == torch.bool:
        return other.masked_fill(~first, -INF) if other.numel() > first.numel() else other + first.to(other).log()
    return first + (other.to(first).log() if other.dtype == torch.bool else other)


def combine_in_place(*masks):
    result = masks[0]
    for m in masks[1:]:
        result &= m
    return result


# ---- masked softmax ----


def softmax_safe(scores, mask):
    blind = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~(mask | blind), -INF).softmax(-1) * ~blind


def softmax_by_least_number(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def softmax_by_hand(scores, mask):
    highest = scores.masked_fill(~mask, -INF).amax(-1, keepdim=True)
    highest = torch.where(highest.isfinite(), highest, 0).detach()
    parts = torch.where(mask, (torch.where(mask, scores, highest) - highest).exp(), 0)
    whole = parts.sum(-1, keepdim=True)
    return parts / torch.where(whole > 0, whole, 1)


def softmax_by_loop(scores, mask):
    mask = mask.expand(scores.shape)
    out = torch.zeros_like(scores)
    for row in itertools.product(*map(range, scores.shape[:-1])):
        if mask[row].any():
            seen = mask[row].nonzero()[:, 0]
            out[row].scatter_(0, seen, scores[row][seen].softmax(0))
    return out


def softmax_from_log(scores, mask):
    hidden = scores.masked_fill(~mask, -INF)
    whole = hidden.masked_fill(~mask.any(-1, keepdim=True), 0).logsumexp(-1, keepdim=True)
    return (hidden - whole).exp()


# ---- leaks ----


def leaks_in_a_loop(model, vocab_size, n):
    ids = torch.zeros(1, n, dtype=torch.long)
    with torch.no_grad():
        before = model(ids)
        for position in range(1, n):
            for token in range(vocab_size):
                other = ids.clone()
                other[0, position] = token
                if not np.allclose(before[0, :position].numpy(), model(other)[0, :position].numpy(), atol=1e-5):
                    return np.True_
    return np.False_


def leaks_in_one_batch(model, vocab_size, n):
    starts = torch.randint(vocab_size, (3, 1, 1, n), generator=torch.Generator().manual_seed(1))
    ids = starts.repeat(1, n, vocab_size, 1)  # (S, T, V, T)
    for position in range(n):
        ids[:, position, :, position] = torch.arange(vocab_size)
    logits = model(ids.flatten(0, 2)).detach().unflatten(0, ids.shape[:3])
    spread = (logits.amax(2) - logits.amin(2)).amax(-1)  # (S, T, T)
    return (spread.tril(-1).transpose(1, 2).triu(1) > 1e-6).any()


def leaks_by_prefixes(model, vocab_size, n):
    """A shorter text gives the same logits: sequences of one token only, cut everywhere."""
    ids = torch.arange(vocab_size)[:, None].repeat(1, n)
    whole = model(ids)
    return any(not torch.allclose(model(ids[:, :t]), whole[:, :t], rtol=1e-4, atol=1e-6) for t in range(1, n))


def leaks_last_of_each_prefix(model, vocab_size, n):
    """Every text ends somewhere: exchange the last token of each prefix, and look at all before it."""
    for t in range(2, n + 1):
        ids = torch.full((vocab_size, t), 2)
        ids[:, -1] = torch.arange(vocab_size)
        logits = model(torch.cat([ids, torch.full((vocab_size, n - t), 1)], 1))
        if logits[:, : t - 1].std(0).max() > 1e-7:
            return True
    return False


def search(model, vocab_size, n, draws, seed=0, whole=False):
    """Random pairs of texts that part at a random position."""
    rng = torch.Generator().manual_seed(seed)
    for _ in range(draws):
        for position in range(1, n):
            ids = torch.randint(vocab_size, (1, n), generator=rng)
            other = ids.clone()
            end = n if whole else position + 1
            other[:, position:end] = torch.randint(vocab_size, (1, end - position), generator=rng)
            if not torch.allclose(model(ids)[:, :position], model(other)[:, :position], atol=1e-6):
                return True
    return False


def tries(changes, compare=None, base=None):
    """A search through `changes(ids, n, v)`, which yields (position, other)."""

    def leaks(model, vocab_size, n):
        ids = torch.arange(n)[None] % vocab_size if base is None else base(n, vocab_size)
        before = model(ids)
        for position, other in changes(ids, n, vocab_size):
            after = model(other)
            if (
                compare(before, after, position)
                if compare
                else not torch.allclose(before[:, :position], after[:, :position], atol=1e-6)
            ):
                return True
        return False

    return leaks


def everything(ids, n, v):
    for position in range(1, n):
        for token in range(v):
            other = ids.clone()
            other[0, position] = token
            yield position, other


def first_only(ids, n, v):
    for token in range(v):
        other = ids.clone()
        other[0, 0] = token
        yield 0, other


def shuffled(ids, n, v):
    for position in range(1, n):
        other = ids.clone()
        other[0, position:] = other[0, position:].flip(0)
        yield position, other


def early_tokens(ids, n, v):
    for position in range(1, n):
        for token in range(n):
            other = ids.clone()
            other[0, position] = token
            yield position, other


def same_tensor(ids, n, v):
    for position in range(1, n):
        for token in range(v):
            ids[0, position] = token
            yield position, ids


def middle_only(ids, n, v):
    for token in range(v):
        other = ids.clone()
        other[0, n // 2] = token
        yield n // 2, other


def sequences_of_length_three(model, vocab_size, n):
    return leaks_in_a_loop(model, vocab_size, min(n, 3))


def fixed_length(model, vocab_size, n):
    return leaks_in_a_loop(model, vocab_size, 5)


def fixed_vocabulary(model, vocab_size, n):
    return leaks_in_a_loop(model, 10, n)


def too_many_tokens(model, vocab_size, n):
    return leaks_in_a_loop(model, vocab_size + 1, n)


def last_logits(model, vocab_size, n):
    return tries(everything, lambda a, b, p: not torch.allclose(a[:, -1], b[:, -1]))(model, vocab_size, n)


# ---- what becomes zero ----


def zero_by_difference(q, k, v, mask):
    """Blocked keys are given other values: what is weighted by zero does not notice."""
    hidden = ~mask if mask.dtype == torch.bool else mask < 0
    hidden = hidden.expand(*q.shape[:-1], k.shape[-2])
    weights = F.scaled_dot_product_attention(
        q, k, torch.eye(k.shape[-2], dtype=v.dtype, device=v.device).expand(*k.shape[:-1], -1), ~hidden
    )
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden)
    blind = hidden.all(-1)
    weights, out = weights.masked_fill(blind[..., None], 0), out.masked_fill(blind[..., None], 0)
    touched = hidden.any(-1)
    return {
        "scores": False,
        "weights": bool(hidden.any()) and not bool(weights[hidden].any()),
        "values": False,
        "output": bool(touched.any()) and float(out[touched].abs().max()) == 0.0,
    }


def zero_by_loop(q, k, v, mask):
    mask = (mask if mask.dtype == torch.bool else mask == 0).expand(*q.shape[:-1], k.shape[-2])
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    found = {"scores": [], "weights": [], "values": [], "output": []}
    weights = softmax_safe(scores, mask)
    for place in itertools.product(*map(range, scores.shape)):
        if not mask[place]:
            found["scores"].append(-INF)
            found["weights"].append(float(weights[place]))
            found["values"] += v[(*place[:-2], place[-1])].tolist()
            found["output"] += (weights @ v)[place[:-1]].tolist()
    return {name: len(all_) > 0 and all(x == 0 for x in all_) for name, all_ in found.items()}


def zero(scores=False, weights=True, values=False, output=False):
    return lambda q, k, v, mask: {"scores": scores, "weights": weights, "values": values, "output": output}


# ---- decoding ----


def decoding(with_cache, without_cache):
    return lambda: {"with_cache": with_cache, "without_cache": without_cache}


VARIANTS = {
    "masks.causal": [
        rule(lambda i, j: j <= i),
        causal_in_numpy,
        causal_by_assignment,
        lambda n: torch.full((n, n), -INF).triu(1),
        lambda n: torch.where(torch.arange(n)[:, None] >= torch.arange(n), 0.0, -INF),
        lambda n: torch.ones(n, n).tril().log(),
        lambda n: nn.Transformer.generate_square_subsequent_mask(n),
        lambda n: additive(torch.ones(n, n).cumsum(1) <= torch.ones(n, n).cumsum(0)),
    ],
    "masks.padding": [
        padding_by_loop,
        lambda ids, pad_id: (ids != pad_id).unsqueeze(1).unsqueeze(2),
        lambda ids, pad_id: ~(ids == pad_id).view(ids.shape[0], 1, 1, -1),
        lambda ids, pad_id: torch.where(ids == pad_id, False, True)[:, None, None],
        lambda ids, pad_id: (ids - pad_id).bool().reshape(len(ids), 1, 1, ids.size(1)),
    ],
    "masks.combine": [combine_through_booleans, combine_by_minimum, combine_by_recursion],
    "masks.to_torch": [
        lambda mask: ~mask if mask.dtype == torch.bool else mask,
        lambda mask: mask.logical_not() if not mask.is_floating_point() else mask.clone(),
        lambda mask: torch.where(mask, False, True) if mask.dtype is torch.bool else mask + 0,
        lambda mask: mask ^ True if mask.dtype == torch.bool else torch.where(mask == 0, mask, -INF),
    ],
    "masks.masked_softmax": [
        softmax_safe,
        softmax_by_least_number,
        softmax_by_hand,
        softmax_by_loop,
        softmax_from_log,
        lambda s, m: s.masked_fill(~m, -INF).softmax(-1).nan_to_num(0),
        lambda s, m: torch.where(m, s.masked_fill(~m, -INF).softmax(-1), 0),
    ],
    "masks.leaks_future": [
        leaks_in_a_loop,
        leaks_in_one_batch,
        leaks_by_prefixes,
        leaks_last_of_each_prefix,
        tries(everything),
        tries(everything, base=lambda n, v: torch.arange(n).flip(0)[None]),
        tries(everything, base=lambda n, v: torch.full((1, n), v - 1)),
        tries(everything, lambda a, b, p: float((a - b)[:, :p].abs().sum()) > 1e-4),
        tries(everything, lambda a, b, p: not torch.allclose(a[:, :p].softmax(-1), b[:, :p].softmax(-1), atol=1e-8)),
        lambda model, v, n: search(model, v, n, draws=150, whole=True),
    ],
    "masks.what_becomes_zero": [zero_by_difference, zero_by_loop],
    "masks.sliding_window": [
        rule(lambda i, j, window: 0 <= i - j < window),
        lambda n, window: additive(torch.ones(n, n, dtype=torch.bool).tril().triu(1 - window)),
        lambda n, window: torch.full((n, n), -INF).triu(1) + torch.full((n, n), -INF).tril(-window),
        lambda n, window: sum(torch.eye(n).roll(-d, 1).tril() for d in range(min(window, n))).log(),
    ],
    "masks.prefix": [
        rule(lambda i, j, n_prefix: j < n_prefix or j <= i),
        lambda n, n_prefix: additive(torch.arange(n) < torch.arange(1, n + 1).clamp(min=n_prefix)[:, None]),
        lambda n, n_prefix: torch.cat([torch.zeros(n, n_prefix), torch.full((n, n), -INF).triu(1)[:, n_prefix:]], 1),
    ],
    "masks.needed_when_decoding": [
        decoding(False, True),
        lambda: {"without_cache": torch.tensor(True), "with_cache": np.False_},
    ],
}

WRONG = {
    "masks.causal": [
        rule(lambda i, j: j <= 0),
        lambda n: torch.full((64, 64), -INF).triu(1)[:n, :n],
        rule(lambda i, j: i + j < 3),
        rule(lambda i, j: i - 4 < j <= i),
        rule(lambda i, j: True),
        rule(lambda i, j: i == j),
        lambda n: torch.zeros(n),
        lambda n: torch.full((n, n), -INF).triu(1)[None],
        lambda n: torch.full((n, n), -INF).triu(1).tolist(),
        lambda n: torch.full((n, n), -1e4).triu(1),
        lambda n: torch.full((n, n), torch.finfo(torch.get_default_dtype()).min).triu(1),
        lambda n: torch.full((n + 1, n + 1), -INF).triu(1),
        lambda n: torch.full((n, n), -INF).tril(-1),
        lambda n: torch.full((n, n), -INF).triu(1).half(),
        lambda n: torch.full((n, n), -INF, device="cpu").triu(1),
        lambda n: torch.full((n, n), math.nan).triu(1),
        lambda n: torch.full((n, n), -INF).triu(1) + 1,
        lambda n: torch.from_numpy(np.triu(np.full((n, n), -np.inf), k=1)),
        lambda n: torch.full((n, n), -INF).triu(1).to_sparse(),
    ],
    "masks.padding": [
        lambda ids, pad: torch.ones(ids.shape[0], 1, 1, ids.shape[1], dtype=torch.bool),
        lambda ids, pad: (ids < pad)[:, None, None, :],
        lambda ids, pad: (ids != pad)[..., None, None],
        lambda ids, pad: (ids != pad)[:, None, None, :].float(),
        lambda ids, pad: (ids != pad)[:, None, None, :].flip(-1),
        lambda ids, pad: (ids != ids[:, -1:])[:, None, None, :],
        lambda ids, pad: (ids != pad).T[:, None, None, :],
        lambda ids, pad: (ids != pad).tolist(),
        lambda ids, pad: (ids != pad)[:1, None, None, :],
        lambda ids, pad: ids.masked_fill_(ids == pad, 0)[:, None, None, :] != 0,
        lambda ids, pad: ((ids != pad).cumprod(1) > 0)[:, None, None, :],
        lambda ids, pad: (ids.cpu() != pad)[:, None, None, :],
        lambda ids, pad: (ids != pad)[:, None, None, :] & torch.ones(ids.shape[1], ids.shape[1]).tril().bool(),
    ],
    "masks.combine": [
        combine_in_place,
        lambda *m: m[0],
        lambda *m: [*m],
        lambda *m: torch.stack(m).all(0),
        lambda a, b: a & b,
        lambda *m: combine_through_booleans(*[x for x in m if x.dtype == torch.bool] or m),
        lambda *m: ~combine_through_booleans(*m) if m[0].dtype == torch.bool else combine_through_booleans(*m),
        lambda *m: combine_through_booleans(*m).squeeze(),
        lambda *m: combine_through_booleans(*m).clamp(min=-1e9),
        lambda *m: combine_through_booleans(*m).half(),
        lambda *m: combine_through_booleans(*m).float(),
        lambda *m: combine_through_booleans(*(torch.where(x, 0.0, -INF) if x.dtype == torch.bool else x for x in m)),
        lambda *m: torch.stack(torch.broadcast_tensors(*m)).any(0),
        lambda *m: combine_through_booleans(*(x ^ True if x.dtype == torch.bool else x for x in m)),
    ],
    "masks.to_torch": [
        lambda mask: mask * -1,
        lambda mask: -mask,
        lambda mask: ~mask.bool(),
        lambda mask: ~mask if mask.dtype == torch.bool else mask.float(),
        lambda mask: ~mask if mask.dtype == torch.bool else mask.clamp(min=-1e9),
        lambda mask: (~mask).squeeze() if mask.dtype == torch.bool else mask.squeeze(),
        lambda mask: torch.zeros_like(mask),
        lambda mask: torch.where(mask, -INF, 0.0) if mask.dtype == torch.bool else mask,
        lambda mask: mask.logical_not_() if mask.dtype == torch.bool else mask,
        lambda mask: (~mask).flatten(0, -3) if mask.dtype == torch.bool and mask.dim() > 2 else mask,
        lambda mask: ~mask.mT if mask.dtype == torch.bool else mask,
    ],
    "masks.masked_softmax": [
        lambda s, m: softmax_safe(s, m).detach(),
        lambda s, m: softmax_safe(s.double(), m),
        lambda s, m: softmax_safe(s, m).log(),
        lambda s, m: softmax_safe(s, m).mT,
        lambda s, m: s.masked_fill(~m, 0).softmax(-1),
        lambda s, m: s.masked_fill(~m, -10).softmax(-1),
        lambda s, m: (s.softmax(-1) * m).div((s.softmax(-1) * m).sum(-1, keepdim=True) + 1e-7),
        lambda s, m: s.masked_fill(~m, INF).softmax(-1),
        lambda s, m: s.log_softmax(-1).masked_fill(~m, 0),
        lambda s, m: (s + torch.where(m, 0.0, -INF)).softmax(-1).nan_to_num(0).to(s.dtype),
        lambda s, m: (s + (~m) * -1e9).softmax(-1) * m,
        lambda s, m: s.masked_fill(~m, -INF).softmax(0),
        lambda s, m: s.masked_fill(~m, -INF).flatten(-2).softmax(-1).view(s.shape),
        lambda s, m: s.masked_fill(~m, -INF).sigmoid(),
        lambda s, m: s * m / (s * m).sum(-1, keepdim=True),
        lambda s, m: (2 * s).masked_fill(~m, -INF).softmax(-1).nan_to_num(0),
        lambda s, m: torch.where(m, 1.0, 0.0).to(s.dtype) / m.sum(-1, keepdim=True),
        lambda s, m: F.one_hot(s.masked_fill(~m, -INF).argmax(-1), s.shape[-1]).to(s.dtype),
        lambda s, m: s.masked_fill(~m, -INF).softmax(-1) if m.any(-1).all() else torch.zeros_like(s),
        lambda s, m: softmax_safe(s, m[..., :1, :]),
    ],
    "masks.leaks_future": [
        lambda model, v, n: search(model, v, n, draws=1),
        lambda model, v, n: search(model, v, n, draws=3),
        lambda model, v, n: search(model, v, n, draws=2, whole=True),
        lambda model, v, n: search(model, v, n, draws=2, seed=5, whole=True),
        tries(first_only),
        tries(first_only, lambda a, b, p: not torch.allclose(a[:, 1:], b[:, 1:])),
        tries(shuffled),
        tries(early_tokens),
        tries(same_tensor),
        tries(middle_only),
        tries(everything, lambda a, b, p: not torch.allclose(a, b)),
        tries(everything, lambda a, b, p: not torch.allclose(a[:, : p + 1], b[:, : p + 1])),
        tries(everything, lambda a, b, p: torch.allclose(a[:, :p], b[:, :p])),
        tries(everything, lambda a, b, p: bool((a[:, :p] != b[:, :p]).any())),
        tries(everything, lambda a, b, p: not torch.allclose(a[:, p:], b[:, p:])),
        tries(everything, lambda a, b, p: not torch.allclose(a[:, 0], b[:, 0])),
        tries(everything, lambda a, b, p: bool((a.argmax(-1) != b.argmax(-1))[:, :p].any())),
        tries(everything, lambda a, b, p: not torch.allclose(a[:, :p].mean(), b[:, :p].mean(), atol=0.5)),
        tries(everything, lambda a, b, p: not torch.allclose(a[:, :p], b[:, :p], atol=5)),
        sequences_of_length_three,
        fixed_length,
        fixed_vocabulary,
        too_many_tokens,
        last_logits,
        lambda model, v, n: "leak",
        lambda model, v, n: int(leaks_in_a_loop(model, v, n)),
        lambda model, v, n: [bool(leaks_in_a_loop(model, v, n))],
        lambda model, v, n: bool(torch.rand((), generator=torch.Generator().manual_seed(n * v)) < 0.5),
        lambda model, v, n: bool(model.c.triu(1).any()),
    ],
    "masks.what_becomes_zero": [
        zero(),
        zero(values=True),
        zero(scores=True, weights=False),
        zero(weights=False, output=True),
        lambda q, k, v, mask: {"weights": True},
        lambda q, k, v, mask: ["weights"],
        lambda q, k, v, mask: "weights",
        lambda q, k, v, mask: zero_by_loop(q, k, v, mask) | {"output": False},
        lambda q, k, v, mask: zero_by_loop(q, k, v, mask) | {"weights": True},
        lambda q, k, v, mask: {name: int(x) for name, x in zero_by_loop(q, k, v, mask).items()},
        lambda q, k, v, mask: zero(weights=bool((mask == 0).any()))(q, k, v, mask),
        lambda q, k, v, mask: zero_by_loop(q, k, v, mask.bool()),
    ],
    "masks.sliding_window": [
        rule(lambda i, j, window: i - j <= window + 1 and j <= i),
        rule(lambda i, j, window: 0 <= j - i < window),
        rule(lambda i, j, window: 0 < i - j < window),
        rule(lambda i, j, window: i - j == window - 1),
        rule(lambda i, j, window: j <= i and j < window),
        rule(lambda i, j, window: 0 <= i - j < 3),
        rule(lambda i, j, window: j <= i and (i - j) % window == 0),
        lambda n, window: additive(torch.ones(n, n, dtype=torch.bool).tril().triu(-window)),
        lambda n, window: additive(torch.ones(n, window, dtype=torch.bool)),
        lambda n, window: torch.full((n, n), -INF).triu(1) * torch.full((n, n), -INF).tril(-window),
        lambda n, window: sum(torch.eye(n).roll(-d, 1) for d in range(min(window, n))).log(),
    ],
    "masks.prefix": [
        rule(lambda i, j, n_prefix: i < n_prefix and j < n_prefix),
        rule(lambda i, j, n_prefix: i < n_prefix or j < n_prefix),
        rule(lambda i, j, n_prefix: j < n_prefix),
        rule(lambda i, j, n_prefix: j <= i + n_prefix),
        rule(lambda i, j, n_prefix: j <= max(i, n_prefix)),
        rule(lambda i, j, n_prefix: n_prefix <= j <= i or i == j),
        rule(lambda i, j, n_prefix: j <= i or j < 3),
        rule(lambda i, j, n_prefix: True),
        lambda n, n_prefix: torch.zeros(n, n)[:n_prefix],
        lambda n, n_prefix: torch.full((n, n), -INF).triu(n_prefix + 1),
    ],
    "masks.needed_when_decoding": [
        decoding("no", "yes"),
        decoding(0, 1),
        decoding(None, True),
        lambda: (False, True),
        lambda: {"cache": False, "no_cache": True},
        lambda: {"with_cache": False},
    ],
}
