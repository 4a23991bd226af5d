"""Right and wrong answers of 03_positions, written otherwise: what order does, the table, what shifting does to it."""

import math

import numpy as np
import torch
from torch import nn

# ---- what permuting does ----


def _gap_by_loops(layer, x, permutation):
    after, before = layer(x), layer(torch.stack([x[:, int(j)] for j in permutation], 1))
    return max(
        abs(float(after[b, int(j), f] - before[b, i, f]))
        for i, j in enumerate(permutation)
        for b in range(x.shape[0])
        for f in range(after.shape[2])
    )


def _gap_by_matrix(layer, x, permutation):
    p = torch.eye(len(permutation), dtype=x.dtype)[permutation]
    return (p @ layer(x) - layer(p @ x)).detach().abs().amax()


def _gap_by_gather(layer, x, permutation):
    with torch.no_grad():
        return torch.dist(layer(x).index_select(1, permutation), layer(x.index_select(1, permutation)), p=torch.inf)


def _gap_undone(layer, x, permutation):
    """Back to the old order: the same differences, in other places."""
    return (layer(x[:, permutation, :])[:, permutation.argsort(), :] - layer(x)).abs().max().item()


def _gap_by_numpy(layer, x, permutation):
    return np.abs(layer(x).numpy()[:, permutation.numpy()] - layer(x[:, permutation]).numpy()).max()


def _gap_sentence_by_sentence(layer, x, permutation):
    return max((layer(one[None])[:, permutation] - layer(one[None][:, permutation])).abs().max() for one in x)


# ---- the table ----


