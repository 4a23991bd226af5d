"""05_parameters: how many numbers a model learns, against what real modules hold."""

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from helpers import counting, parameters

POSITIVE = holds(
    "more than nothing",
    lambda n, *sizes: n > 0,
    "Even the smallest of these layers learns something: the number is positive.",
)
HEADS = "Heads share d_model out among them, so more heads are thinner heads: their number changes no count."


def _layers(rng):
    """Sizes (d_model, d_ff, n_heads) of one layer, mutually prime but for heads that must divide."""
    return [(1, 1, 1), (200, 200, 2), (6, 5, 3), (rng.integer(3, 9) * 5, rng.integer(101, 150), 5), (512, 2048, 8)]


# ---- the parts ----


@exercise("parameters.embedding", points=1, minutes=3, difficulty=1, kind="claim")
class Embedding:
    """Parameters of an embedding of vocab_size tokens in d_model features."""

    signature = "embedding(vocab_size: int, d_model: int) -> int"
    reference = parameters.embedding
    gradient = False
    dtypes = []
    why = "A table of one row for each token: 20,000 numbers for 100 tokens of width 200, and the largest part of BERT."
    hints = [
        "`nn.Embedding(7, 3).weight.shape` shows what there is to learn.",
        "One row for each token, one column for each feature; no bias.",
    ]

    def cases(rng):
        return [(1, 1), (100, 200), (7, 5), (rng.integer(20, 90), rng.integer(101, 200)), (37_000, 512)]

    properties = [POSITIVE]
    mistakes = [
        mistake("a bias", lambda v, d: v * d + d, "You add a bias of d_model: an embedding only looks a row up."),
        mistake(
            "a bias for each token",
            lambda v, d: v * d + v,
            "You add one number for each token, as a head's bias has: an embedding only looks a row up.",
        ),
        mistake(
            "quadratic",
            lambda v, d: v * d * d,
            "You have d_model too often: each token has one vector of d_model numbers, not a matrix.",
        ),
        mistake("added", lambda v, d: v + d, "You add the sizes: a table of V rows and D columns holds V·D numbers."),
        mistake(
            "positions too",
            lambda v, d: v * d + 512 * d,
            "You count 512 positions as well: fixed positions are computed, and learned ones are a table of their own.",
        ),
        mistake(
            "both ways",
            lambda v, d: 2 * v * d,
            "You count the table twice: the head that turns vectors into tokens again is a part of its own.",
        ),
    ]


@exercise("parameters.attention", points=2, minutes=6, difficulty=2, kind="claim")
class Attention:
    """Parameters of one multi-head attention: projections of queries, keys, values and of the output, with biases."""

    signature = "attention(d_model: int, n_heads: int) -> int"
    reference = parameters.attention
    gradient = False
    dtypes = []
    why = "And n_heads is in no term of it: heads are a way to use these numbers, not more of them."
    hints = [
        "List the four linear layers. What goes into each, and what comes out?",
        "Each has a (d_model, d_model) matrix and a bias of d_model. What do heads change about that?",
        "At d_model = 200 it is 160,800, with any number of heads.",
    ]

    def cases(rng):
        return [(1, 1), (200, 2), (6, 3), (rng.integer(3, 30) * 7, 7), (768, 12)]

    properties = [POSITIVE]
    mistakes = [
        mistake("biases left out", lambda d, h: 4 * d * d, "You left the biases out: each projection has d_model."),
        mistake(
            "no output projection",
            lambda d, h: 3 * (d * d + d),
            "You count three projections: a fourth one mixes what the heads found, out_proj.",
        ),
        mistake(
            "no output projection, no biases",
            lambda d, h: 3 * d * d,
            "You count three bare matrices: there is a fourth one, out_proj, and each has a bias of d_model.",
        ),
        mistake(
            "multiplied by heads",
            lambda d, h: h * 4 * (d * d + d),
            "You multiply by n_heads, as if each head were d_model wide. " + HEADS,
        ),
        mistake(
            "three multiplied by heads",
            lambda d, h: h * 3 * (d * d + d) + d * d + d,
            "You give each head projections from d_model to d_model; they lead to d_model / n_heads. " + HEADS,
        ),
        mistake(
            "heads each of full width, merged",
            lambda d, h: h * 3 * (d * d + d) + h * d * d + d,
            "You make each head d_model wide and the output projection n_heads times that. " + HEADS,
        ),
        mistake(
            "one head's share",
            lambda d, h: 4 * (d * d + d) // h,
            "You divide by n_heads, which counts one head: the layer holds all of them.",
        ),
        mistake(
            "three of one head",
            lambda d, h: 3 * (d * d + d) // h + d * d + d,
            "Your queries, keys and values are those of one head: the layer holds n_heads times as many.",
        ),
        mistake(
            "one bias",
            lambda d, h: 4 * d * d + d,
            "You count one bias: each of the four projections has its own.",
        ),
        mistake(
            "no bias at the output",
            lambda d, h: 4 * d * d + 3 * d,
            "You count three biases: out_proj has one too.",
        ),
        mistake(
            "a bias for each head",
            lambda d, h: 4 * (d * d + d * h),
            "Your biases are n_heads times too long: a head's is d_model / n_heads, all heads' together d_model.",
        ),
        mistake(
            "a norm too",
            lambda d, h: 4 * (d * d + d) + 2 * d,
            "You count a norm as well: it belongs to the layer around, and is counted there.",
        ),
    ]


