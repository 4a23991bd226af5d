"""Right and wrong answers of bert.mask_tokens and bert.mlm_loss, written otherwise."""

import math

import torch
from torch.nn import functional as F

# ---- masked tokens ----


def _exactly(ids, special_ids, vocab_size, mask_id, generator):
    """Exact counts over the whole batch: a permutation of what may be chosen, cut at three places."""
    special = torch.tensor(special_ids)
    places = (~torch.isin(ids, special)).flatten().nonzero()[:, 0]
    places = places[torch.randperm(len(places), generator=generator)][: round(0.15 * len(places))]
    n_masked, n_random = round(0.8 * len(places)), round(0.1 * len(places))
    inputs, labels = ids.flatten().clone(), torch.full((ids.numel(),), -100)
    labels[places] = ids.flatten()[places]
    inputs[places[:n_masked]] = mask_id
    ordinary = torch.tensor(sorted(set(range(vocab_size)) - set(special_ids)))
    inputs[places[n_masked : n_masked + n_random]] = ordinary[
        torch.randint(len(ordinary), (n_random,), generator=generator)
    ]
    return inputs.view_as(ids), labels.view_as(ids)


def _exactly_in_each_row(ids, special_ids, vocab_size, mask_id, generator):
    inputs, labels = ids.clone(), torch.full_like(ids, -100)
    ordinary = [i for i in range(vocab_size) if i not in special_ids]
    for row in range(len(ids)):
        may = [t for t, i in enumerate(ids[row].tolist()) if i not in special_ids]
        order = torch.randperm(len(may), generator=generator).tolist()
        chosen = [may[i] for i in order[: int(0.15 * len(may))]]
        for n, t in enumerate(chosen):
            labels[row, t] = ids[row, t]
            if n < int(0.8 * len(chosen)):
                inputs[row, t] = mask_id
            elif n < int(0.9 * len(chosen)):
                inputs[row, t] = ordinary[int(torch.randint(len(ordinary), (), generator=generator))]
    return inputs, labels


def _half_of_the_rest(ids, special_ids, vocab_size, mask_id, generator):
    """As the transformers library throws its dice."""
    labels, inputs = ids.clone(), ids.clone()
    chance = torch.full(ids.shape, 0.15)
    for i in special_ids:
        chance[ids == i] = 0.0
    chosen = torch.bernoulli(chance, generator=generator).bool()
    labels[~chosen] = -100
    masked = torch.bernoulli(torch.full(ids.shape, 0.8), generator=generator).bool() & chosen
    inputs[masked] = mask_id
    other = torch.bernoulli(torch.full(ids.shape, 0.5), generator=generator).bool() & chosen & ~masked
    words = torch.randint(vocab_size, ids.shape, generator=generator)
    while (wrong := torch.isin(words, torch.tensor(special_ids))).any():
        words[wrong] = torch.randint(vocab_size, (int(wrong.sum()),), generator=generator)
    inputs[other] = words[other]
    return inputs, labels


def _one_throw(ids, special_ids, vocab_size, mask_id, generator):
    """One throw decides all: below 0.12 masked, to 0.135 random, to 0.15 kept."""
    lot = torch.rand(ids.shape, generator=generator, dtype=torch.float64)
    lot = lot.masked_fill(torch.isin(ids, torch.tensor(special_ids)), 1.0)
    chance = torch.ones(vocab_size)
    chance[special_ids] = 0
    words = torch.multinomial(chance, ids.numel(), replacement=True, generator=generator).view(ids.shape)
    inputs = torch.where(lot < 0.12, mask_id, torch.where(lot < 0.135, words, ids))
    return inputs, torch.where(lot < 0.15, ids, -100)


def _never_the_old_one(ids, special_ids, vocab_size, mask_id, generator):
    """A random token that is another one: no fault that anyone could see."""
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    place = torch.zeros(vocab_size, dtype=torch.int64)
    place[ordinary] = torch.arange(len(ordinary))
    step = torch.randint(1, len(ordinary), ids.shape, generator=generator)
    words = ordinary[(place[ids] + step) % len(ordinary)]
    chosen = ~torch.isin(ids, torch.tensor(special_ids)) & (torch.rand(ids.shape, generator=generator) < 0.15)
    kind = torch.randint(10, ids.shape, generator=generator)
    inputs = torch.where(chosen & (kind < 8), mask_id, torch.where(chosen & (kind == 8), words, ids))
    return inputs, torch.where(chosen, ids, -100)


def _masker(rate=0.15, cuts=(0.8, 0.9), dice=None, words=None, label=-100):
    def made(ids, special_ids, vocab_size, mask_id, generator):
        rand = dice or (lambda ids: torch.rand(ids.shape, generator=generator))
        chosen = ~torch.isin(ids, torch.tensor(special_ids)) & (rand(ids) < rate)
        lot = torch.rand(ids.shape, generator=generator)
        ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
        other = (words or (lambda ids, n: torch.randint(n, ids.shape, generator=generator)))(ids, len(ordinary))
        inputs = torch.where(chosen & (lot < cuts[0]), mask_id, ids)
        inputs = torch.where(chosen & (lot >= cuts[0]) & (lot < cuts[1]), ordinary[other % len(ordinary)], inputs)
        return inputs, ids.masked_fill(~chosen, label)

    return made


