"""Right and wrong answers of 03_positions, written otherwise: terms, biases, turning."""

import itertools
import math

import numpy as np
import sympy
import torch

# ---- added or concatenated ----


def _terms_by_einsum(x_i, p_i, x_j, p_j):
    table = torch.einsum("ad,bd->ab", torch.stack([x_i, p_i]), torch.stack([x_j, p_j]))
    return {a + b: table["xp".index(a), "xp".index(b)] for a in "xp" for b in "xp"}, {
        "pp": table[1, 1],
        "xx": table[0, 0],
    }


def _terms_by_sums(x_i, p_i, x_j, p_j):
    dot = lambda a, b: sum(s * t for s, t in zip(a, b, strict=True))  # noqa: E731
    both = {"xx": dot(x_i, x_j), "pp": dot(p_i, p_j)}
    return [{"px": dot(p_i, x_j), "xp": dot(p_j, x_i), **both}, both]


def _terms_by_difference(x_i, p_i, x_j, p_j):
    """Each term as what is left when its neighbours are taken away."""
    xx, pp = torch.dot(x_i, x_j), torch.inner(p_i, p_j)
    xp = torch.dot(x_i, x_j + p_j) - xx
    px = torch.dot(x_i + p_i, x_j) - xx
    return {"xx": xx, "xp": xp, "px": px, "pp": pp}, {"xx": xx, "pp": pp}


def _changed_terms(change):
    return lambda *given: change(*_terms_by_einsum(*given))


def _bias_by_loops(q_pos, k_pos):
    return torch.stack([torch.stack([(q * k).sum() for k in k_pos]) for q in q_pos])


def _bias_by_concat(q_pos, k_pos):
    """What concatenation gives when the tokens themselves are nought."""
    q = torch.cat([torch.zeros_like(q_pos), q_pos], dim=1)
    k = torch.cat([torch.zeros_like(k_pos), k_pos], dim=1)
    return torch.matmul(q, k.transpose(0, 1))


# ---- a bias for each distance ----


def _relative_by_loops(table, n):
    reach = (table.shape[1] + 1) // 2
    rows = [torch.stack([table[:, i - j + reach - 1] for j in range(n)], -1) for i in range(n)]
    return torch.stack(rows, 1)


def _relative_by_slices(table, n):
    """Row i is a piece of the table read backwards."""
    middle = table.shape[1] // 2
    return torch.stack([table[:, middle + i - n + 1 : middle + i + 1].flip(1) for i in range(n)], 1)


def _relative_by_gather(table, n):
    i = torch.arange(n, device=table.device)
    index = (i.view(-1, 1) - i.view(1, -1) + table.size(1) // 2).flatten()
    return table.index_select(1, index).view(-1, n, n)


def _relative_by_unfold(table, n):
    middle = table.shape[1] // 2
    return table[:, middle - n + 1 : middle + n].unfold(1, n, 1).flip(2)


def _relative_by_one_hot(table, n):
    i = torch.arange(n, device=table.device)
    columns = torch.arange(table.shape[1], device=table.device) - table.shape[1] // 2
    picks = (i[:, None, None] - i[:, None] == columns).to(table.dtype)  # (n, n, 2T − 1)
    return torch.einsum("hc,ijc->hij", table, picks)


# ---- turning ----


def _rotary_by_complex(x, positions, base=10000.0):
    d = x.shape[-1]
    speed = base ** -(torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d)
    angles = torch.outer(positions.to(x.dtype), speed)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def _rotary_in_float32_angles(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = positions[:, None] / base ** (torch.arange(0, d, 2, device=x.device) / d)
    cos, sin = angles.cos(), angles.sin()
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


def _rotary_as_libraries_do(x, positions, base=10000.0):
    d = x.shape[-1]
    speed = 1.0 / base ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d)
    angles = (positions[:, None] * speed).repeat_interleave(2, dim=-1)
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * angles.cos() + turned * angles.sin()


def _rotary_by_matrices(x, positions, base=10000.0):
    d, rows = x.shape[-1], []
    for t, p in enumerate(positions):
        blocks = []
        for i in range(0, d, 2):
            a = p.to(x.dtype) / base ** (i / d)
            blocks.append(torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()]).view(2, 2))
        rows.append(x[..., t, :] @ torch.block_diag(*blocks).T)
    return torch.stack(rows, -2)


