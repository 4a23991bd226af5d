"""Shapes of models as frozen data, and the presets that the course names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """A model's shape: `LanguageModel(*config.shape, dropout=config.dropout)` builds one."""

    vocab_size: int
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    max_len: int
    dropout: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """(vocab_size, d_model, n_heads, d_ff, n_layers), in the order that models take them."""
        return self.vocab_size, self.d_model, self.n_heads, self.d_ff, self.n_layers


seed = Config(100, 200, 2, 200, 4, max_len=256)
base = Config(37_000, 512, 8, 2048, 6, max_len=512, dropout=0.1)  # Vaswani et al. 2017, table 3
big = Config(37_000, 1024, 16, 4096, 6, max_len=512, dropout=0.3)
bert_base = Config(30_522, 768, 12, 3072, 12, max_len=512, dropout=0.1)  # Devlin et al. 2018, section 3
tiny = Config(32, 12, 3, 20, 2, max_len=16)
