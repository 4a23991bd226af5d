"""The two layers that everything is stacked from (Vaswani et al. 2017, section 3.1).

Letters for shapes: B batch, T time, D d_model.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from helpers.attention import MultiHeadAttention

Activation = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    """Two linear layers at each position, D → d_ff → D. (Section 3.3)"""

    def __init__(self, d_model: int, d_ff: int, activation: Activation = F.relu) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        return self.down(self.activation(self.up(x)))


class _Residual(nn.Module):
    """What both layers share: x + sublayer, with the norm after the sum, or before the sublayer if norm_first."""

    def __init__(self, norm_first: bool, dropout: float) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)

    def _residual(self, x: Tensor, norm: nn.LayerNorm, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.norm_first:
            return x + self.dropout(sublayer(norm(x)))
        return norm(x + self.dropout(sublayer(x)))


class EncoderLayer(_Residual):
    """Self-attention, then feed-forward. Post-norm as in 2017; pre-norm (Xiong et al. 2020) if norm_first.

    ValueError if n_heads does not divide d_model.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        norm_first: bool = False,
        dropout: float = 0.0,
        activation: Activation = F.relu,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__(norm_first, dropout)
        self.attention = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1 = nn.LayerNorm(d_model, norm_eps)
        self.norm2 = nn.LayerNorm(d_model, norm_eps)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, T, D) → (B, T, D); the mask broadcasts to (B, H, T, T)."""
        x = self._residual(x, self.norm1, lambda x: self.attention(x, mask=mask))
        return self._residual(x, self.norm2, self.feed_forward)


class DecoderLayer(_Residual):
    """Self-attention, attention to the encoder's output, feed-forward. Norms as in `EncoderLayer`.

    ValueError if n_heads does not divide d_model.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, norm_first: bool = False, dropout: float = 0.0) -> None:
        super().__init__(norm_first, dropout)
        self.self_attention = MultiHeadAttention(d_model, n_heads, dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """x (B, T, D), memory (B, S, D) → (B, T, D); masks broadcast to (B, H, T, T) and (B, H, T, S)."""
        x = self._residual(x, self.norm1, lambda x: self.self_attention(x, mask=mask))
        x = self._residual(x, self.norm2, lambda x: self.cross_attention(x, memory, memory_mask))
        return self._residual(x, self.norm3, self.feed_forward)