@exercise("parameters.feed_forward", points=1, minutes=4, difficulty=1, kind="claim")
class FeedForward:
    """Parameters of a feed-forward layer: d_model → d_ff → d_model, both with biases."""

    signature = "feed_forward(d_model: int, d_ff: int) -> int"
    reference = parameters.feed_forward
    gradient = False
    dtypes = []
    why = "In the paper's base model, with d_ff four times d_model, this is two thirds of each encoder layer."
    hints = [
        "Two linear layers: write down the shapes of both weights and both biases.",
        "A bias is as long as what comes out: d_ff for the first, d_model for the second.",
    ]

    def cases(rng):
        return [(1, 1), (200, 200), (5, 7), (rng.integer(10, 40), rng.integer(41, 99)), (512, 2048)]

    properties = [POSITIVE]
    mistakes = [
        mistake("biases left out", lambda d, f: 2 * d * f, "You left the biases out: d_ff and d_model numbers more."),
        mistake(
            "one layer",
            lambda d, f: d * f + f,
            "You count the way up alone: a second linear layer leads from d_ff down to d_model again.",
        ),
        mistake("one layer down", lambda d, f: d * f + d, "You count the way down alone: the way up is a layer too."),
        mistake(
            "two biases of d_model",
            lambda d, f: 2 * (d * f + d),
            "Both of your biases have d_model numbers: the first is added to d_ff features, so it has d_ff.",
        ),
        mistake(
            "two biases of d_ff",
            lambda d, f: 2 * (d * f + f),
            "Both of your biases have d_ff numbers: the second is added to d_model features, so it has d_model.",
        ),
        mistake(
            "d_ff taken for d_model",
            lambda d, f: 2 * (d * d + d),
            "You never use d_ff: it is d_model only by chance, as in the published count of width 200.",
        ),
        mistake(
            "one bias up",
            lambda d, f: 2 * d * f + f,
            "You count the first bias alone: the second linear layer has one of d_model.",
        ),
        mistake(
            "one bias down",
            lambda d, f: 2 * d * f + d,
            "You count the second bias alone: the first linear layer has one of d_ff.",
        ),
        mistake(
            "four times wider",
            lambda d, f: 8 * d * d + 5 * d,
            "You take d_ff to be 4·d_model, which it often is: use the d_ff that is given.",
        ),
        mistake(
            "a hidden layer more",
            lambda d, f: 2 * d * f + f * f + 2 * f + d,
            "You count a layer from d_ff to d_ff between the two: there are only two, with a ReLU between them.",
        ),
    ]


@exercise("parameters.layer_norm", points=1, minutes=3, difficulty=1, kind="claim")
class LayerNorm:
    """Parameters of one layer norm over d_model features."""

    signature = "layer_norm(d_model: int) -> int"
    reference = parameters.layer_norm
    gradient = False
    dtypes = []
    why = "Few as they are, these are the numbers that published counts forget most often."
    hints = [
        "`dict(nn.LayerNorm(3).named_parameters())` has two entries.",
        "The mean and the deviation are computed anew for each token; a gain and a bias are learned.",
    ]

    def cases(rng):
        return [(1,), (2,), (200,), (rng.integer(3, 99),), (768,)]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "one vector",
            lambda d: d,
            "You count one vector: a norm learns a gain and a bias, d_model numbers each.",
        ),
        mistake(
            "a number each",
            lambda d: 2,
            "You count one gain and one bias for all: each of the d_model features has its own.",
        ),
        mistake(
            "mean and deviation too",
            lambda d: 4 * d,
            "You count four vectors: mean and deviation are computed for each token, not learned "
            "(and the two norms of a layer are counted where they stand).",
        ),
        mistake("nothing", lambda d: 0, "You count nothing: a norm also stretches and shifts each feature, 2·d_model."),
        mistake(
            "mean and deviation as two numbers",
            lambda d: 2 * d + 2,
            "You add two numbers for mean and deviation: these are computed for each token, and not learned.",
        ),
        mistake(
            "a matrix",
            lambda d: d * d + d,
            "You count a linear layer: a norm's gain multiplies each feature by a number of its own, without mixing.",
        ),
    ]


# ---- layers ----

attention, feed_forward = parameters.attention, parameters.feed_forward