def _rotary_pair_by_pair(x, positions, base=10000.0):
    out = []
    for i in range(0, x.shape[-1], 2):
        a = positions / base ** (i / x.shape[-1])
        out.append(x[..., i] * torch.cos(a) - x[..., i + 1] * torch.sin(a))
        out.append(x[..., i] * torch.sin(a) + x[..., i + 1] * torch.cos(a))
    return torch.stack(out, dim=-1).to(x.dtype)


def _in_place(x, positions, base=10000.0):
    x.copy_(_rotary_by_complex(x.clone(), positions, base))
    return x


VARIANTS = {
    "positions.add_or_concat": [_terms_by_einsum, _terms_by_sums, _terms_by_difference],
    "positions.bias_from_concat": [
        _bias_by_loops,
        _bias_by_concat,
        lambda q_pos, k_pos: torch.einsum("ik,jk->ij", q_pos, k_pos),
        lambda q_pos, k_pos: (k_pos @ q_pos.T).T,
        lambda q_pos, k_pos: (q_pos[:, None, :] * k_pos[None]).sum(2),
        torch.nn.functional.linear,
    ],
    "positions.relative_bias": [
        _relative_by_loops,
        _relative_by_slices,
        _relative_by_gather,
        _relative_by_unfold,
        _relative_by_one_hot,
    ],
    "positions.extra_parameters": [
        lambda max_len, n_heads: n_heads * (max_len + max_len - 1),
        lambda max_len, n_heads: n_heads * len({i - j for i, j in itertools.product(range(max_len), repeat=2)}),
        lambda max_len, n_heads: torch.empty(n_heads, 2 * max_len - 1, device="meta").numel(),
        lambda max_len, n_heads: np.int64(2 * max_len * n_heads - n_heads),
        lambda max_len, n_heads: sympy.Integer(n_heads) * (2 * max_len - 1),
        lambda max_len, n_heads: float(n_heads * (2 * max_len - 1)),
    ],
    "positions.rotary": [
        _rotary_by_complex,
        _rotary_in_float32_angles,
        _rotary_as_libraries_do,
        _rotary_by_matrices,
        _rotary_pair_by_pair,
    ],
}

