"""01_attention: who looks at whom, and how strongly."""

import torch

from autograder.ask import Case
from autograder.exercise import exercise, mistake
from helpers import attention
from helpers.attention import MultiHeadAttention as Book
from helpers.attention import attend, merge_heads, split_heads


def _variant(heads=split_heads, merge=merge_heads, attend=attend, project=True, values="memory"):
    """The reference with one part exchanged."""

    class Variant(Book):
        def forward(self, x, memory=None, mask=None):
            memory = x if memory is None else memory
            source = memory if values == "memory" else x
            q, k, v = self.q_proj(x), self.k_proj(memory), self.v_proj(source)
            out, _ = attend(heads(q, self.n_heads), heads(k, self.n_heads), heads(v, self.n_heads), mask)
            out = merge(out)
            return self.out_proj(out) if project else out

    return Variant


def _by_d_model(q, k, v, mask):
    return attend(q / q.shape[1] ** 0.5, k, v, mask)  # q is (B, H, T, K): d_model = H·K


@exercise("attention.MultiHeadAttention", points=4, minutes=25, difficulty=4, ask="module")
class MultiHeadAttention:
    """A module with q_proj, k_proj, v_proj, out_proj (with biases); forward(x, memory=None, mask=None) → (B, Tq, D)."""

    signature = "MultiHeadAttention(d_model, n_heads); forward(x (B, Tq, D), memory=None (B, Tk, D), mask=None) -> (B, Tq, D)"
    reference = attention.MultiHeadAttention
    shortcuts = ["MultiheadAttention", "multi_head_attention_forward"]

    def cases(rng):
        made = []
        for n_heads, d_k, with_memory, masked in [
            (3, 4, False, None),
            (2, 5, True, None),
            (3, 4, True, "boolean"),
            (2, 3, False, "additive"),
        ]:
            b, tq, tk, d = 2, 5, 7 if with_memory else 5, n_heads * d_k
            x, memory = rng.normal(b, tq, d), rng.normal(b, tk, d) if with_memory else None
            mask = None
            if masked:
                mask = rng.coins(b, 1, tq, tk)
                mask[..., 0] = True
                mask = (
                    mask
                    if masked == "boolean"
                    else torch.zeros(b, 1, tq, tk).double().masked_fill(~mask, -torch.inf)
                )
            state = rng.weights(Book(d, n_heads))
            made.append(Case((x, memory, mask), init=(d, n_heads), state=state))
        return made

    mistakes = [
        mistake(
            "scaled by √d_model",
            _variant(attend=_by_d_model),
            "Each head compares vectors of length d_k = d_model / n_heads: divide its scores by √d_k, not by √d_model.",
        ),
        mistake(
            "no output projection",
            _variant(project=False),
            "The heads' outputs are laid side by side but never mixed: send them through out_proj at the end.",
        ),
        mistake(
            "values from x",
            _variant(values="x"),
            "Your values come from x: keys and values both come from memory, whose tokens are the ones looked at.",
        ),
        mistake(
            "heads by view",
            _variant(heads=lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1)),
            "Your heads cut through time: split the last axis into (n_heads, d_k) first, then swap time and heads.",
        ),
    ]