@exercise("parameters.encoder_layer", points=2, minutes=6, difficulty=2, kind="claim")
class EncoderLayer:
    """Parameters of one encoder layer: attention, feed-forward, and a norm after each."""

    signature = "encoder_layer(d_model: int, d_ff: int, n_heads: int) -> int"
    reference = parameters.encoder_layer
    cases = _layers
    gradient = False
    dtypes = []
    why = "At width 200 it is 160,800 + 80,400 + 800 = 242,000: every part now stands in your ledger."
    hints = [
        "Add up what you have: `attention`, `feed_forward`, `layer_norm`.",
        "How many norms does a layer have? How many vectors does each of them learn?",
    ]
    properties = [POSITIVE]
    mistakes = [
        mistake(
            "arguments in another order",
            lambda d, h, f: parameters.encoder_layer(d, f, h),
            "You take the second argument for n_heads: the card's order is (d_model, d_ff, n_heads).",
        ),
        mistake(
            "half of the norms",
            lambda d, f, h: attention(d, h) + feed_forward(d, f) + 2 * d,
            "Your norms have 2·d_model numbers in all: there are two, and each learns a gain and a bias, 4·d_model.",
        ),
        mistake(
            "no norms",
            lambda d, f, h: attention(d, h) + feed_forward(d, f),
            "You are short of 4·d_model: so many do the two norms learn, and so many are attention's four biases.",
        ),
        mistake(
            "three norms",
            lambda d, f, h: attention(d, h) + feed_forward(d, f) + 6 * d,
            "You count three norms: an encoder layer has two, one for each of its parts; the decoder's has three.",
        ),
        mistake(
            "biases left out",
            lambda d, f, h: 4 * d * d + 2 * d * f + 4 * d,
            "You left out the biases of the linear layers: 4·d_model in attention, d_ff + d_model in the feed-forward.",
        ),
        mistake(
            "matrices alone",
            lambda d, f, h: 4 * d * d + 2 * d * f,
            "You count the matrices alone: biases and norms learn too.",
        ),
        mistake(
            "feed-forward's biases left out",
            lambda d, f, h: attention(d, h) + 2 * d * f + 4 * d,
            "You left out the feed-forward's biases: d_ff and d_model.",
        ),
        mistake(
            "no output projection",
            lambda d, f, h: 3 * (d * d + d) + feed_forward(d, f) + 4 * d,
            "Your attention has three projections: the fourth, out_proj, is missing.",
        ),
        mistake(
            "multiplied by heads",
            lambda d, f, h: h * attention(d, h) + feed_forward(d, f) + 4 * d,
            "You multiply attention by n_heads. " + HEADS,
        ),
        mistake(
            "all multiplied by heads",
            lambda d, f, h: h * (attention(d, h) + feed_forward(d, f) + 4 * d),
            "You multiply the whole layer by n_heads. " + HEADS,
        ),
        mistake(
            "feed-forward multiplied by heads",
            lambda d, f, h: attention(d, h) + h * feed_forward(d, f) + 4 * d,
            "You give each head a feed-forward layer: it is no part of the heads, and comes once, after the merge.",
        ),
        mistake(
            "d_ff taken for d_model",
            lambda d, f, h: attention(d, h) + feed_forward(d, d) + 4 * d,
            "You never use d_ff: the feed-forward layer leads from d_model to d_ff and back.",
        ),
        mistake(
            "feed-forward left out",
            lambda d, f, h: attention(d, h) + 4 * d,
            "You left out the feed-forward layer, which at d_ff = 4·d_model is twice as large as attention.",
        ),
        mistake(
            "a decoder layer",
            lambda d, f, h: 2 * attention(d, h) + feed_forward(d, f) + 6 * d,
            "That is a decoder layer: an encoder layer has one attention and two norms.",
        ),
        mistake(
            "d_model and d_ff exchanged",
            lambda d, f, h: attention(f, h) + feed_forward(f, d) + 4 * f,
            "You have exchanged d_model and d_ff: attention and norms are d_model wide.",
        ),
    ]


@exercise("parameters.decoder_layer", points=2, minutes=6, difficulty=2, kind="claim")
class DecoderLayer:
    """Parameters of one decoder layer: attention to itself and to the encoder, feed-forward, a norm after each."""

    signature = "decoder_layer(d_model: int, d_ff: int, n_heads: int) -> int"
    reference = parameters.decoder_layer
    cases = _layers
    gradient = False
    dtypes = []
    why = "Attention to the encoder is a third part with weights and a norm of its own: that is all the two differ in."
    hints = [
        "What does a decoder layer have that an encoder layer has not?",
        "Each of the three parts has a norm.",
    ]
    properties = [POSITIVE]
    mistakes = [
        mistake(
            "arguments in another order",
            lambda d, h, f: parameters.decoder_layer(d, f, h),
            "You take the second argument for n_heads: the card's order is (d_model, d_ff, n_heads).",
        ),
        mistake(
            "an encoder layer",
            lambda d, f, h: attention(d, h) + feed_forward(d, f) + 4 * d,
            "That is an encoder layer: a decoder's also attends to the encoder, with weights and a norm of its own.",
        ),
        mistake(
            "two norms",
            lambda d, f, h: 2 * attention(d, h) + feed_forward(d, f) + 4 * d,
            "You count two norms: a decoder layer has three parts, and so three norms.",
        ),
        mistake(
            "half of the norms",
            lambda d, f, h: 2 * attention(d, h) + feed_forward(d, f) + 3 * d,
            "You count one vector for each norm: it learns a gain and a bias.",
        ),
        mistake("no norms", lambda d, f, h: 2 * attention(d, h) + feed_forward(d, f), "You left out the three norms."),
        mistake(
            "one attention",
            lambda d, f, h: attention(d, h) + feed_forward(d, f) + 6 * d,
            "You count one attention: the one to itself and the one to the encoder have weights of their own.",
        ),
        mistake(
            "three attentions",
            lambda d, f, h: 3 * attention(d, h) + feed_forward(d, f) + 6 * d,
            "You count three attentions: a decoder layer has two, to itself and to the encoder.",
        ),
        mistake(
            "cross-attention without queries",
            lambda d, f, h: 2 * attention(d, h) - (d * d + d) + feed_forward(d, f) + 6 * d,
            "One projection is missing in your attention to the encoder: queries from the decoder are projected too.",
        ),
        mistake(
            "cross-attention without keys and values",
            lambda d, f, h: 2 * attention(d, h) - 2 * (d * d + d) + feed_forward(d, f) + 6 * d,
            "Two projections are missing: each decoder layer projects the encoder's output to keys and values anew.",
        ),
        mistake(
            "an encoder layer and attention",
            lambda d, f, h: 2 * attention(d, h) + 2 * feed_forward(d, f) + 6 * d,
            "You count two feed-forward layers: there is one, after both attentions.",
        ),
        mistake(
            "biases left out",
            lambda d, f, h: 8 * d * d + 2 * d * f + 6 * d,
            "You left out the biases of the linear layers.",
        ),
        mistake(
            "matrices alone",
            lambda d, f, h: 8 * d * d + 2 * d * f,
            "You count the matrices alone: biases and norms learn too.",
        ),
        mistake(
            "multiplied by heads",
            lambda d, f, h: 2 * h * attention(d, h) + feed_forward(d, f) + 6 * d,
            "You multiply attention by n_heads. " + HEADS,
        ),
        mistake(
            "d_ff taken for d_model",
            lambda d, f, h: 2 * attention(d, h) + feed_forward(d, d) + 6 * d,
            "You never use d_ff: the feed-forward layer leads from d_model to d_ff and back.",
        ),
    ]


