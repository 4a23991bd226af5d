"""From logits to tokens: greedy, beam search, sampling.

Letters for shapes: B batch, S source time, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

Translator = Callable[[Tensor, Tensor], Tensor]  # source (B, S), target (B, T) → logits (B, T, V)


@torch.no_grad()
def greedy(model: Translator, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    """The likeliest token at each step: source (B, S) → ids (B, ≤ max_len), without BOS.

    A row that has ended is filled with eos_id; decoding stops when all have ended.
    """
    target = source.new_full((len(source), 1), bos_id)  # (B, 1)
    ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)  # (B,)
    for _ in range(max_len):
        token = model(source, target)[:, -1].argmax(-1)  # (B,)
        token = token.masked_fill(ended, eos_id)
        target = torch.cat([target, token[:, None]], 1)  # (B, T + 1)
        ended = ended | (token == eos_id)
        if ended.all():
            break
    return target[:, 1:]


@torch.no_grad()
def beam(
    model: Translator, source: Tensor, bos_id: int, eos_id: int, max_len: int, width: int, alpha: float
) -> tuple[Tensor, float]:
    """Beam search for one source (1, S) → ids (1, ≤ max_len) without BOS, and their score.

    The score is log-probability / length^alpha; the length counts generated tokens, EOS with them. At each step
    the `width` likeliest continuations stay; one that ends is set aside and gives up its place, so that width 1
    is greedy. (Wu et al. 2016, section 7, with a plain power of the length)
    ValueError for more than one source, or a width or max_len below 1.
    """
    if len(source) != 1 or width < 1 or max_len < 1:
        raise ValueError(
            f"beam() got {len(source)} sources, width={width} and max_len={max_len}: "
            "give it one source (1, S), and a width and a max_len of at least 1."
        )
    live = source.new_full((1, 1), bos_id)  # (W, T)
    total = torch.zeros(1, device=source.device)  # (W,), log-probability of each
    best, best_score = live[:, 1:], -math.inf
    for length in range(1, max_len + 1):
        logits = model(source.expand(len(live), -1), live)[:, -1]  # (W, V)
        candidates = (total[:, None] + _at_least_float32(logits).log_softmax(-1)).flatten()  # (W · V,)
        ranked, order = candidates.sort(descending=True, stable=True)  # (W · V,), ties fall as in argmax
        total, index = ranked[:width], order[:width]  # (W,)
        parent, token = index // logits.shape[-1], index % logits.shape[-1]
        live = torch.cat([live[parent], token[:, None]], 1)  # (W, T + 1)
        ended = (token == eos_id) | (length == max_len)
        for ids, score in zip(live[ended], (total[ended] / length**alpha).tolist(), strict=True):
            if score > best_score:
                best, best_score = ids[None, 1:], score
        live, total, width = live[~ended], total[~ended], width - int(ended.sum())
        if not len(live):
            break
    return best, best_score


def sample(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """One token for each row of logits (B, V) → (B,).

    Temperature first, then the top_k likeliest, then the fewest likeliest whose probabilities (renormalised after
    top_k) reach top_p, the token that crosses it among them. (Holtzman et al. 2020, section 3.1)
    ValueError unless temperature is above 0, top_k at least 1 and top_p in (0, 1].
    """
    _check_sampling(temperature, top_k, top_p)
    logits = _at_least_float32(logits) / temperature  # (B, V)
    logits, order = logits.sort(dim=-1, descending=True, stable=True)  # (B, V) each, likeliest first
    if top_k is not None:
        logits[:, top_k:] = -math.inf
    probabilities = logits.softmax(-1)  # (B, V)
    if top_p is not None:
        before = probabilities.cumsum(-1) - probabilities  # (B, V), what is likelier than each; 0 for the first
        probabilities = probabilities.masked_fill(before >= top_p, 0)
    choice = torch.multinomial(probabilities, 1, generator=generator)  # (B, 1), renormalises
    return order.gather(-1, choice)[:, 0]  # (B,)


def _check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if not temperature > 0:
        raise ValueError(f"temperature={temperature} is not above 0: for the likeliest token use top_k=1.")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k} keeps no token: give at least 1, or None to keep them all.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p} is no share: give more than 0 and at most 1, or None to keep all tokens.")


def _at_least_float32(x: Tensor) -> Tensor:
    """Half precision is too coarse to rank or add up the tokens of a vocabulary."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
