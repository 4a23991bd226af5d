"""Translation without the model: what the decoder reads, the loss with smoothing, and the paper's learning rate.

Letters for shapes: B batch, T target time, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def shift_right(ids: Tensor, bos_id: int) -> Tensor:
    """What the decoder reads to predict ids (B, T), same shape: BOS first, then all but the last column.

    Position t then has read the t tokens before the one that it is to predict. (Vaswani et al. 2017, section 3.1)
    """
    first = ids.new_full((len(ids), 1), bos_id)  # (B, 1)
    return torch.cat([first, ids[:, :-1]], 1)  # (B, T)


def loss(logits: Tensor, targets: Tensor, pad_id: int, smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy in nats over the real tokens: logits (B, T, V), targets (B, T) → ().

    The right token gets 1 − smoothing, and all V tokens, it too, share `smoothing` equally. (Szegedy et al. 2016,
    section 7; Vaswani et al. 2017, section 5.4) NaN where every target is a pad: there is nothing to average.
    """
    return F.cross_entropy(
        logits.flatten(0, 1),  # (B · T, V)
        targets.flatten(),  # (B · T,)
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """d_model^−½ · min(step^−½, step · warmup^−1.5) for step 1, 2 …: it rises to step `warmup`, then falls.

    (Vaswani et al. 2017, equation 3) ValueError for a step or a warmup below 1.
    """
    if step < 1 or warmup < 1:
        raise ValueError(f"step={step} and warmup={warmup}: both count from 1.")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