# ---- models ----

_body, _layer = parameters.body, parameters.encoder_layer


def _wrong_bodies(head):
    """Mistakes that a language model and a classifier share; `head(d, last)` is right, `last` what comes out."""

    def version(count):
        def wrong(*, vocab_size, d_model, d_ff, n_layers, n_heads, n_classes=None):
            last = vocab_size if n_classes is None else n_classes
            return count(vocab_size, d_model, d_ff, n_layers, n_heads) + head(d_model, last)

        return wrong

    return [
        mistake(
            "half of the norms",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) - n * 2 * d),
            "Your norms have half of their numbers: each layer has two norms, and each learns a gain and a bias. "
            "(The published count made that slip too, and its sum does not add up.)",
        ),
        mistake(
            "no norms",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) - n * 4 * d),
            "You are short of 4·d_model in each layer: so many do two norms learn, and so many are attention's biases.",
        ),
        mistake(
            "a norm at the end",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) + 2 * d),
            "You count a norm after the last layer: this post-norm model has none, since each layer ends in one.",
        ),
        mistake(
            "one layer",
            version(lambda v, d, f, n, h: _body(v, d, f, 1, h)),
            "You count one layer: there are n_layers, and each has weights of its own.",
        ),
        mistake(
            "positions counted",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) + 5000 * d),
            "You count 5000 positions: they are fixed sines and cosines, a buffer that nothing learns.",
        ),
        mistake(
            "512 positions counted",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) + 512 * d),
            "You count 512 positions as in BERT, which learns them: here they are fixed sines and cosines.",
        ),
        mistake(
            "positions as large as the embedding",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) + v * d),
            "You count the embedding's table once too often, perhaps for the positions: these are fixed.",
        ),
        mistake(
            "multiplied by heads",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) + n * (h - 1) * attention(d, h)),
            "You multiply attention by n_heads. " + HEADS,
        ),
        mistake(
            "feed-forward multiplied by heads",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) + n * (h - 1) * feed_forward(d, f)),
            "You give each head a feed-forward layer: it is no part of the heads, and comes once, after the merge.",
        ),
        mistake(
            "layers' biases left out",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) - n * (5 * d + f)),
            "You left out the biases inside the layers: 4·d_model in attention, d_ff + d_model in the feed-forward.",
        ),
        mistake(
            "no output projection",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) - n * (d * d + d)),
            "Your attention has three projections: the fourth, out_proj, is missing in each layer.",
        ),
        mistake(
            "d_ff taken for d_model",
            version(lambda v, d, f, n, h: _body(v, d, d, n, h)),
            "You never use d_ff: the feed-forward layer leads from d_model to d_ff and back.",
        ),
        mistake(
            "feed-forward left out",
            version(lambda v, d, f, n, h: _body(v, d, f, n, h) - n * feed_forward(d, f)),
            "You left out the feed-forward layers: each of the n_layers has one.",
        ),
        mistake(
            "decoder layers",
            version(lambda v, d, f, n, h: v * d + n * parameters.decoder_layer(d, f, h)),
            "You count decoder layers with attention to an encoder: there is no encoder here to attend to.",
        ),
    ]


def _right_head(d, last):
    return d * last + last


def _models(rng, **more):
    """Sizes by keyword; more than one head and layer in most, so that each mistake shows."""

    def case(**sizes):
        return Case(named={**sizes, **more})

    heads = rng.integer(2, 5)
    return [
        case(vocab_size=1, d_model=1, d_ff=1, n_layers=1, n_heads=1),
        case(vocab_size=100, d_model=200, d_ff=200, n_layers=4, n_heads=2),
        case(vocab_size=rng.integer(20, 90), d_model=heads * 7, d_ff=rng.integer(101, 150), n_layers=3, n_heads=heads),
        case(vocab_size=50_257, d_model=768, d_ff=3072, n_layers=12, n_heads=12),
    ]


