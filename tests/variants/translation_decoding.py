"""Right and wrong answers of 06_translation, decoding: greedy, and every beam search that people teach."""

import heapq
import itertools
import math

import numpy as np
import torch
from torch.nn import functional as F

# ---- greedy ----


def greedy_with_buffer(model, source, bos_id, eos_id, max_len):
    """Everything is there from the start, and the model reads all of it."""
    ids = torch.full((source.size(0), max_len + 1), eos_id, device=source.device)
    ids[:, 0] = bos_id
    alive = torch.ones(source.size(0), dtype=torch.bool)
    for t in range(max_len):
        said = model(source, ids)[:, t].max(-1).indices
        ids[alive, t + 1] = said[alive]
        alive = alive & (said != eos_id)
        if not alive.any():
            return ids[:, 1 : t + 2]
    return ids[:, 1:]


def greedy_row_by_row(model, source, bos_id, eos_id, max_len):
    rows = []
    for one in source:
        row = [bos_id]
        while len(row) <= max_len and eos_id not in row[1:]:
            logits = model(one[None], torch.tensor([row], device=source.device))
            row.append(int(np.argmax(logits[0, -1].numpy())))
        rows.append(row[1:])
    longest = max(map(len, rows))
    return torch.tensor([row + [eos_id] * (longest - len(row)) for row in rows])


def greedy_tidied_after(model, source, bos_id, eos_id, max_len):
    """Rows go on as they like; what follows the first EOS is written over."""
    target = torch.full((len(source), 1), bos_id)
    for _ in range(max_len):
        target = torch.cat([target, model(source, target)[:, -1:].argmax(-1)], 1)
        if (target == eos_id)[:, 1:].any(1).all():
            break
    out = target[:, 1:].clone()
    out[(out == eos_id).cumsum(1) > 0] = eos_id
    return out


def greedy_by_recursion(model, source, bos_id, eos_id, max_len):
    def go(target):
        ended = (target[:, 1:] == eos_id).any(1)
        if target.shape[1] > max_len or ended.all():
            return target[:, 1:]
        token = F.log_softmax(model(source, target), -1)[:, -1].topk(1).indices
        return go(torch.cat([target, token.masked_fill(ended[:, None], eos_id)], 1))

    return go(source.new_full((len(source), 1), bos_id))


def greedy_of_shortened(model, source, bos_id, eos_id, max_len):
    """Those that have ended leave the batch."""
    out = source.new_full((len(source), max_len), eos_id)
    rows, target = torch.arange(len(source)), source.new_full((len(source), 1), bos_id)
    for t in range(max_len):
        token = model(source[rows], target)[:, -1].argmax(-1)
        out[rows, t] = token
        going = token != eos_id
        rows, target = rows[going], torch.cat([target, token[:, None]], 1)[going]
        if not len(rows):
            return out[:, : t + 1]
    return out


def greedy_by_chance(model, source, bos_id, eos_id, max_len):
    ids = source.new_full((len(source), 1), bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, torch.multinomial(model(source, ids)[:, -1].softmax(-1), 1)], 1)
    return ids[:, 1:]


def greedy_with_late_ends(model, source, bos_id, eos_id, max_len):
    def other(source, target):
        logits = model(source, target).clone()
        logits[:, -1, eos_id] -= 3
        return logits

    return greedy_tidied_after(other, source, bos_id, eos_id, max_len)


# ---- beam ----


def beam_in_tensors(model, source, bos_id, eos_id, max_len, width, alpha):
    """topk on flattened totals, as in most libraries."""
    ids = source.new_full((1, 1), bos_id)
    total, found = torch.zeros(1), []
    while len(ids) and ids.shape[1] <= max_len:
        logs = F.log_softmax(model(source.repeat(len(ids), 1), ids)[:, -1], -1)
        scores = (total[:, None] + logs).view(-1)
        total, index = scores.topk(min(width, len(scores)))
        token = index % logs.shape[-1]
        ids = torch.hstack([ids[torch.div(index, logs.shape[-1], rounding_mode="floor")], token[:, None]])
        ended = token == eos_id
        found += zip(total[ended].tolist(), ids[ended].tolist(), strict=True)
        width -= int(ended.sum())
        ids, total = ids[~ended], total[~ended]
    found += zip(total.tolist(), ids.tolist(), strict=True)
    best = max(found, key=lambda f: f[0] / (len(f[1]) - 1) ** alpha)
    return torch.tensor([best[1][1:]]), best[0] / (len(best[1]) - 1) ** alpha


def carried_along(rank):
    """Those that have ended stay in the beam, compete there, and get no continuations."""

    def search(model, source, bos_id, eos_id, max_len, width, alpha):
        beams = [(0.0, (bos_id,))]
        for _ in range(max_len):
            pool = []
            for total, ids in beams:
                if ids[-1] == eos_id and len(ids) > 1:
                    pool.append((total, ids))
                    continue
                logs = model(source, torch.tensor([ids]))[0, -1].log_softmax(0)
                pool += [(total + x, (*ids, t)) for t, x in enumerate(logs.tolist())]
            beams = heapq.nlargest(width, pool, key=lambda b: rank(b[0], len(b[1]) - 1, alpha))
            if all(ids[-1] == eos_id for _, ids in beams):
                break
        total, ids = max(beams, key=lambda b: b[0] / (len(b[1]) - 1) ** alpha)
        return torch.tensor([ids[1:]]), np.float64(total / (len(ids) - 1) ** alpha)

    return search


