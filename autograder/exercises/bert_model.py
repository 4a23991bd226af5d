"""09_bert: the model, embeddings of three kinds below and two heads on top."""

from functools import cache, partial

import torch
from torch import nn
from torch.nn import functional as F

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from helpers import models, positions
from helpers.layers import EncoderLayer


@cache
def _shapes(module, *init):
    """The exercise's module without weights, for their names and shapes."""
    with torch.device("meta"):
        return module(*init)


# Sizes of weights at which no norm's epsilon, BERT's 1e-12 or torch's 1e-5, can be seen, and all that bends is.
SIZES = {"transform_norm": 1 / 300, "norm": 60, "token.": 300, "position.": 300, "segment.": 300}
SIZES |= {"q_proj": 1 / 60, "k_proj": 1 / 60, "up": 1 / 60, "down": 60, "transform.": 1 / 6, "pooler": 1 / 60}


def _state(rng, module, *init):
    state = rng.weights(_shapes(module, *init))
    for name, w in state.items():
        size = next((size for part, size in SIZES.items() if part in name and name.endswith("weight")), 1)
        if "norm" in name and name.endswith("weight"):
            w.copy_((w.sign() + w.tanh() / 2) / w.shape[-1] ** 0.5)  # none so small that the next norm's input is
        w *= size * (w.shape[-1] ** 0.5 if size >= 60 and "down" not in name else 1)
    if "transform.bias" in state:
        state["transform.bias"][0] = 100  # where GELU lets nothing through, only the epsilon would be left
    return state


# ---- embeddings ----


class _Sum(models.BertEmbeddings):
    """The embeddings in steps that can be exchanged one by one."""

    def places(self, ids):
        return torch.arange(ids.shape[1], device=ids.device)

    def placed(self, ids):
        return self.position(self.places(ids))

    def forward(self, ids, segment_ids):
        return self.norm(self.token(ids) + self.placed(ids) + self.segment(segment_ids))


def _sum(**steps):
    return type("Embeddings", (_Sum,), steps)


def _forward(forward):
    return _sum(forward=forward)


class _Concatenated(_Sum):
    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, n_segments)
        self.norm = nn.LayerNorm(3 * d_model)

    def forward(self, ids, segment_ids):
        placed = self.placed(ids).expand(len(ids), -1, -1)
        return self.norm(torch.cat([self.token(ids), placed, self.segment(segment_ids)], -1))


class _ConcatenatedThirds(_Sum):
    """Each a third as wide, so that together they are d_model wide."""

    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, n_segments)
        third = d_model // 3
        self.token, self.position = nn.Embedding(vocab_size, d_model - 2 * third), nn.Embedding(max_len, third)
        self.segment = nn.Embedding(n_segments, third)


class _NoNorm(_Sum):
    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, n_segments)
        del self.norm


class _TwoSegments(_Sum):
    def __init__(self, vocab_size, d_model, max_len, n_segments=2):
        super().__init__(vocab_size, d_model, max_len, 2)


class _Sinusoidal(_Sum):
    def placed(self, ids):
        table = positions.sinusoidal(ids.shape[1], self.token.embedding_dim)
        return table.to(self.token.weight)


def _wider(self, ids, segment_ids):
    return self.norm(torch.cat([self.token(ids), self.placed(ids) + self.segment(segment_ids)], -1))


def _each_normed(self, ids, segment_ids):
    return self.norm(self.token(ids)) + self.norm(self.placed(ids)) + self.norm(self.segment(segment_ids))