@exercise("parameters.language_model", points=3, minutes=10, difficulty=3, kind="claim")
class LanguageModel:
    """Parameters of a language model: embedding, n_layers encoder layers, and a head from d_model to vocab_size.

    The head is untied and has a bias; positions are fixed; there is no norm after the last layer. Asked by keyword.
    """

    signature = "language_model(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> int"
    reference = parameters.language_model
    book = ["helpers.parameters.body", "helpers.parameters.claimed"]
    gradient = False
    dtypes = []
    why = "At the published sizes (100, 200, 200, 4) it is 1,008,100: now name by name, and exact."
    hints = [
        "Three terms: the embedding, the layers, the head.",
        "The head is `nn.Linear(d_model, vocab_size)`: a matrix and a bias.",
        "Sinusoidal positions are computed. How many of their numbers does the optimiser see?",
    ]
    cases = _models
    properties = [POSITIVE]
    mistakes = [
        mistake(
            "always four layers",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_heads: parameters.language_model(
                vocab_size, d_model, d_ff, 4, n_heads
            ),
            "You count four layers whatever n_layers says.",
        ),
        mistake(
            "no head",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_heads: _body(vocab_size, d_model, d_ff, n_layers, n_heads),
            "You left out the head, a linear layer from d_model to vocab_size with a bias.",
        ),
        mistake(
            "head without bias",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_heads: (
                _body(vocab_size, d_model, d_ff, n_layers, n_heads) + d_model * vocab_size
            ),
            "You left out the head's bias, one number for each token of the vocabulary.",
        ),
        mistake(
            "one table for embedding and head",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_heads: (
                _body(vocab_size, d_model, d_ff, n_layers, n_heads) + vocab_size
            ),
            "A table of vocab_size · d_model is missing: here the head is untied, so embedding and head have one each.",
        ),
        mistake(
            "head's bias of d_model",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_heads: (
                _body(vocab_size, d_model, d_ff, n_layers, n_heads) + d_model * vocab_size + d_model
            ),
            "Your head's bias has d_model numbers: it is added to logits, so it has vocab_size.",
        ),
        *_wrong_bodies(_right_head),
    ]


@exercise("parameters.classifier", points=2, minutes=6, difficulty=2, kind="claim")
class Classifier:
    """Parameters of a classifier: the language model's body, and a head with bias from d_model to n_classes.

    Positions are fixed; there is no norm after the last layer. Asked by keyword.
    """

    signature = (
        "classifier(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_classes: int, n_heads: int) -> int"
    )
    reference = parameters.classifier
    book = ["helpers.parameters.body", "helpers.parameters.language_model", "helpers.parameters.claimed"]
    gradient = False
    dtypes = []
    why = "988,402 at the published sizes, of which only the head's 402 are new when one fine-tunes."
    hints = [
        "What of the language model stays, and what is exchanged?",
        "The head is `nn.Linear(d_model, n_classes)`.",
    ]

    def cases(rng):
        return [*_models(rng, n_classes=2), *_models(rng, n_classes=7)[2:3]]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "always two classes",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: parameters.classifier(
                vocab_size, d_model, d_ff, n_layers, 2, n_heads
            ),
            "You count a head for two classes whatever n_classes says.",
        ),
        mistake(
            "no head",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: _body(
                vocab_size, d_model, d_ff, n_layers, n_heads
            ),
            "You left out the head, a linear layer from d_model to n_classes with a bias.",
        ),
        mistake(
            "head without bias",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: (
                _body(vocab_size, d_model, d_ff, n_layers, n_heads) + d_model * n_classes
            ),
            "You left out the head's bias, one number for each class.",
        ),
        mistake(
            "the language model's head",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: parameters.language_model(
                vocab_size, d_model, d_ff, n_layers, n_heads
            ),
            "That is the language model: its head is exchanged for one that leads to n_classes.",
        ),
        mistake(
            "both heads",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: (
                parameters.language_model(vocab_size, d_model, d_ff, n_layers, n_heads)
                + d_model * n_classes
                + n_classes
            ),
            "You kept the language model's head beside the new one: it is exchanged, not added to.",
        ),
        mistake(
            "embedding left out",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: (
                n_layers * _layer(d_model, d_ff, n_heads) + d_model * n_classes + n_classes
            ),
            "You left out the embedding, vocab_size · d_model.",
        ),
        mistake(
            "head's bias of d_model",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: (
                _body(vocab_size, d_model, d_ff, n_layers, n_heads) + d_model * n_classes + d_model
            ),
            "Your head's bias has d_model numbers: it is added to logits, so it has n_classes.",
        ),
        mistake(
            "the head alone",
            lambda *, vocab_size, d_model, d_ff, n_layers, n_classes, n_heads: d_model * n_classes + n_classes,
            "You count the new head alone: the body below it has parameters too, even if they are frozen.",
        ),
        *_wrong_bodies(_right_head),
    ]


# ---- an audit ----

# By how the learner reads the slip: as it should be, as it was counted, or what is missing.
_READINGS = {(800, 968_000), (400, 966_400), (400, 1_600)}


