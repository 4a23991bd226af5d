"""07_language_model: the model, a causal stack with a head."""

from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from autograder.versions import version
from helpers import models
from helpers.layers import EncoderLayer


@cache
def _shapes(*sizes):
    """The model without weights, for their names and shapes."""
    with torch.device("meta"):
        return models.LanguageModel(*sizes)


class _Parts(models.LanguageModel):
    """The model in steps that can be exchanged one by one."""

    def embed(self, ids):
        return self.positions(self.embedding(ids) * self.scale)

    def mask(self, ids):
        n = ids.shape[1]
        return torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()  # (T, T)

    def stack(self, x, ids):
        for layer in self.encoder:
            x = layer(x, self.mask(ids))
        return x

    def read(self, x):
        return self.head(x)

    def forward(self, ids):
        return self.read(self.stack(self.embed(ids), ids))


def _model(**steps):
    return version(_Parts, **steps)


def _with(**modules):
    """A model with other submodules: each is made of (d_model, n_heads, d_ff, vocab_size)."""

    class Other(_Parts):
        def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
            super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
            for name, make in modules.items():
                setattr(self, name, make(d_model, n_heads, d_ff, vocab_size))

    return Other


class _OneLayer(_Parts):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.encoder = nn.ModuleList([EncoderLayer(d_model, n_heads, d_ff)] * n_layers)


class _PreNorm(_Parts):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, n_heads, d_ff, norm_first=True) for _ in range(n_layers))


class _OtherNames(_Parts):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.layers = self.encoder
        del self.encoder


def _by_batch(self, ids):
    return self.positions((self.embedding(ids) * self.scale).transpose(0, 1)).transpose(0, 1)


def _from_one(self, ids):
    return self.positions(F.pad(self.embedding(ids) * self.scale, (0, 0, 1, 0)))[:, 1:]


def _shifted(self, ids):
    return _Parts.forward(self, F.pad(ids, (1, 0))[:, :-1])


def _first_layer_again(self, x, ids):
    for _ in self.encoder:
        x = self.encoder[0](x, self.mask(ids))
    return x


def _zero_is_a_pad(self, ids):
    return _Parts.mask(self, ids) & (ids != 0)[:, None, None, :]


def _for_each_token(logits, *given):
    ids, vocab_size = given[-1], given[0]
    return logits.shape == (*ids.shape, vocab_size)


