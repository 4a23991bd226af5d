"""Right and wrong answers of 06_translation, written otherwise than in the pages."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# ---- shift_right ----


def shift_by_assignment(ids, bos_id):
    out = torch.empty_like(ids)
    out[:, 0] = bos_id
    out[:, 1:] = ids[:, :-1]
    return out


def shift_by_roll(ids, bos_id):
    out = ids.roll(1, dims=1)
    out[:, 0] = bos_id
    return out


def shift_by_loop(ids, bos_id):
    rows = [torch.tensor([bos_id, *row[:-1]], device=ids.device) for row in ids.tolist()]
    return torch.stack(rows)


def shift_padded(ids, bos_id):
    return F.pad(ids, (1, 0), value=bos_id)[:, : ids.shape[1]]


def shift_hides_end(ids, bos_id):
    """EOS and pads taken out of what is read."""
    out = shift_by_assignment(ids, bos_id)
    return out.masked_fill(out == 2, 0)


# ---- loss ----


def loss_of_real_rows(logits, targets, pad_id, smoothing):
    real = targets != pad_id
    return F.cross_entropy(logits[real], targets[real], label_smoothing=smoothing)


def loss_by_module(logits, targets, pad_id, smoothing):
    return nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing)(logits.transpose(1, 2), targets)


def loss_from_shares(logits, targets, pad_id, smoothing):
    vocab = logits.shape[-1]
    shares = F.one_hot(targets, vocab).to(logits.dtype) * (1 - smoothing) + smoothing / vocab
    real = (targets != pad_id).to(logits.dtype)
    return -torch.einsum("btv,btv,bt->", shares, F.log_softmax(logits, -1), real) / real.sum()


def loss_by_loop(logits, targets, pad_id, smoothing):
    total, n = 0, 0
    for row, wanted in zip(logits, targets, strict=True):
        for z, target in zip(row, wanted, strict=True):
            if target != pad_id:
                log_p = z - z.logsumexp(0)
                total = total - (1 - smoothing) * log_p[target] - smoothing * log_p.mean()
                n += 1
    return total / n


def loss_summed_then_divided(logits, targets, pad_id, smoothing):
    total = F.cross_entropy(
        logits.reshape(-1, logits.size(-1)),
        targets.reshape(-1),
        ignore_index=pad_id,
        reduction="sum",
        label_smoothing=smoothing,
    )
    return total / targets.ne(pad_id).sum()


def loss_without_reduction(logits, targets, pad_id, smoothing):
    each = F.cross_entropy(logits.permute(0, 2, 1), targets, reduction="none", label_smoothing=smoothing)
    real = targets != pad_id
    return torch.where(real, each, 0).sum() / real.sum()


def loss_stops_at_pad(logits, targets, pad_id, smoothing):
    """Real until the first pad of all sentences."""
    real = (targets == pad_id).any(0).cumsum(0) == 0
    return F.cross_entropy(logits[:, real].flatten(0, 1), targets[:, real].flatten(), label_smoothing=smoothing)


def loss_skips_said_pads(logits, targets, pad_id, smoothing):
    """Leaves out what the model takes for a pad."""
    real = logits.argmax(-1) != pad_id
    return F.cross_entropy(logits[real], targets[real], label_smoothing=smoothing)


# ---- learning rate ----


def rate_by_branches(step, d_model, warmup):
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup * math.sqrt(warmup))
    return 1 / math.sqrt(step * d_model)


def rate_from_the_top(step, d_model, warmup):
    top = (d_model * warmup) ** -0.5
    return top * min(step / warmup, math.sqrt(warmup / step))


def rate_in_numpy(step, d_model, warmup):
    return np.minimum(np.power(float(step), -0.5), step * np.power(float(warmup), -1.5)) / np.sqrt(d_model)


def rate_as_tensor(step, d_model, warmup):
    step = torch.tensor(float(step))
    return torch.minimum(step.rsqrt(), step * warmup**-1.5) * d_model**-0.5


VARIANTS = {
    "translation.shift_right": [shift_by_assignment, shift_by_roll, shift_by_loop, shift_padded],
    "translation.loss": [
        loss_of_real_rows,
        loss_by_module,
        loss_from_shares,
        loss_by_loop,
        loss_summed_then_divided,
        loss_without_reduction,
    ],
    "translation.learning_rate": [rate_by_branches, rate_from_the_top, rate_in_numpy, rate_as_tensor],
}

WRONG = {
    "translation.shift_right": [
        shift_hides_end,
        lambda ids, bos_id: shift_by_assignment(ids.flip(1), bos_id),
        lambda ids, bos_id: shift_by_assignment(ids, bos_id)[:, 1:],
        lambda ids, bos_id: shift_by_assignment(ids, int(ids[0, 0])),
        lambda ids, bos_id: shift_by_assignment(ids, bos_id) + 1,
        lambda ids, bos_id: (ids, shift_by_assignment(ids, bos_id)),
        lambda ids, bos_id: torch.full_like(ids, bos_id),
        lambda ids, bos_id: torch.where(ids[:, :1] == bos_id, ids, shift_by_assignment(ids, bos_id)),
        lambda ids, bos_id: shift_by_assignment(ids, bos_id).bool(),
    ],
    "translation.loss": [
        loss_stops_at_pad,
        loss_skips_said_pads,
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits, targets, pad_id, 1 - smoothing),
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits, targets, pad_id, smoothing).exp(),
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits.detach(), targets, pad_id, smoothing),
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits, targets, -100, smoothing),
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits.flip(1), targets.flip(1), 0, smoothing / 2),
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits, targets, pad_id, smoothing)[None],
        lambda logits, targets, pad_id, smoothing: (1 + smoothing) * loss_by_module(logits, targets, pad_id, 0),
        lambda logits, targets, pad_id, smoothing: F.cross_entropy(logits, targets),
        lambda logits, targets, pad_id, smoothing: loss_by_module(logits.to(torch.float16), targets, pad_id, smoothing),
    ],
    "translation.learning_rate": [
        lambda step, d_model, warmup: rate_by_branches(step, d_model, 4000),
        lambda step, d_model, warmup: rate_by_branches(step, 512, warmup),
        lambda step, d_model, warmup: 2 * rate_by_branches(step, d_model, warmup),
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step * warmup ** (-3 // 2)),
        lambda step, d_model, warmup: -(d_model**0.5) * min(step**0.5, step * warmup**1.5),
        lambda step, d_model, warmup: (rate_by_branches(step, d_model, warmup), step),
        lambda step, d_model, warmup: 1e-3 * 0.5 * (1 + math.cos(math.pi * step / 100_000)),
        lambda step, d_model, warmup: d_model**-0.5 * (step**-0.5 + step * warmup**-1.5),
    ],
}