def _audited(part):
    return lambda found: type(found) is dict and part(found)


def _norm_line(found):
    line = found.get("line")
    return type(line) is str and any(word in line.lower() for word in ("norm", "ln"))


def _audit(line, per_layer, total):
    return lambda: {"line": line, "per_layer": per_layer, "total": total}


@exercise("parameters.audit", points=2, minutes=8, difficulty=3, kind="claim")
class Audit:
    """Which line of this published count is wrong: embedding, attention, feed_forward, norms or head?

    Vocabulary 100, width 200, d_ff 200, 2 heads, 4 layers: embedding 20,000; attention 160,800, feed_forward 80,400
    and norms 400 in each layer; all four layers 968,000; head 20,100; in all 1,008,100.

    Give {"line": its name, "per_layer": its parameters in one layer, "total": all four layers' parameters}, either
    both as they should be, or both as they follow from what was published.
    """

    signature = 'audit() -> {"line": str, "per_layer": int, "total": int}'
    reference = parameters.audit
    unique = False
    gradient = False
    dtypes = []
    why = (
        "Two norms with a gain and a bias each are 800: with 400 the layers come to 966,400, and the total is right "
        "only because another number was written than was added up."
    )
    hints = [
        "Do the sum that was published: is it the sum that was written?",
        "Count one real layer with your own formulas, line by line, and put the two ledgers side by side.",
        "How many vectors of 200 do the two norms of a layer learn?",
    ]

    def cases(rng):
        return [()]

    properties = [
        holds(
            "three entries",
            _audited(lambda found: set(found) == {"line", "per_layer", "total"}),
            'A dictionary with the keys "line", "per_layer" and "total" is due.',
        ),
        holds(
            "the line",
            _audited(_norm_line),
            "That line is right as published: compare each line of one layer with the `numel` of a real one.",
        ),
        holds(
            "the numbers",
            _audited(lambda found: (found["per_layer"], found["total"]) in _READINGS),
            "The line is the right one, but its two numbers do not go together: count that line for one layer, add the "
            "layer up with it, and multiply by the four layers.",
        ),
    ]
    mistakes = [
        mistake(
            "attention",
            _audit("attention", 160_800, 968_000),
            "Attention is right as published, 4 · (200² + 200) = 160,800: do the sum (160,800 + 80,400 + 400) · 4.",
        ),
        mistake(
            "feed-forward",
            _audit("feed_forward", 80_400, 968_000),
            "The feed-forward line is right as published: 2 · (200² + 200) = 80,400 since d_ff is 200 here.",
        ),
        mistake("head", _audit("head", 20_100, 968_000), "The head is right as published: 200 · 100 + 100 = 20,100."),
        mistake(
            "embedding",
            _audit("embedding", 20_000, 968_000),
            "The embedding is right as published: 100 · 200 = 20,000.",
        ),
        mistake(
            "right line, total unchanged",
            _audit("norms", 400, 968_000),
            "The line is right, but with 400 the sum is (160,800 + 80,400 + 400) · 4 = 966,400: "
            "968,000 needs another number for the norms.",
        ),
        mistake(
            "right line, total of the slip",
            _audit("norms", 800, 966_400),
            "800 is what the norms need, but then the layers come to more than 966,400: add them up again.",
        ),
        mistake(
            "the whole model's total",
            _audit("norms", 800, 1_008_100),
            'The line and its 800 are right; "total" asks for the four layers\' sum, without embedding and head.',
        ),
        mistake(
            "the line's total",
            _audit("norms", 800, 3_200),
            'The line and its 800 are right; "total" asks for all that the four layers learn, not for their norms.',
        ),
        mistake(
            "one layer's total",
            _audit("norms", 800, 242_000),
            '242,000 is one layer, and right; "total" asks for all four.',
        ),
        mistake(
            "one vector",
            _audit("norms", 200, 965_600),
            "200 is a single vector: a layer has two norms, and each learns two.",
        ),
    ]


# ---- counting a model ----


def _sum(weights):
    return sum(w.numel() for w in weights)


def _split(weights):
    weights = list(weights)
    return _sum(w for w in weights if w.requires_grad), _sum(w for w in weights if not w.requires_grad)


def _by_address(model):
    return _split({w.data_ptr(): w for w in model.parameters()}.values())