def with_reserve(cut_ones):
    """2 · width continuations are looked at; EOS counts among the first `width`; the end is when `width` have ended."""

    def search(model, source, bos_id, eos_id, max_len, width, alpha):
        beams, done = [(0.0, [bos_id])], []
        for _ in range(max_len):
            pool = []
            for total, ids in beams:
                logs = model(source, torch.tensor([ids]))[:, -1].log_softmax(-1)[0]
                pool += [(total + float(x), [*ids, t]) for t, x in enumerate(logs)]
            pool = sorted(pool, reverse=True)[: 2 * width]
            done += [p for p in pool[:width] if p[1][-1] == eos_id]
            beams = [p for p in pool if p[1][-1] != eos_id][:width]
            if len(done) >= width:
                break
        else:
            done += beams if cut_ones or not done else []
        score, ids = max((total / (len(ids) - 1) ** alpha, ids) for total, ids in done)
        return torch.tensor(ids[1:])[None], torch.tensor(score)

    return search


def beam_that_ends_with_the_first(model, source, bos_id, eos_id, max_len, width, alpha):
    """The likeliest first word decides."""
    first = model(source, torch.tensor([[bos_id]]))[0, -1].argmax()

    def after(source, target):
        logits = model(source, target).clone()
        logits[:, 0] = torch.where(torch.arange(logits.shape[-1]) == first, logits[:, 0], -math.inf)
        return logits

    return beam_in_tensors(after, source, bos_id, eos_id, max_len, width, alpha)


def beam_of_everything(model, source, bos_id, eos_id, max_len, width, alpha):
    """No beam: every sentence of up to three tokens."""
    found = []
    vocab = model(source, torch.tensor([[bos_id]])).shape[-1]
    for ids in itertools.product(range(vocab), repeat=min(max_len, 3)):
        logs = model(source, torch.tensor([[bos_id, *ids[:-1]]]))[0].log_softmax(-1)
        found.append((float(logs[range(len(ids)), ids].sum()) / len(ids) ** alpha, ids))
    score, ids = max(found)
    return torch.tensor([ids]), score


def wider(model, source, bos_id, eos_id, max_len, width, alpha):
    return beam_in_tensors(model, source, bos_id, eos_id, max_len, width + 2, alpha)


def beam_that_drops_nothing(model, source, bos_id, eos_id, max_len, width, alpha):
    """The `width` best continuations of each hypothesis, all of them kept."""
    going, found = [(0.0, [bos_id])], []
    for _ in range(max_len):
        grown = []
        for total, ids in going:
            best = model(source, torch.tensor([ids]))[0, -1].log_softmax(-1).topk(width)
            grown += [(total + float(x), [*ids, int(t)]) for x, t in zip(*best, strict=True)]
        found += [g for g in grown if g[1][-1] == eos_id]
        going = [g for g in grown if g[1][-1] != eos_id]
    score, ids = max((total / (len(ids) - 1) ** alpha, ids) for total, ids in found + going)
    return torch.tensor([ids[1:]]), score


VARIANTS = {
    "translation.greedy": [
        greedy_with_buffer,
        greedy_row_by_row,
        greedy_tidied_after,
        greedy_by_recursion,
        greedy_of_shortened,
    ],
    "translation.beam": [
        beam_in_tensors,
        carried_along(lambda total, length, alpha: total),
        carried_along(lambda total, length, alpha: total / length**alpha),
        with_reserve(cut_ones=True),
        with_reserve(cut_ones=False),
    ],
}

WRONG = {
    "translation.greedy": [
        greedy_with_late_ends,
        greedy_by_chance,
        lambda model, source, bos_id, eos_id, max_len: greedy_by_recursion(model, source, bos_id, 2, max_len),
        lambda model, source, bos_id, eos_id, max_len: greedy_by_recursion(model, source, bos_id, eos_id, 5),
        lambda model, source, bos_id, eos_id, max_len: greedy_by_recursion(
            model, source.flip(0), bos_id, eos_id, max_len
        ),
        lambda model, source, bos_id, eos_id, max_len: greedy_by_recursion(model, source, bos_id, eos_id, max_len)[:1],
        lambda model, source, bos_id, eos_id, max_len: greedy_by_recursion(model, source, bos_id, eos_id, max_len).T,
        lambda model, source, bos_id, eos_id, max_len: model(source, source).argmax(-1),
        lambda model, source, bos_id, eos_id, max_len: source,
    ],
    "translation.beam": [
        beam_that_ends_with_the_first,
        wider,
        lambda *given: carried_along(lambda total, length, alpha: -total)(*given),
        lambda *given: beam_in_tensors(*given[:-1], 0.5),
        lambda *given: beam_in_tensors(*given[:-2], 2, given[-1]),
        lambda *given: beam_in_tensors(*given[:4], 9, *given[5:]),
        beam_that_drops_nothing,
        lambda *given: (beam_in_tensors(*given)[0], 0.0),
        lambda *given: (greedy_by_recursion(*given[:5]), beam_in_tensors(*given)[1]),
        lambda *given: beam_in_tensors(*given)[1],
    ],
}
