"""Weights for translation.train: right ones, ones for each slip, and further wrong ones."""

from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file

from helpers.experiments import small_translator
from helpers.text import translation
from helpers.training import Plan, epochs_at, train

# python -m helpers.experiments.small_translator --out tests/weights
TRAINED = Path(__file__).parent.parent / "weights" / "translation.train.safetensors"


def trained():
    return load_file(TRAINED)


def in_bfloat16():
    return {name: x.to(torch.bfloat16) for name, x in trained().items()}


def weights_of(model):
    """Apart: one matrix has three names here."""
    return {name: x.clone() for name, x in model.state_dict().items()}


def fresh():
    torch.manual_seed(0)
    return weights_of(small_translator.model())


@cache
def unshifted():
    """Fifteen steps are enough to learn to say what one reads."""
    torch.manual_seed(0)
    model, tokens = small_translator.model(), small_translator.tokenizer()
    english, french = zip(*small_translator.some_pairs().train[:500], strict=True)
    source, target = translation.source_ids(tokens, english), translation.target_ids(tokens, french)
    at = epochs_at((source, target), 32)

    def batch_at(step):
        source, target = at(step)
        _, _, said = translation.batch(source, target)
        return source, target[:, 1:], said

    train(model, batch_at, Plan(15, 3e-3, 1), show=False)
    return weights_of(model)


def unheard():
    """A decoder whose cross-attention adds nothing."""
    state = trained()
    return state | {name: torch.zeros_like(x) for name, x in state.items() if "cross_attention.out_proj" in name}


def hardly_heard():
    """A good model whose cross-attention adds a quarter of what it should."""
    state = trained()
    return state | {name: x / 4 for name, x in state.items() if "cross_attention.out_proj" in name}


RIGHT = {"translation.train": [trained, in_bfloat16]}
SLIPS = {"translation.train": {"unshifted targets": unshifted, "not trained": fresh, "the source unheard": unheard}}
WRONG_WEIGHTS = {"translation.train": [hardly_heard]}