def _table_by_loops(n_positions, d_model, base=10000.0):
    table = torch.zeros(n_positions, d_model)
    for x in range(n_positions):
        for j in range(d_model):
            angle = x / base ** (2 * (j // 2) / d_model)
            table[x, j] = math.cos(angle) if j % 2 else math.sin(angle)
    return table


def _table_by_exp(n_positions, d_model, base=10000.0):
    position = torch.arange(n_positions).unsqueeze(1)
    speed = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    table = torch.zeros(n_positions, d_model)
    table[:, 0::2] = torch.sin(position * speed)
    table[:, 1::2] = torch.cos(position * speed)[:, : d_model // 2]
    return table


def _table_by_phase(n_positions, d_model, base=10000.0):
    j = torch.arange(d_model)
    angles = torch.outer(torch.arange(n_positions) * 1.0, base ** (-(j // 2) * 2 / d_model))
    return torch.sin(angles + j % 2 * math.pi / 2)


def _table_by_complex(n_positions, d_model, base=10000.0):
    speed = torch.pow(base, -torch.arange(0, d_model, 2) / d_model)
    turned = torch.polar(torch.ones(n_positions, len(speed)), torch.arange(n_positions)[:, None] * speed)
    return torch.view_as_real(turned).flip(-1).reshape(n_positions, -1)[:, :d_model]


def _table_by_numpy(n_positions, d_model, base=10000.0):
    j = np.arange(d_model)
    angles = np.arange(n_positions)[:, None] / np.power(base, (j - j % 2) / d_model)
    angles[:, 1::2] += np.pi / 2
    return torch.tensor(np.sin(angles), dtype=torch.get_default_dtype())


def _table_by_columns(n_positions, d_model, base=10000.0):
    x = torch.arange(n_positions)
    columns = [(torch.cos if j % 2 else torch.sin)(x / base ** ((j - j % 2) / d_model)) for j in range(d_model)]
    return torch.stack(columns, dim=1)


def _wrong_table(angle, pick=lambda j: j % 2):
    def table(n_positions, d_model, base=10000.0):
        rows = [
            [(math.cos if pick(j) else math.sin)(angle(x, j, d_model, base)) for j in range(d_model)]
            for x in range(n_positions)
        ]
        return torch.tensor(rows)

    return table


# ---- what shifting does ----


def _shift_filled(k, d_model, base=10000.0):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / base ** (i / d_model)
        m[i, i], m[i, i + 1] = math.cos(a), math.sin(a)
        m[i + 1, i], m[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return m


def _shift_by_power(k, d_model, base=10000.0):
    angles = base ** -(torch.arange(0, d_model, 2) / d_model)
    one = torch.block_diag(*[torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2) for a in angles])
    step = one if k >= 0 else one.T
    m = torch.eye(d_model)
    for _ in range(abs(k)):
        m = step @ m
    return m


def _shift_by_diagonals(k, d_model, base=10000.0):
    a = (k / base ** (torch.arange(0, d_model, 2) / d_model)).repeat_interleave(2)
    off = (a.sin() * (torch.arange(d_model) % 2 == 0))[:-1]
    return torch.diag(a.cos()) + torch.diag(off, 1) - torch.diag(off, -1)


def _shift_by_kron(k, d_model, base=10000.0):
    a = torch.tensor([k / base ** (i / d_model) for i in range(0, d_model, 2)])
    turned = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    return torch.kron(torch.diag(a.cos()), torch.eye(2)) + torch.kron(torch.diag(a.sin()), turned)


def _shift_by_exponential(k, d_model, base=10000.0):
    w = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        w[i, i + 1], w[i + 1, i] = base ** (-i / d_model), -(base ** (-i / d_model))
    return torch.matrix_exp(k * w).to(torch.get_default_dtype())


def _similar_by_rows(k, d_model, base=10000.0):
    table = _table_by_numpy(99, d_model, base)
    return table[abs(k)] @ table[abs(k) + k]


def _similar_in_half_the_digits(k, d_model, base=10000.0):
    angles = k / base ** (np.arange(0, d_model, 2, dtype=np.float32) / np.float32(d_model))
    return np.float32(np.cos(angles.astype(np.float32)).sum())


# ---- learned positions ----


class _Looked(nn.Module):
    """Each version below differs in forward."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Embedding(max_len, d_model)

    def check(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError(f"The text has {x.shape[1]} tokens, at most {self.max_len} are possible: cut it.")


class _ByIds(_Looked):
    def forward(self, x):
        self.check(x)
        return x + self.embedding(torch.arange(x.size(1), device=x.device))


class _ByIdsOfTheBatch(_Looked):
    def forward(self, x):
        self.check(x)
        b, t, _ = x.shape
        return self.embedding(torch.arange(t, device=x.device).expand(b, t)) + x


class _ByBuffer(_Looked):
    def __init__(self, max_len, d_model):
        super().__init__(max_len, d_model)
        self.register_buffer("ids", torch.arange(max_len)[None])

    def forward(self, x):
        t = x.shape[1]
        if t not in range(self.ids.shape[1] + 1):
            raise ValueError("too long")
        return x + self.embedding(self.ids[:, :t])


class _TokenByToken(_Looked):
    def forward(self, x):
        self.check(x)
        return torch.stack([token + self.embedding.weight[i] for i, token in enumerate(x.unbind(1))], 1)


class _Caught(_Looked):
    def forward(self, x):
        try:
            return x + self.embedding.weight[: x.shape[1]]
        except RuntimeError as error:
            raise ValueError("This text is too long for the positions that were learned.") from error


def _learned(forward, check=True):
    class Wrong(_Looked):
        def forward(self, x):
            if check:
                self.check(x)
            return forward(self, x)

    return Wrong


class _OtherName(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.position = nn.Embedding(max_len, d_model)

    def forward(self, x):
        return x + self.position.weight[: x.shape[1]]


class _RefusesSilently(_Looked):
    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError
        return x + self.embedding.weight[: x.shape[1]]


class _Asserts(_Looked):
    def forward(self, x):
        assert x.shape[1] <= self.max_len, "too long"
        return x + self.embedding.weight[: x.shape[1]]


class _RefusesAll(_Looked):
    def forward(self, x):
        raise ValueError("too long")


class _RefusesTheFullLength(_Looked):
    def forward(self, x):
        if x.shape[1] >= self.max_len:
            raise ValueError("too long")
        return x + self.embedding.weight[: x.shape[1]]


class _KeepsTheFirst(_Looked):
    kept = None

    def forward(self, x):
        self.check(x)
        if self.kept is None:
            self.kept = self.embedding.weight[: x.shape[1]].detach() + x[:1, :, :1] * 0
        return x + self.kept


def _in_place(self, x):
    x += self.embedding.weight[: x.shape[1]]
    return x


def _table_as_in_tutorials(n, d, base=10000.0):
    """Angles in float32, whatever the default is."""
    table = torch.zeros(n, d)
    position = torch.arange(0, n, dtype=torch.float).unsqueeze(1)
    rates = torch.exp(torch.arange(0, d, 2).float() * (-math.log(base) / d))
    table[:, 0::2] = torch.sin(position * rates)
    table[:, 1::2] = torch.cos(position * rates)[:, : d // 2]
    return table


VARIANTS = {
    "positions.equivariance_gap": [
        _gap_by_loops,
        _gap_by_matrix,
        _gap_by_gather,
        _gap_undone,
        _gap_by_numpy,
        _gap_sentence_by_sentence,
    ],
    "positions.sinusoidal": [
        _table_by_loops,
        _table_by_exp,
        _table_as_in_tutorials,
        _table_by_phase,
        _table_by_complex,
        _table_by_numpy,
        _table_by_columns,
    ],
    "positions.shift_matrix": [
        _shift_filled,
        _shift_by_power,
        _shift_by_diagonals,
        _shift_by_kron,
        _shift_by_exponential,
    ],
    "positions.similarity": [
        _similar_by_rows,
        _similar_in_half_the_digits,
        lambda k, d_model, base=10000.0: sum(math.cos(k / base ** (2 * i / d_model)) for i in range(d_model // 2)),
        lambda k, d_model, base=10000.0: _shift_filled(k, d_model, base).trace() / 2,
        lambda k, d_model, base=10000.0: (
            _table_by_loops(99, d_model, base)[50] * _table_by_loops(99, d_model, base)[50 + k]
        ).sum(),
    ],
    "positions.LearnedPositions": [_ByIds, _ByIdsOfTheBatch, _ByBuffer, _TokenByToken, _Caught],
    "positions.order_matters": [
        lambda: ("The dog bit the man.", "The man bit the dog!"),
        lambda: ["Only she loves him", "She loves only him"],
        lambda: ("A man-eating shark", "A shark eating man"),
        lambda: ("L\u2019homme mord le chien.", "Le chien mord l'homme."),
        lambda: ("Der Hund beißt den Mann", "den Mann beißt der HUND?"),
    ],
}

WRONG = {
    "positions.equivariance_gap": [
        lambda layer, x, p: 0.0,
        lambda layer, x, p: (layer(x) - layer(x[:, p])).mean().abs(),
        lambda layer, x, p: (layer(x)[:, p] - layer(x[:, p]))[:, 0].abs().max(),
        lambda layer, x, p: (layer(x)[:, p] - layer(x[:, p]))[..., 0].abs().max(),
        lambda layer, x, p: (layer(x)[:, p] - layer(x[:, p])).abs().median(),
        lambda layer, x, p: 2 * (layer(x)[:, p] - layer(x[:, p])).abs().max(),
        lambda layer, x, p: (layer(x)[:, p] - layer(x[:, p])).abs().max()[None],
        lambda layer, x, p: (layer(x)[:, p].mean(1) - layer(x[:, p]).mean(1)).abs().max(),
        lambda layer, x, p: (layer(x).flip(1) - layer(x.flip(1))).abs().max(),
        lambda layer, x, p: (layer(x[:, p]) - x[:, p]).abs().max(),
        lambda layer, x, p: round(float((layer(x)[:, p] - layer(x[:, p])).abs().max())),
        lambda layer, x, p: str((layer(x)[:, p] - layer(x[:, p])).abs().max()),
        lambda layer, x, p: layer(x)[:, p].abs().max() - layer(x[:, p]).abs().max(),
        lambda layer, x, p: float("nan"),
    ],
    "positions.sinusoidal": [
        lambda n, d, base=10000.0: _table_by_loops(min(n, 512), d, base),
        lambda n, d, base=10000.0: _table_by_loops(n % 128, d, base),
        lambda n, d, base=1000.0: _table_by_loops(n, d, base),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base).flip(0),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base).flip(1),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base) + 1e-3,
        lambda n, d, base=10000.0: -_table_by_loops(n, d, base),
        lambda n, d, base=10000.0: _table_by_loops(n + 1, d, base),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base).tolist(),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base).half(),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base).to("cpu").numpy(),
        lambda n, d, base=10000.0: torch.zeros(n, d),
        lambda n, d, base=10000.0: torch.rand(n, d),
        lambda n, d, base=10000.0: _table_by_loops(n, d, base) * d**-0.5,
        lambda n, d, base=10000.0: _table_by_columns(n, d, base).to("cpu"),
        _wrong_table(lambda x, j, d, base: x / base ** (j // 2 / (d // 2 or 1))),
        _wrong_table(lambda x, j, d, base: (j - j % 2) / base ** (x / d)),
        _wrong_table(lambda x, j, d, base: x / (base * (j - j % 2) / d or 1)),
        _wrong_table(lambda x, j, d, base: x * base ** ((j - j % 2) / d) / base),
        _wrong_table(lambda x, j, d, base: x / d / base ** ((j - j % 2) / d)),
        _wrong_table(lambda x, j, d, base: x / base ** ((j - j % 2) / d), lambda j: False),
        _wrong_table(lambda x, j, d, base: x / base ** ((j - j % 2 + 2) / d)),
    ],
    "positions.shift_matrix": [
        lambda k, d, base=10000.0: torch.eye(d),
        lambda k, d, base=10000.0: torch.eye(d).roll(k, 0),
        lambda k, d, base=10000.0: _shift_filled(k + 1, d, base),
        lambda k, d, base=10000.0: _shift_filled(k % 7, d, base),
        lambda k, d, base=10000.0: _shift_filled(k, d, base).flip(0),
        lambda k, d, base=10000.0: _shift_filled(k, d, base).flip(0, 1),
        lambda k, d, base=10000.0: _shift_filled(k, d, base).abs(),
        lambda k, d, base=10000.0: 1.01 * _shift_filled(k, d, base),
        lambda k, d, base=10000.0: _shift_filled(k, d, base)[None],
        lambda k, d, base=10000.0: _shift_filled(k, d, base).tolist(),
        lambda k, d, base=10000.0: _shift_filled(k, d, base) @ _shift_filled(k, d, base),
        lambda k, d, base=10000.0: _shift_by_kron(k, d, base).to("cpu"),
        lambda k, d, base=10000.0: torch.rand(d, d),
        lambda k, d, base=10000.0: k,
        lambda k, d, base=1000.0: _shift_filled(k, d, base),
    ],
    "positions.similarity": [
        lambda k, d, base=10000.0: 1.0,
        lambda k, d, base=10000.0: d / 2 - abs(k),
        lambda k, d, base=10000.0: math.cos(k),
        lambda k, d, base=10000.0: _shift_filled(k, d, base).trace(),
        lambda k, d, base=10000.0: _shift_filled(k + 1, d, base).trace() / 2,
        lambda k, d, base=10000.0: _shift_filled(k, d, base).trace() / 2 + 0.01,
        lambda k, d, base=10000.0: _shift_filled(k, d, base).trace()[None] / 2,
        lambda k, d, base=10000.0: str(_shift_filled(k, d, base).trace() / 2),
        lambda k, d, base=10000.0: -_shift_filled(k, d, base).trace() / 2,
        lambda k, d, base=10000.0: [math.cos(k / base ** (2 * i / d)) for i in range(d // 2)],
        lambda k, d, base=10000.0: _table_by_loops(99, d, base)[0] @ _table_by_loops(99, d, base)[k],
        lambda k, d, base=10000.0: sum(math.cos(k / base ** (i / d)) for i in range(d)),
        lambda k, d, base=1000.0: _shift_filled(k, d, base).trace() / 2,
    ],
    "positions.LearnedPositions": [
        _OtherName,
        _RefusesSilently,
        _Asserts,
        _RefusesAll,
        _RefusesTheFullLength,
        _KeepsTheFirst,
        nn.Embedding,
        _learned(_in_place),
        _learned(lambda self, x: x + self.embedding(torch.arange(x.shape[1]))),
        _learned(lambda self, x: x + self.embedding(torch.arange(x.shape[0], device=x.device))[:, None]),
        _learned(lambda self, x: x + self.embedding.weight[: x.shape[1]].detach()),
        _learned(lambda self, x: x.detach() + self.embedding.weight[: x.shape[1]]),
        _learned(lambda self, x: x - self.embedding.weight[: x.shape[1]]),
        _learned(lambda self, x: x + self.embedding.weight[0]),
        _learned(lambda self, x: x + self.embedding.weight[: x.shape[1]].roll(1, 0)),
        _learned(lambda self, x: x + self.embedding.weight[: x.shape[1]].roll(1, 1)),
        _learned(lambda self, x: (x + self.embedding.weight[: x.shape[1]]).sum(0)),
        _learned(lambda self, x: (x + self.embedding.weight[: x.shape[1]]).float()),
        _learned(lambda self, x: torch.dropout(x + self.embedding.weight[: x.shape[1]], 0.1, True)),
        _learned(lambda self, x: torch.layer_norm(x + self.embedding.weight[: x.shape[1]], x.shape[2:])),
    ],
    "positions.order_matters": [
        lambda: None,
        lambda: ("dog", "dog"),
        lambda: ("dog", "god"),
        lambda: ("The dog bit the man", "the dog bit the man."),
        lambda: ("The dog bit the man", "The dog was bitten by the man"),
        lambda: ("the dog bit the man", "the man bit dog"),
        lambda: ("the dog bit the man", "the man bit the the dog"),
        lambda: ("the dog bit the man", "the man bit the dog", "the man the dog bit"),
        lambda: {"one": "the dog bit the man", "other": "the man bit the dog"},
        lambda: (["the", "dog", "bit"], ["bit", "the", "dog"]),
        lambda: ("dog-bites-man", "dog bites man"),
        lambda: (". . .", "! ? !"),
        lambda: (b"the dog bit", b"bit the dog"),
        lambda: "ab",
    ],
}