@exercise("bert.Embeddings", points=2, minutes=10, difficulty=2, ask="module")
class Embeddings:
    """For each token the sum of three learned vectors, of its id, its position and its segment; then a layer norm.

    Submodules `token`, `position` and `segment` (`nn.Embedding`) and `norm` (`nn.LayerNorm`, whose eps is yours to
    choose). Dropout may be a further argument, off by default.
    """

    signature = (
        "Embeddings(vocab_size: int, d_model: int, max_len: int, n_segments: int = 2)\n"
        "forward(ids: Tensor (B, T), segment_ids: Tensor (B, T)) -> Tensor (B, T, d_model)"
    )
    reference = models.BertEmbeddings
    shortcuts = ["BertEmbeddings", "BertModel"]
    why = (
        "Added up, not side by side: each head's projection takes out of the one sum what it needs, a word here, a "
        "place there, and the model is no wider for it."
    )
    hints = [
        "Three tables, three look-ups, one sum. Which numbers look up the position?",
        "`torch.arange(T, device=ids.device)` are the positions; their vectors, (T, d_model), add to every row.",
        "`self.norm(self.token(ids) + self.position(places) + self.segment(segment_ids))`",
    ]

    def cases(rng):
        def case(init, batch, time, dtype="float64"):
            ids = rng.integers(0, init[0], batch, time)
            segments = rng.integers(0, init[3] if len(init) > 3 else 2, batch, time)
            segments[0, 0], segments[-1, -1] = 0, 1
            return Case((ids, segments), init=init, state=_state(rng, models.BertEmbeddings, *init), dtype=dtype)

        return [
            case((11, 7, 13), 3, 5),
            case((9, 6, 8, 3), 2, 8),  # as long as can be, three segments
            case((5, 4, 7), 2, 1),
            case((13, 5, 17, 2), 5, rng.integer(6, 12)),
        ]

    properties = [
        holds(
            "a vector for each token",
            lambda y, *given: y.shape == (*given[-1].shape, given[1]),
            "A vector of d_model numbers is due for each token: (B, T, d_model).",
        ),
    ]
    mistakes = [
        mistake(
            "concatenated",
            _Concatenated,
            "You put the three side by side, and the model is three times as wide: they are added.",
        ),
        mistake(
            "concatenated, a third each",
            _ConcatenatedThirds,
            "You give each of the three a part of d_model and put them side by side: each is d_model wide, and "
            "they are added.",
        ),
        mistake(
            "norm missing",
            _NoNorm,
            "There is no `norm`: the sum goes through a layer norm.",
        ),
        mistake(
            "norm unused",
            _forward(lambda self, ids, segments: self.token(ids) + self.placed(ids) + self.segment(segments)),
            "Your `norm` is never used: the sum goes through it.",
        ),
        mistake(
            "each normed",
            _forward(_each_normed),
            "You norm each of the three and then add: add first, one norm for the sum.",
        ),
        mistake(
            "only words normed",
            _forward(
                lambda self, ids, segments: self.norm(self.token(ids)) + self.placed(ids) + self.segment(segments)
            ),
            "You norm the words alone and add the others to that: the norm is of the sum.",
        ),
        mistake(
            "norm before the segments",
            _forward(
                lambda self, ids, segments: self.norm(self.token(ids) + self.placed(ids)) + self.segment(segments)
            ),
            "Segments come in after your norm: all three are added first.",
        ),
        mistake(
            "norm without its weights",
            _forward(
                lambda self, ids, segments: F.layer_norm(
                    self.token(ids) + self.placed(ids) + self.segment(segments), (self.token.embedding_dim,)
                )
            ),
            "You norm without the weight and bias of `norm`: call the submodule.",
        ),
        mistake(
            "no positions",
            _forward(lambda self, ids, segments: self.norm(self.token(ids) + self.segment(segments))),
            "Positions are not added, so the order of words is lost: `self.position(torch.arange(T))`.",
        ),
        mistake(
            "no segments",
            _forward(lambda self, ids, segments: self.norm(self.token(ids) + self.placed(ids))),
            "Segments are not added, so nothing says which text a token is of: `self.segment(segment_ids)`.",
        ),
        mistake(
            "segments exchanged",
            _forward(
                lambda self, ids, segments: self.norm(
                    self.token(ids) + self.placed(ids) + self.segment.weight.flip(0)[segments]
                )
            ),
            "Your segments are turned round: segment 0 is row 0 of its table.",
        ),
        mistake(
            "two segments only",
            _TwoSegments,
            "Your segment table always has two rows: n_segments says how many.",
        ),
        mistake(
            "positions by batch",
            _sum(placed=lambda self, ids: self.position(torch.arange(len(ids), device=ids.device))[:, None]),
            "Your positions run along the batch, so a text's place in it matters: they run along time, axis 1.",
        ),
        mistake(
            "positions from one",
            _sum(
                placed=lambda self, ids: self.position.weight.roll(-1, 0)[: ids.shape[1]],
            ),
            "Your positions begin at 1: the first token, [CLS], stands at 0.",
        ),
        mistake(
            "one position for all",
            _sum(placed=lambda self, ids: self.position(torch.full_like(ids, ids.shape[1] - 1))),
            "Each token gets the same position: 0, 1, 2, … along the text.",
        ),
        mistake(
            "position of the id",
            _sum(placed=lambda self, ids: self.position(ids % self.position.num_embeddings)),
            "You look positions up by token ids: look them up by place, `torch.arange(T)`.",
        ),
        mistake(
            "positions start again in the second segment",
            _sum(
                forward=lambda self, ids, segments: self.norm(
                    self.token(ids)
                    + self.position((segments == segments.roll(1, 1)).cumsum(1) % self.position.num_embeddings)
                    + self.segment(segments)
                )
            ),
            "Your positions depend on segments: they count on from the first token to the last, through both texts.",
        ),
        mistake(
            "sinusoidal positions",
            _Sinusoidal,
            "Your positions are sinusoidal: BERT learns them, `position` is a table.",
        ),
        mistake(
            "words times √d_model",
            _forward(
                lambda self, ids, segments: self.norm(
                    self.token(ids) * self.token.embedding_dim**0.5 + self.placed(ids) + self.segment(segments)
                )
            ),
            "You multiply words by √d_model, as the 2017 model does: BERT adds them as they are.",
        ),
        mistake(
            "positions on the CPU",
            _sum(places=lambda self, ids: torch.arange(ids.shape[1])),
            "Your positions are made on the CPU, so on a GPU this fails: `torch.arange(T, device=ids.device)`.",
        ),
    ]