@exercise("lm.LanguageModel", points=4, minutes=20, difficulty=3, ask="module")
class LanguageModel:
    """A causal language model, from ids to logits of each next token.

    Embeddings times √d_model plus sinusoidal positions; n_layers post-norm layers, in which no token reads a later one;
    then the head, with a bias, and no norm before it. Submodules `embedding`, `encoder` (a ModuleList of
    `helpers.layers.EncoderLayer`) and `head`; its parameters are those that you counted in 05. Every id is a token:
    there is no padding. Dropout may be a further argument, off by default.
    """

    signature = (
        "LanguageModel(vocab_size: int, d_model: int, n_heads: int, d_ff: int, n_layers: int)\n"
        "forward(ids: Tensor (B, T)) -> Tensor (B, T, vocab_size)"
    )
    reference = models.LanguageModel
    book = ["helpers.models.Classifier", "helpers.models.Body"]
    shortcuts = ["TransformerEncoder", "TransformerEncoderLayer"]
    why = "This is the whole model behind the text that you are about to make: the rest is data and patience."
    hints = [
        "It is the decoder of 05 without memory, or its encoder with a causal mask: three submodules and one mask.",
        "`torch.ones(T, T, dtype=torch.bool, device=ids.device).tril()` is True where a token may look.",
        "`x = helpers.positions.SinusoidalPositions(d_model)(self.embedding(ids) * d_model**0.5)`; "
        "`for layer in self.encoder: x = layer(x, mask)`; `return self.head(x)`.",
    ]

    def cases(rng):
        def case(sizes, batch, time, dtype="float64"):
            state = rng.weights(_shapes(*sizes))
            state["embedding.weight"] *= sizes[1] ** 0.5
            return Case((rng.integers(0, sizes[0], batch, time),), init=sizes, state=state, dtype=dtype)

        return [
            case((11, 6, 2, 7, 2), 3, 5),
            case((5, 3, 1, 4, 1), 2, 1),
            case((7, 4, 2, 5, 1), 1, rng.integer(40, 70)),  # longer than any table that one writes down
            case((13, 9, 3, 5, 2), 2, 4, "float32"),
            case((11, 6, 3, 5, 1), 2, 7),
        ]

    properties = [
        holds(
            "a row of logits for each token",
            _for_each_token,
            "Each token predicts the one after it: logits are (B, T, vocab_size).",
        ),
    ]
    mistakes = [
        mistake(
            "no causal mask",
            _model(mask=lambda self, ids: None),
            "Your model sees the future, so in training it copies the next token and learns nothing: give every layer "
            "the causal mask.",
        ),
        mistake(
            "mask transposed",
            _model(mask=lambda self, ids: _Parts.mask(self, ids).T),
            "Your mask shows the future and hides the past: a token reads itself and what came before, `tril()`.",
        ),
        mistake(
            "mask inverted",
            _model(mask=lambda self, ids: ~_Parts.mask(self, ids)),
            "Your mask is True where a token must not look: here True means that it may.",
        ),
        mistake(
            "one token of the future",
            _model(mask=lambda self, ids: torch.ones(*[ids.shape[1]] * 2, dtype=torch.bool, device=ids.device).tril(1)),
            "Your mask lets each token see the next one, which is the answer: `tril()`, without an offset.",
        ),
        mistake(
            "diagonal hidden",
            _model(
                mask=lambda self, ids: torch.ones(*[ids.shape[1]] * 2, dtype=torch.bool, device=ids.device).tril(-1)
            ),
            "Your tokens do not see themselves: the diagonal belongs to what may be read, `tril()`.",
        ),
        mistake(
            "padding",
            _model(mask=_zero_is_a_pad),
            "You hide token 0 as if it were padding: here every id is a token.",
        ),
        mistake(
            "embeddings not scaled",
            _model(embed=lambda self, ids: self.positions(self.embedding(ids))),
            "Your embeddings go in as they are: they are multiplied by √d_model first.",
        ),
        mistake(
            "scaled by d_model",
            _model(embed=lambda self, ids: self.positions(self.embedding(ids) * self.scale**2)),
            "You multiply the embeddings by d_model: it is its square root, √d_model.",
        ),
        mistake(
            "positions scaled too",
            _model(embed=lambda self, ids: self.positions(self.embedding(ids)) * self.scale),
            "You scale positions as well: multiply the embedding by √d_model, then add the positions.",
        ),
        mistake(
            "no positions",
            _model(embed=lambda self, ids: self.embedding(ids) * self.scale),
            "Your model knows no order beyond who came before: add sinusoidal positions to the embeddings.",
        ),
        mistake(
            "positions by batch",
            _model(embed=_by_batch),
            "Your positions run along the batch, so a text's logits depend on its batch mates: they run along time, "
            "axis 1.",
        ),
        mistake(
            "positions from one",
            _model(embed=_from_one),
            "Your positions begin at 1: the first token stands at 0.",
        ),
        mistake(
            "pre-norm",
            _PreNorm,
            "Your layers norm first: as in 2017 the norm comes after the sum, which is the layer's default.",
        ),
        mistake(
            "the first layer again",
            _model(stack=_first_layer_again),
            "You go through your first layer n_layers times: each layer has weights of its own.",
        ),
        mistake(
            "each layer starts over",
            _model(stack=lambda self, x, ids: self.encoder[-1](x, self.mask(ids))),
            "Only your last layer counts, since each reads the embeddings: hand on what the one before gave.",
        ),
        mistake(
            "layers unused",
            _model(stack=lambda self, x, ids: x),
            "Your layers are never used: `for layer in self.encoder: x = layer(x, mask)`.",
        ),
        mistake(
            "a norm before the head",
            _model(read=lambda self, x: self.head(F.layer_norm(x, x.shape[-1:]))),
            "You norm once more before the head: post-norm layers end in a norm, and no other is there.",
        ),
        mistake(
            "a norm of its own before the head",
            _with(norm=lambda d_model, n_heads, d_ff, vocab_size: nn.LayerNorm(d_model)),
            "You made a norm for the end, and with it 2 · d_model parameters that 05 did not count: leave it out.",
        ),
        mistake(
            "no bias in the head",
            _with(head=lambda d_model, n_heads, d_ff, vocab_size: nn.Linear(d_model, vocab_size, bias=False)),
            "Your head has no bias: here it has one, vocab_size parameters.",
        ),
        mistake(
            "tied head",
            _model(read=lambda self, x: x @ self.embedding.weight.T),
            "You use the embedding as head: here the head is a linear layer of its own, with a bias.",
        ),
        mistake(
            "softmax",
            _model(read=lambda self, x: self.head(x).softmax(-1)),
            "You give probabilities: logits are due, and the loss takes its own softmax.",
        ),
        mistake(
            "log-softmax",
            _model(read=lambda self, x: self.head(x).log_softmax(-1)),
            "You give log-probabilities: logits are due, and the loss takes its own softmax.",
        ),
        mistake(
            "last token alone",
            _model(read=lambda self, x: self.head(x[:, -1])),
            "You give logits for the last token alone: in training each token is asked for the next, (B, T, V).",
        ),
        mistake(
            "no head",
            _model(read=lambda self, x: x),
            "You give hidden states: the head turns each into vocab_size logits.",
        ),
        mistake(
            "shifted inside",
            _model(forward=_shifted),
            "You shift the ids inside the model: batches have done that, so read them as they come.",
        ),
        mistake(
            "learned positions",
            _with(place=lambda d_model, n_heads, d_ff, vocab_size: nn.Embedding(64, d_model)),
            "You made a table of positions to be learned: they are sinusoidal here, and no parameters.",
        ),
        mistake(
            "other names",
            _OtherNames,
            "Your stack is there under another name: on the card it is `encoder`.",
        ),
        mistake(
            "one layer shared",
            _OneLayer,
            "`[layer] * n_layers` is one layer many times, with one set of weights: make each in a comprehension.",
        ),
    ]