@exercise("parameters.count", points=2, minutes=8, difficulty=2, ask="assembled")
class Count:
    """(trainable, frozen): how many numbers a model's optimiser may change, and how many parameters are fixed.

    A weight that several layers share counts once; buffers are no parameters. The models live on the meta device,
    where tensors have shapes and no values, so only shapes can be looked at.
    """

    signature = "count(model: nn.Module) -> (int, int)"
    reference = counting.count
    gradient = False
    fake = False
    dtypes = []
    why = "The same few lines now count BERT without a byte of its 440 MB in memory."
    hints = [
        "`model.parameters()` goes through all weights, each once. What does each of them know about itself?",
        "`w.numel()` and `w.requires_grad`.",
    ]

    def cases(rng):
        a, b, c = rng.integer(3, 8), rng.integer(9, 14), rng.integer(15, 20)
        whole = [
            ("embedding.weight", (c, a), "trainable"),
            ("scale", (a,), "trainable"),
            ("positions.table", (100, a), "buffer"),
            ("encoder.0.up.weight", (b, a), "frozen"),
            ("encoder.0.up.bias", (b,), "frozen"),
            ("encoder.1.up.weight", (b, a), "trainable"),
            ("encoder.1.up.bias", (b,), "trainable"),
            ("head.weight", "embedding.weight", "shared"),
            ("head.bias", (c,), "trainable"),
        ]
        return [
            (whole,),
            ([("weight", (a, b), "trainable")],),
            ([("body.weight", (a, b), "frozen"), ("again.weight", "body.weight", "shared"), ("step", (), "buffer")],),
            ([],),
            ([("huge.weight", (10**6, 10**6), "trainable"), ("huge.bias", (10**6,), "frozen")],),
        ]

    properties = [
        holds(
            "two numbers",
            lambda found, model: len(found) == 2,
            "Two numbers are due, (trainable, frozen).",
        ),
    ]
    mistakes = [
        mistake(
            "shared weights twice",
            lambda model: _split(w for _, w in model.named_parameters(remove_duplicate=False)),
            "You count a shared weight in each layer that has it: it is one tensor, which `parameters()` gives once.",
        ),
        mistake(
            "buffers counted",
            lambda model: (_split(model.parameters())[0], _split(model.parameters())[1] + _sum(model.buffers())),
            "You count buffers as frozen: they are kept with the model but are no parameters.",
        ),
        mistake(
            "state_dict",
            lambda model: _split(model.state_dict().values()),
            "You count the state_dict: its tensors are cut from their gradients (so all look frozen), shared weights "
            "appear twice, and buffers are there too. Use `model.parameters()`.",
        ),
        mistake(
            "exchanged",
            lambda model: _split(model.parameters())[::-1],
            "You have the two numbers in the wrong order: trainable first.",
        ),
        mistake(
            "total and frozen",
            lambda model: (_sum(model.parameters()), _split(model.parameters())[1]),
            "Your first number is the total: frozen weights are not trainable.",
        ),
        mistake(
            "trainable and total",
            lambda model: (_split(model.parameters())[0], _sum(model.parameters())),
            "Your second number is the total: it should be the frozen ones alone.",
        ),
        mistake(
            "a single number",
            lambda model: _sum(model.parameters()),
            "You give the total: two numbers are due, (trainable, frozen).",
        ),
        mistake(
            "trainable alone",
            lambda model: _split(model.parameters())[0],
            "You give the trainable ones alone: two numbers are due, (trainable, frozen).",
        ),
        mistake(
            "tensors",
            lambda model: (
                sum(w.requires_grad for w in model.parameters()),
                sum(not w.requires_grad for w in model.parameters()),
            ),
            "You count the weight tensors, not the numbers in them: `w.numel()` is how many each holds.",
        ),
        mistake(
            "rows",
            lambda model: (
                sum(len(w) for w in model.parameters() if w.requires_grad),
                sum(len(w) for w in model.parameters() if not w.requires_grad),
            ),
            "You count the rows of each weight (`len`, `shape[0]`): `numel` is rows times columns.",
        ),
        mistake(
            "no biases",
            lambda model: _split(w for w in model.parameters() if w.dim() > 1),
            "You count the matrices alone: vectors such as biases and norms are parameters too.",
        ),
        mistake(
            "top level alone",
            lambda model: _split(model.parameters(recurse=False)),
            "You count what the model holds itself, and none of its layers: leave `recurse=False` out.",
        ),
        mistake(
            "one level deep",
            lambda model: _split(w for m in model.children() for w in m.parameters(recurse=False)),
            "You look one level deep: layers hold layers, and `model.parameters()` finds all.",
        ),
        mistake(
            "by address",
            _by_address,
            "You tell weights apart by `data_ptr()`: on the meta device every address is 0. `model.parameters()` "
            "already gives a shared weight once.",
        ),
    ]


# ---- published models ----


@exercise("parameters.paper", points=1, minutes=5, difficulty=1, kind="claim")
class Paper:
    """Parameters of the 2017 paper's models, as it reports them in its table 3; within 5 % is right."""

    signature = 'paper(name: str) -> number, for "base" and "big"'
    reference = parameters.paper
    tolerance = 0.05
    gradient = False
    dtypes = []
    why = "Within 5 %, that is: no single vocabulary gives 65 million and 213 million both, as the ledger below shows."
    hints = [
        "Table 3 of Attention Is All You Need has a column for it, in millions.",
        "Or count: 6 + 6 layers, d_model 512 or 1024, d_ff four times that, one embedding of about 37,000 tokens.",
    ]

    def cases(rng):
        return [("base",), ("big",)]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "in millions",
            lambda name: {"base": 65, "big": 213}[name],
            "The table gives millions: 65 there means 65 · 10⁶ parameters.",
        ),
        mistake(
            "in thousands",
            lambda name: {"base": 65e3, "big": 213e3}[name],
            "You took the table's unit for thousands: it is millions, 10⁶.",
        ),
        mistake("base for both", lambda name: 65e6, "You give the base model's number for both: look at `name`."),
        mistake("big for both", lambda name: 213e6, "You give the big model's number for both: look at `name`."),
        mistake(
            "exchanged",
            lambda name: {"base": 213e6, "big": 65e6}[name],
            "You have the two the wrong way round: the big model has 213 million.",
        ),
        mistake(
            "no embedding",
            lambda name: {"base": 44_138_496, "big": 176_357_376}[name],
            "Those are the layers alone: the embedding, about 37,000 · d_model, is missing.",
        ),
        mistake(
            "three embeddings",
            lambda name: {"base": 44_138_496 + 3 * 18_944_000, "big": 176_357_376 + 3 * 37_888_000}[name],
            "You count both embeddings and the head apart: the paper shares one matrix among the three (section 3.4).",
        ),
        mistake(
            "two embeddings",
            lambda name: {"base": 44_138_496 + 2 * 18_944_000, "big": 176_357_376 + 2 * 37_888_000}[name],
            "You count the embedding's matrix twice: the paper shares one for source, target and head (section 3.4).",
        ),
        mistake(
            "BERT's",
            lambda name: {"base": 110e6, "big": 340e6}[name],
            "Those are BERT's base and large: the 2017 paper's are in its own table 3.",
        ),
    ]