# ---- the model ----


@cache
def _parts(layer, vocab_size, d_model, n_heads, d_ff, n_layers, max_len):
    """The submodules, shared by all mistakes, since making them takes longer than asking: weights are put in anew."""
    parts = {
        "embeddings": models.BertEmbeddings(vocab_size, d_model, max_len),
        "encoder": nn.ModuleList(layer(d_model, n_heads, d_ff) for _ in range(n_layers)),
        "pooler": nn.Linear(d_model, d_model),
        "transform": nn.Linear(d_model, d_model),
        "transform_norm": nn.LayerNorm(d_model),
        "token_head": nn.Linear(d_model, vocab_size),
        "next_head": nn.Linear(d_model, 2),
    }
    parts["token_head"].weight = parts["embeddings"].token.weight
    return parts


class _Steps(models.Bert):
    """The model in steps that can be exchanged one by one."""

    layer = partial(EncoderLayer, activation=F.gelu)

    def __init__(self, *sizes):
        nn.Module.__init__(self)
        self._modules.update(_parts(type(self).layer, *sizes))

    def embed(self, ids, segment_ids):
        return self.embeddings(ids, segment_ids)

    def mask(self, ids, attention_mask):
        return attention_mask.bool()[:, None, None, :]  # (B, 1, 1, T)

    def stack(self, x, mask):
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def transformed(self, x):
        return self.transform_norm(F.gelu(self.transform(x)))

    def tokens(self, x):
        return self.token_head(self.transformed(x))

    def pooled(self, x):
        return self.pooler(x[:, 0]).tanh()

    def following(self, x):
        return self.next_head(self.pooled(x))

    def result(self, tokens, following):
        return tokens, following

    def forward(self, ids, segment_ids, attention_mask):
        x = self.stack(self.embed(ids, segment_ids), self.mask(ids, attention_mask))
        return self.result(self.tokens(x), self.following(x))


def _bert(**steps):
    return type("Bert", (_Steps,), steps)


def _layers(**more):
    """Other layers: `more` goes to each."""
    return _bert(layer=partial(EncoderLayer, **{"activation": F.gelu} | more))


class _Untied(_Steps):
    def __init__(self, vocab_size, d_model, *sizes):
        super().__init__(vocab_size, d_model, *sizes)
        self.token_head = nn.Linear(d_model, vocab_size)