def _by_id(ids, special_ids, vocab_size, mask_id, generator):
    """A word is chosen everywhere or nowhere."""
    chosen = ~torch.isin(ids, torch.tensor(special_ids)) & (torch.rand(vocab_size, generator=generator) < 0.15)[ids]
    return torch.where(chosen, mask_id, ids), torch.where(chosen, ids, -100)


def _one_lot(ids, special_ids, vocab_size, mask_id, generator):
    """One throw for the whole batch decides what becomes of the chosen."""
    chosen = ~torch.isin(ids, torch.tensor(special_ids)) & (torch.rand(ids.shape, generator=generator) < 0.15)
    lot = torch.rand((), generator=generator)
    inputs = torch.where(chosen, mask_id if lot < 0.8 else 5, ids)
    return inputs if lot < 0.9 else ids.clone(), torch.where(chosen, ids, -100)


def _shuffled(ids, special_ids, vocab_size, mask_id, generator):
    """Random tokens out of the text itself."""
    chosen = ~torch.isin(ids, torch.tensor(special_ids)) & (torch.rand(ids.shape, generator=generator) < 0.15)
    lot = torch.rand(ids.shape, generator=generator)
    words = ids.flatten()[torch.randperm(ids.numel(), generator=generator)].view_as(ids)
    inputs = torch.where(chosen & (lot < 0.8), mask_id, torch.where(chosen & (lot > 0.9), words, ids))
    return inputs, torch.where(chosen, ids, -100)


def _mask_left_in(ids, special_ids, vocab_size, mask_id, generator):
    """Special tokens are left alone, but labelled."""
    inputs, labels = _one_throw(ids, special_ids, vocab_size, mask_id, generator)
    return inputs, torch.where(torch.isin(ids, torch.tensor(special_ids)), ids, labels)


def _after(change):
    return lambda *given, **named: change(*_one_throw(*given, **named))


# ---- the loss ----


def _chosen_alone(logits, labels):
    told = labels != -100
    return F.cross_entropy(logits[told], labels[told]) if told.any() else logits.sum() * 0


def _gathered(logits, labels):
    told = labels != -100
    nats = -logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return (nats * told).sum() / max(int(told.sum()), 1)


def _transposed(logits, labels):
    nats = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return nats.sum() / (labels >= 0).sum().clamp(min=1)


def _nan_to_num(logits, labels):
    if bool((labels == -100).all()):
        return logits.new_zeros(())
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def _without_the_maximum(logits, labels):
    asked = labels != -100
    nats = logits.exp().sum(-1).log() - logits.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return nats[asked].sum() / asked.sum().clamp(min=1)


def _looped(logits, labels):
    total, n = logits.new_zeros(()), 0
    for row, told in zip(logits, labels, strict=True):
        for scores, label in zip(row, told.tolist(), strict=True):
            if label != -100:
                total = total + scores.logsumexp(0) - scores[label]
                n += 1
    return total / n if n else total


VARIANTS = {
    "bert.mask_tokens": [_exactly, _exactly_in_each_row, _half_of_the_rest, _one_throw, _never_the_old_one],
    "bert.mlm_loss": [_chosen_alone, _gathered, _transposed, _nan_to_num, _looped],
}

WRONG = {
    "bert.mask_tokens": [
        _by_id,
        _one_lot,
        _shuffled,
        _mask_left_in,
        _masker(rate=0.2),
        _masker(rate=0.12),
        _masker(cuts=(0.7, 0.9)),
        _masker(cuts=(0.9, 0.95)),
        _masker(cuts=(0.8, 0.85)),
        _masker(label=-1),
        _masker(label=100),
        _masker(words=lambda ids, n: torch.randint(n - 1, ids.shape)),
        _masker(dice=lambda ids: (torch.arange(ids.numel()).view(ids.shape) * 0.6180339887) % 1),
        _masker(dice=lambda ids: torch.rand(len(ids), 1).expand(ids.shape)),
        _masker(words=lambda ids, n: torch.zeros_like(ids)),
        _after(lambda inputs, labels: (inputs, labels.double())),
        _after(lambda inputs, labels: (inputs[:, 1:], labels[:, 1:])),
        _after(lambda inputs, labels: (inputs.tolist(), labels.tolist())),
        _after(lambda inputs, labels: (inputs, labels[labels != -100])),
        _after(lambda inputs, labels: (inputs, labels.roll(1, 1))),
        _after(lambda inputs, labels: (inputs, torch.where(inputs == labels, -100, labels))),
        lambda ids, special_ids, vocab_size, mask_id, generator: (ids.clone(), torch.full_like(ids, -100)),
        lambda ids, special_ids, vocab_size, mask_id, generator: (torch.full_like(ids, mask_id), ids.clone()),
    ],
    "bert.mlm_loss": [
        _without_the_maximum,
        lambda logits, labels: _chosen_alone(logits, labels).exp(),
        lambda logits, labels: _chosen_alone(logits, labels) / math.log(2),
        lambda logits, labels: F.nll_loss(logits.flatten(0, 1), labels.flatten()),
        lambda logits, labels: F.mse_loss(logits.argmax(-1).double(), labels.double()),
        lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1),
        lambda logits, labels: _chosen_alone(logits[:1], labels[:1]),
        lambda logits, labels: _chosen_alone(logits, labels).abs().sqrt(),
        lambda logits, labels: logits.sum() * 0,
    ],
}