WRONG = {
    "positions.add_or_concat": [
        lambda *given: None,
        lambda *given: ({}, {}),
        _changed_terms(lambda added, joined: (added, {**joined, "px": 0.0})),
        _changed_terms(lambda added, joined: (added, {"xx": joined["xx"]})),
        _changed_terms(lambda added, joined: ({n: t for n, t in added.items() if n != "pp"}, joined)),
        _changed_terms(lambda added, joined: ({n.upper(): t for n, t in added.items()}, joined)),
        _changed_terms(lambda added, joined: ({**added, "xp": -added["xp"]}, joined)),
        _changed_terms(lambda added, joined: ({**added, "pp": added["xx"], "xx": added["pp"]}, joined)),
        _changed_terms(lambda added, joined: (added, {"xx": joined["pp"], "pp": joined["xx"]})),
        _changed_terms(lambda added, joined: ({n: t[None] for n, t in added.items()}, joined)),
        _changed_terms(lambda added, joined: (added, {n: t / 2 for n, t in joined.items()})),
        _changed_terms(lambda added, joined: ({n: t.detach() for n, t in added.items()}, joined)),
        _changed_terms(lambda added, joined: ({n: t.softmax(0) for n, t in added.items()}, joined)),
        lambda x_i, p_i, x_j, p_j: _terms_by_einsum(x_j, p_j, x_i, p_i),
    ],
    "positions.bias_from_concat": [
        lambda q, k: torch.zeros(len(q), len(k), dtype=q.dtype, device=q.device),
        lambda q, k: (q @ k.T).detach(),
        lambda q, k: (q @ k.T).float(),
        lambda q, k: q @ k.T + 1,
        lambda q, k: (q @ k.T) * 3,
        lambda q, k: (q @ k.T).tanh(),
        lambda q, k: (q @ k.T).abs(),
        lambda q, k: q @ k.flip(0).T,
        lambda q, k: q.flip(1) @ k.T,
        lambda q, k: (q @ k.T).tolist(),
        lambda q, k: (q @ k.T).sum(),
        lambda q, k: q @ k.T / math.sqrt(64),
        lambda q, k: torch.cat([q, q], -1) @ torch.cat([k, k], -1).T,
    ],
    "positions.relative_bias": [
        lambda table, n: _relative_by_loops(table, n).detach(),
        lambda table, n: _relative_by_loops(table, n).float(),
        lambda table, n: _relative_by_loops(table, n).flip(0),
        lambda table, n: _relative_by_loops(table, n).flip(1),
        lambda table, n: _relative_by_loops(table, n).tril(),
        lambda table, n: _relative_by_loops(table, n).softmax(-1),
        lambda table, n: _relative_by_loops(table, n) + 1,
        lambda table, n: _relative_by_loops(table[:1].expand_as(table), n),
        lambda table, n: _relative_by_loops(table, n).mean(0, keepdim=True),
        lambda table, n: table[:, : n * n].reshape(-1, n, n),
        lambda table, n: torch.zeros(len(table), n, n, dtype=table.dtype, device=table.device),
        lambda table, n: _relative_by_loops(table, n).tolist(),
        lambda table, n: table.index_select(
            1, (torch.arange(n)[:, None] - torch.arange(n)).flatten() + table.shape[1] // 2
        ).view(-1, n, n),
    ],
    "positions.extra_parameters": [
        lambda max_len, n_heads: 0,
        lambda max_len, n_heads: n_heads * (2 * max_len - 1) + 1,
        lambda max_len, n_heads: n_heads * (2 * max_len - 1) * 64,
        lambda max_len, n_heads: 2 * n_heads * (2 * max_len - 1),
        lambda max_len, n_heads: n_heads**2 * (2 * max_len - 1),
        lambda max_len, n_heads: n_heads + 2 * max_len - 1,
        lambda max_len, n_heads: max_len * (2 * n_heads - 1),
        lambda max_len, n_heads: str(n_heads * (2 * max_len - 1)),
        lambda max_len, n_heads: [n_heads, 2 * max_len - 1],
        lambda max_len, n_heads: math.inf,
    ],
    "positions.rotary": [
        _in_place,
        lambda x, p, base=10000.0: x,
        lambda x, p, base=10000.0: -_rotary_by_complex(x, p, base),
        lambda x, p, base=1000.0: _rotary_by_complex(x, p, base),
        lambda x, p, base=10000.0: _rotary_by_complex(x, -p, base),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p.flip(0), base),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p % 7, base),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p - p[0], base),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p, base).detach(),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p, base).double(),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p, base) * x.shape[-1] ** -0.5,
        lambda x, p, base=10000.0: _rotary_by_complex(x, p, base).flip(-1),
        lambda x, p, base=10000.0: _rotary_by_complex(x.flip(-1), p, base).flip(-1),
        lambda x, p, base=10000.0: _rotary_by_complex(_rotary_by_complex(x, p, base), p, base),
        lambda x, p, base=10000.0: x + _rotary_by_complex(x, p, base),
        lambda x, p, base=10000.0: _rotary_by_complex(x, p, base).sum(0),
        lambda x, p, base=10000.0: torch.cat([_rotary_by_complex(x[..., :2], p, base), x[..., 2:]], -1),
        lambda x, p, base=10000.0: x * torch.cos(torch.arange(x.shape[-1]) * p[:, None]),
    ],
}