class _NoBias(_Steps):
    def __init__(self, vocab_size, d_model, *sizes):
        super().__init__(vocab_size, d_model, *sizes)
        self.token_head = nn.Linear(d_model, vocab_size, bias=False)
        self.token_head.weight = self.embeddings.token.weight


class _OneLayer(_Steps):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, max_len):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers, max_len)
        self.encoder = nn.ModuleList([self.layer(d_model, n_heads, d_ff)] * n_layers)


class _OneNextLogit(_Steps):
    def __init__(self, vocab_size, d_model, *sizes):
        super().__init__(vocab_size, d_model, *sizes)
        self.next_head = nn.Linear(d_model, 1)


def _causal(self, ids, attention_mask):
    n = ids.shape[1]
    return torch.ones(n, n, dtype=torch.bool, device=ids.device).tril() & _Steps.mask(self, ids, attention_mask)


def _first_layer_again(self, x, mask):
    for _ in self.encoder:
        x = self.encoder[0](x, mask)
    return x


def _masked_once(self, x, mask):
    for i, layer in enumerate(self.encoder):
        x = layer(x, None if i else mask)
    return x


def _mean_pooled(self, x):
    return self.pooler(x.mean(1)).tanh()


def _at_real_tokens(found, *given):
    """Both logits; what stands at padding is nobody's business."""
    tokens, following = found
    return tokens.masked_fill((given[-1] == 0)[..., None], 0), following


def _pair(found, *given):
    return type(found) in (tuple, list) and len(found) == 2 and all(isinstance(x, torch.Tensor) for x in found)


