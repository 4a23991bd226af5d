"""Weights for the exercises that train: right ones, ones for each slip, and further wrong ones."""

import random
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from helpers import checkpoints, finetune
from helpers.experiments import compare, live, live_masked
from helpers.text import sentences

# python -m helpers.experiments.live --out tests/weights
PRETRAINED = Path(__file__).parent.parent / "weights" / "lm.pretrain.safetensors"
# python -m helpers.experiments.live_masked --out tests/weights
MASKED = PRETRAINED.with_name("bert.pretrain.safetensors")
# python -m helpers.experiments.live_masked --causal --out tests/weights
TWIN = PRETRAINED.with_name("bert.left_or_both.safetensors")


def fresh(build, seed=0):
    torch.manual_seed(seed)
    return build().state_dict()


def pretrained():
    return load_file(PRETRAINED)


def one_guess():
    """A head that says the same of each text: how frequent each token is."""
    state = fresh(live.model)
    counts = torch.bincount(live.texts().train, minlength=live.settings.vocab_size) + 1.0
    return state | {"head.weight": torch.zeros_like(state["head.weight"]), "head.bias": counts.log()}


def faded():
    """A good model whose head is too sure of itself by far."""
    state = pretrained()
    return state | {"head.weight": 8 * state["head.weight"].float()}


@cache
def body():
    return finetune.load_body(compare.model(), checkpoints.load("reviews")[0]).eval()


@cache
def probe(n=1500):
    """The checkpoint's body, and a head fitted to its vectors of n training sentences, as a ridge regression."""
    model = finetune.swap_head(body(), 2)
    model.head = nn.Identity()
    with torch.inference_mode():
        some = random.Random(0).sample(sentences().train, n)
        known = [(model(ids), labels) for ids, labels in compare.held_out(some)]
    vectors, labels = (torch.cat(part) for part in zip(*known, strict=True))
    mean, size = vectors.mean(0), vectors.std(0)
    scaled, signs = (vectors - mean) / size, 2.0 * labels - 1
    row = torch.linalg.solve(scaled.T @ scaled + n / 2 * torch.eye(len(mean)), scaled.T @ signs) / size
    bias = signs.mean() - row @ mean
    head = {"head.weight": torch.stack([-row, row]), "head.bias": torch.stack([-bias, bias])}
    return {name: x.clone() for name, x in (body().state_dict() | head).items()}


def swapped():
    return {name: x.flip(0) if name.startswith("head.") else x for name, x in probe().items()}


def fresh_head():
    torch.manual_seed(1)
    return finetune.swap_head(body(), 2).state_dict()


def always_praise():
    return probe() | {"head.weight": torch.zeros(2, compare.shape()[1]), "head.bias": torch.tensor([0.0, 9.0])}


def masked():
    return load_file(MASKED)


def twin():
    return load_file(TWIN)


@torch.no_grad()
def plain():
    """Layers that change nothing, and a head that asks which token's vector it is."""
    torch.manual_seed(0)
    model = live_masked.model()
    model.embeddings.token.weight.normal_()
    for layer in model.encoder:
        for last in (layer.attention.out_proj, layer.feed_forward.down):
            last.weight.zero_()
            last.bias.zero_()
    model.transform.weight.copy_(torch.eye(len(model.transform.weight)))
    return model


def copying():
    return apart(plain().state_dict())


@torch.no_grad()
def looking_ahead():
    """As `copying`, after a layer in which each token takes the vector of the next one."""
    model, n = plain(), live_masked.settings.max_len
    model.embeddings.token.weight[:, :n] = 0  # room for where a token stands
    model.embeddings.position.weight.zero_()[:, :n] = 9 * torch.eye(n)
    first = model.encoder[0].attention
    size = len(first.q_proj.weight) // first.n_heads
    for h in range(first.n_heads):
        rows = slice(h * size, h * size + n)
        first.q_proj.weight[rows, :n] = 3 * torch.eye(n).roll(1, 0)  # place t asks for t + 1
        first.k_proj.weight[rows, :n] = 3 * torch.eye(n)
    first.v_proj.weight.copy_(torch.eye(len(first.v_proj.weight)))
    first.out_proj.weight.copy_(9 * torch.eye(len(first.out_proj.weight)))
    return apart(model.state_dict())


def apart(state):
    """Each weight on its own: a head that is tied to an embedding is written twice."""
    return {name: x.clone() for name, x in state.items()}


def one_word():
    """A head that says how frequent each word is."""
    counts = torch.bincount(live_masked.texts().train.flatten(), minlength=len(live_masked.texts().vocabulary)) + 1.0
    counts[: len(live_masked.SPECIAL)] = 1e-9
    state = apart(fresh(live_masked.model))
    return state | {name: 0 * state[name] for name in ("transform_norm.weight",)} | {"token_head.bias": counts.log()}


def drowned(make):
    """Right weights under a bias as large as what they say."""
    state = make()
    loud = torch.randn(len(state["token_head.bias"]), generator=torch.Generator().manual_seed(0))
    return state | {"token_head.bias": 9 * loud}


def half(make):
    return lambda: {name: x.half() for name, x in make().items()}


def as_float(make, dtype=torch.float32):
    return lambda: {name: x.to(dtype) for name, x in make().items()}


RIGHT = {
    "lm.pretrain": [pretrained, as_float(pretrained), as_float(pretrained, torch.bfloat16)],
    "finetune.compare": [probe, half(probe)],
    "bert.pretrain": [masked, as_float(masked)],
    "bert.left_or_both": [twin, as_float(twin)],
}
SLIPS = {
    "lm.pretrain": {"not trained": lambda: fresh(live.model), "the same answer to everything": one_guess},
    "finetune.compare": {
        "classes swapped": swapped,
        "no better than a coin": fresh_head,
    },
    "bert.pretrain": {
        "copies": copying,
        "the same answer to everything": one_word,
        "not trained": lambda: apart(fresh(live_masked.model)),
    },
    "bert.left_or_both": {
        "looks ahead": looking_ahead,
        "copies": copying,
        "masked": masked,
        "the same answer to everything": one_word,
        "not trained": lambda: apart(fresh(live_masked.model)),
    },
}
WRONG_WEIGHTS = {
    "lm.pretrain": [faded],
    "finetune.compare": [always_praise, lambda: fresh(compare.model)],
    "bert.pretrain": [lambda: drowned(masked), twin],
    "bert.left_or_both": [lambda: drowned(twin)],
}