_V, _D, _F, _L, _N = 30_522, 768, 3072, 512, 12
_EMBEDDINGS = (_V + _L + 2) * _D + 2 * _D
_STACK = _N * _layer(_D, _F, 12)
_POOLER = _D * _D + _D


@exercise("parameters.bert_base", points=2, minutes=10, difficulty=3, kind="claim")
class BertBase:
    """Parameters of BERT-base without its heads: embeddings, 12 encoder layers and the pooler.

    Vocabulary 30,522, 512 learned positions, 2 segments, a norm after the embeddings; d_model 768, 12 heads, d_ff 3072;
    the pooler is a linear layer, d_model to d_model. Exact.
    """

    signature = "bert_base() -> int"
    reference = parameters.bert_base
    gradient = False
    dtypes = []
    why = "109,482,240, a fifth of it embeddings; with both heads it is 110,106,428, the paper's 110 million."
    hints = [
        "Three terms: embeddings with their norm, twelve times `encoder_layer`, the pooler.",
        "Three tables, 30,522 + 512 + 2 rows of 768, and one norm of 2 · 768.",
        "The pooler is a linear layer with a bias: 768² + 768.",
    ]

    def cases(rng):
        return [()]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "as the paper rounds it",
            lambda: 110_000_000,
            "110 million is the paper's rounded number: count exactly, part by part.",
        ),
        mistake(
            "no pooler",
            lambda: _EMBEDDINGS + _STACK,
            "The pooler is missing: a linear layer from 768 to 768, with bias.",
        ),
        mistake(
            "one vector short",
            lambda: _EMBEDDINGS + _STACK + _D * _D,
            "768 are missing: the pooler has a bias, and the norm after the embeddings both a gain and a bias.",
        ),
        mistake(
            "no norm of the embeddings, or no segments",
            lambda: _EMBEDDINGS - 2 * _D + _STACK + _POOLER,
            "2 · 768 are missing at the embeddings: they have a table for 2 segments, and a norm with gain and bias.",
        ),
        mistake(
            "no positions",
            lambda: _EMBEDDINGS - _L * _D + _STACK + _POOLER,
            "Positions are missing: BERT learns them, 512 · 768.",
        ),
        mistake(
            "no segments, no norm of the embeddings",
            lambda: _EMBEDDINGS - 4 * _D + _STACK + _POOLER,
            "Both the segments' table (2 · 768) and the norm after the embeddings (2 · 768) are missing.",
        ),
        mistake(
            "no positions, no segments",
            lambda: _V * _D + 2 * _D + _STACK + _POOLER,
            "You count one table: positions (512) and segments (2) are learned too, 768 numbers each.",
        ),
        mistake(
            "the tokens' table alone",
            lambda: _V * _D + _STACK + _POOLER,
            "Of the embeddings you count the tokens' table alone: positions, segments and a norm are learned too.",
        ),
        mistake(
            "with both heads",
            lambda: 110_106_428,
            "That is with both heads: only the body and the pooler are asked for.",
        ),
        mistake(
            "half of the norms",
            lambda: _EMBEDDINGS + _STACK - _N * 2 * _D + _POOLER,
            "The norms inside the layers come out half: two in each layer, a gain and a bias each.",
        ),
        mistake(
            "layers' biases left out",
            lambda: _EMBEDDINGS + _STACK - _N * (5 * _D + _F) + _POOLER,
            "The biases of the linear layers are missing: 4 · 768 in attention, 3072 + 768 in the feed-forward.",
        ),
        mistake(
            "no output projection",
            lambda: _EMBEDDINGS + _STACK - _N * _POOLER + _POOLER,
            "Attention's output projection is missing in each of the 12 layers.",
        ),
        mistake(
            "multiplied by heads",
            lambda: _EMBEDDINGS + _STACK + _N * 11 * attention(_D, 12) + _POOLER,
            "You multiply attention by 12 heads. " + HEADS,
        ),
        mistake(
            "one layer",
            lambda: _EMBEDDINGS + _STACK // _N + _POOLER,
            "You count one layer: BERT-base has twelve.",
        ),
        mistake(
            "BERT-large",
            lambda: 335_141_888,
            "That is BERT-large, 24 layers of width 1024.",
        ),
    ]