@exercise("bert.Bert", points=5, minutes=30, difficulty=4, ask="module")
class Bert:
    """BERT with both heads, from ids to logits of each token and of whether the second text follows the first.

    Submodules: `embeddings` (`helpers.models.BertEmbeddings`); `encoder`, a ModuleList of
    `helpers.layers.EncoderLayer`, post-norm, with GELU, in which no token reads padding. For tokens: `transform`
    (linear, d_model to d_model), GELU, `transform_norm`, then `token_head`, a linear layer with a bias whose weight
    *is* that of `embeddings.token`. For the next sentence: `pooler` (linear) and tanh at [CLS], position 0, then
    `next_head`, two logits. The attention mask is 1 at real tokens; logits at padding are not looked at. Eps of norms
    is yours to choose (BERT's is 1e-12), and so are first weights.
    """

    signature = (
        "Bert(vocab_size: int, d_model: int, n_heads: int, d_ff: int, n_layers: int, max_len: int)\n"
        "forward(ids: Tensor (B, T), segment_ids: Tensor (B, T), attention_mask: Tensor (B, T))\n"
        "    -> tuple[Tensor (B, T, vocab_size), Tensor (B, 2)]"
    )
    reference = models.Bert
    measure = _at_real_tokens
    shortcuts = ["BertModel", "BertForPreTraining", "BertForMaskedLM", "TransformerEncoder", "TransformerEncoderLayer"]
    why = "With the same weights, and BERT's eps, yours and the `transformers` library's BERT say the same."
    hints = [
        "Below it is the encoder of 05 with other embeddings, GELU and a padding mask that you are given; the rest is "
        "two small heads on what comes out.",
        "`EncoderLayer(d_model, n_heads, d_ff, activation=F.gelu)`, with the mask "
        "`attention_mask.bool()[:, None, None, :]`, (B, 1, 1, T). Tie the head by "
        "`self.token_head.weight = self.embeddings.token.weight`.",
        "Tokens: `self.token_head(self.transform_norm(F.gelu(self.transform(x))))`. Next sentence: "
        "`self.next_head(torch.tanh(self.pooler(x[:, 0])))`.",
    ]

    def cases(rng):
        def case(init, time, lengths, dtype="float64"):
            batch = len(lengths)
            ids, segments = rng.integers(0, init[0], batch, time), rng.integers(0, 2, batch, time)
            segments[0, 0], segments[-1, -1], ids[:, 1:2] = 0, 1, 0  # a token of id 0 that is no padding
            real = (torch.arange(time) < torch.tensor(lengths)[:, None]).long()  # (B, T)
            return Case((ids, segments, real), init=init, state=_state(rng, models.Bert, *init), dtype=dtype)

        def whole(time, batch):
            return time, (time,) * batch

        # A gradient is of all logits, those at padding as well: cases in float64 have none.
        return [
            case((11, 6, 2, 5, 2, 13), 5, (5, 3, 2), "float32"),
            case((5, 4, 1, 3, 1, 7), 1, (1, 1, 1), "float32"),
            case((13, 9, 3, 5, 1, 8), 8, (8, 1), "float32"),
            case((9, 6, 3, 7, 1, 11), *whole(rng.integer(4, 8), 3)),
        ]

    properties = [
        holds("two logits", _pair, "A pair is due: logits of tokens, and logits of the next sentence."),
        holds(
            "shapes",
            lambda found, *given: (
                (found[0].shape, found[1].shape) == ((*given[-1].shape, given[0]), (len(given[-1]), 2))
            ),
            "The shapes due are (B, T, vocab_size) for tokens and (B, 2) for the next sentence.",
        ),
    ]
    mistakes = [
        mistake(
            "attention mask unused",
            _bert(mask=lambda self, ids, attention_mask: None),
            "Your tokens read padding: hand `attention_mask` to every layer, as (B, 1, 1, T).",
        ),
        mistake(
            "attention mask inverted",
            _bert(mask=lambda self, ids, attention_mask: attention_mask[:, None, None, :] == 0),
            "Your mask shows padding and hides the text: it is 1 where a token may look.",
        ),
        mistake(
            "attention mask added",
            _bert(mask=lambda self, ids, attention_mask: attention_mask[:, None, None, :].to(self.pooler.weight)),
            "You add 0 and 1 to the scores, which hides nothing: make the mask boolean, `attention_mask.bool()`.",
        ),
        mistake(
            "padding by id 0",
            _bert(mask=lambda self, ids, attention_mask: (ids != 0)[:, None, None, :]),
            "You take id 0 for padding: what is padding says `attention_mask`.",
        ),
        mistake(
            "padding does not look",
            _bert(mask=lambda self, ids, attention_mask: attention_mask.bool()[:, None, :, None]),
            "Your mask is along queries: then padding reads nothing and all read padding. Keys are the last axis, "
            "`[:, None, None, :]`.",
        ),
        mistake(
            "mask in the first layer alone",
            _bert(stack=_masked_once),
            "Only your first layer gets the mask, so the others read padding: hand it to every layer.",
        ),
        mistake(
            "causal",
            _bert(mask=_causal),
            "Your tokens do not read what comes after them: BERT reads both ways, so only padding is hidden.",
        ),
        mistake(
            "segments unused",
            _bert(embed=lambda self, ids, segment_ids: self.embeddings(ids, torch.zeros_like(segment_ids))),
            "Segment ids change nothing in your model: hand them to `embeddings`.",
        ),
        mistake(
            "embeddings times √d_model",
            _bert(
                embed=lambda self, ids, segment_ids: self.embeddings(ids, segment_ids) * self.pooler.in_features**0.5
            ),
            "You multiply embeddings by √d_model, as the 2017 model does: BERT's go in as they come out of their norm.",
        ),
        mistake(
            "ReLU in the layers",
            _layers(activation=F.relu),
            "Your layers bend with ReLU, their default: `EncoderLayer(…, activation=F.gelu)`.",
        ),
        mistake(
            "GELU by tanh in the layers",
            _layers(activation=partial(F.gelu, approximate="tanh")),
            "Your layers use the approximation of GELU by tanh, as GPT-2 does: BERT's is `F.gelu` as it is.",
        ),
        mistake(
            "pre-norm",
            _layers(norm_first=True),
            "Your layers norm first: BERT's are post-norm, as in 2017.",
        ),
        mistake(
            "the first layer again",
            _bert(stack=_first_layer_again),
            "You go through your first layer n_layers times: each layer has weights of its own.",
        ),
        mistake(
            "one layer under many names",
            _OneLayer,
            "Your layers are one and the same, n_layers times in a list: make a new one for each.",
        ),
        mistake(
            "layers unused",
            _bert(stack=lambda self, x, mask: x),
            "Your layers are never used: `for layer in self.encoder: x = layer(x, mask)`.",
        ),
        mistake(
            "head not tied",
            _Untied,
            "Your `token_head` has a weight of its own: it is that of `embeddings.token`, one tensor with two uses.",
        ),
        mistake(
            "head without a bias",
            _NoBias,
            "Your `token_head` has no bias: only its weight is the embedding's, and a bias of its own comes with it.",
        ),
        mistake(
            "bias unused",
            _bert(tokens=lambda self, x: self.transformed(x) @ self.embeddings.token.weight.T),
            "You multiply by the embedding and leave out the bias of `token_head`: call the submodule.",
        ),
        mistake(
            "no transform",
            _bert(transformed=lambda self, x: x),
            "Your token head reads hidden states as they are: `transform`, GELU and `transform_norm` come first.",
        ),
        mistake(
            "no GELU in the transform",
            _bert(transformed=lambda self, x: self.transform_norm(self.transform(x))),
            "Nothing bends between `transform` and `transform_norm`: a GELU belongs there.",
        ),
        mistake(
            "ReLU in the transform",
            _bert(transformed=lambda self, x: self.transform_norm(self.transform(x).relu())),
            "After `transform` you bend with ReLU: it is a GELU, as in the layers.",
        ),
        mistake(
            "tanh in the transform",
            _bert(transformed=lambda self, x: self.transform_norm(self.transform(x).tanh())),
            "After `transform` you bend with tanh: that is the pooler's, here it is a GELU.",
        ),
        mistake(
            "no norm in the transform",
            _bert(transformed=lambda self, x: F.gelu(self.transform(x))),
            "`transform_norm` is never used: it comes after the GELU.",
        ),
        mistake(
            "norm before GELU",
            _bert(transformed=lambda self, x: F.gelu(self.transform_norm(self.transform(x)))),
            "You norm before the GELU: `transform`, GELU, `transform_norm`.",
        ),
        mistake(
            "no tanh",
            _bert(pooled=lambda self, x: self.pooler(x[:, 0])),
            "There is no tanh behind your `pooler`, so it and `next_head` are one linear layer in two parts.",
        ),
        mistake(
            "GELU behind the pooler",
            _bert(pooled=lambda self, x: F.gelu(self.pooler(x[:, 0]))),
            "Behind your `pooler` stands a GELU: here it is tanh.",
        ),
        mistake(
            "no pooler",
            _bert(pooled=lambda self, x: x[:, 0]),
            "Your `next_head` reads the hidden state of [CLS] as it is: `pooler` and tanh come first.",
        ),
        mistake(
            "mean pooled",
            _bert(pooled=_mean_pooled),
            "You pool the mean of all tokens, padding among them: [CLS] at position 0 speaks for the text.",
        ),
        mistake(
            "the last token pooled",
            _bert(pooled=lambda self, x: self.pooler(x[:, -1]).tanh()),
            "You pool the last token: [CLS] stands at position 0.",
        ),
        mistake(
            "next sentence at each token",
            _bert(pooled=lambda self, x: self.pooler(x).tanh()),
            "You give next-sentence logits for each token: two for each text, read at [CLS], `x[:, 0]`.",
        ),
        mistake(
            "one logit for the next sentence",
            _OneNextLogit,
            "Your `next_head` gives one logit: two are due, a class each.",
        ),
        mistake(
            "softmax",
            _bert(result=lambda self, tokens, following: (tokens.softmax(-1), following.softmax(-1))),
            "You give probabilities: logits are due, and the losses take their own softmax.",
        ),
        mistake(
            "log-softmax",
            _bert(result=lambda self, tokens, following: (tokens.log_softmax(-1), following.log_softmax(-1))),
            "You give log-probabilities: logits are due, and the losses take their own softmax.",
        ),
        mistake(
            "exchanged",
            _bert(result=lambda self, tokens, following: (following, tokens)),
            "You give next-sentence logits first: those of tokens come first.",
        ),
        mistake(
            "tokens alone",
            _bert(result=lambda self, tokens, following: tokens),
            "You give the logits of tokens alone: those of the next sentence come with them.",
        ),
    ]
