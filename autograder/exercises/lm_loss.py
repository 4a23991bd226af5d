"""07_language_model: the loss, perplexity, and the bigram to beat."""

import math

import torch
from torch.nn import functional as F

from autograder.exercise import exercise, holds, mistake
from helpers import lm


def _nats(logits, targets):
    """(B, T) negative log-likelihoods."""
    return -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]  # (B, T)


def _shifted(logits, targets):
    return lm.loss(logits[:, :-1], targets[:, 1:]) if targets.shape[1] > 1 else logits.sum() * 0


@exercise("lm.loss", points=2, minutes=8, difficulty=1)
class Loss:
    """Mean negative log-likelihood of the targets, in nats: how surprised the model is by the next token.

    The targets are already those of each logit: nothing is shifted here.
    """

    signature = "loss(logits: Tensor (B, T, V), targets: Tensor (B, T)) -> Tensor ()"
    reference = lm.loss
    why = "An untrained model is near ln V, as if it guessed: the first number to look at in any training run."
    hints = [
        "For each position one number: minus the logarithm of the probability that the target got.",
        "`torch.nn.functional.cross_entropy` takes logits, and wants the classes on axis 1 or two axes alone.",
        "`F.cross_entropy(logits.flatten(0, 1), targets.flatten())`",
    ]

    def cases(rng):
        sure, wrong = 800 + rng.normal(2, 7, 11), rng.integers(0, 11, 2, 7)
        sure[0, 3] += 900 * (torch.arange(11) == (wrong[0, 3] + 1) % 11)  # and quite mistaken
        return [
            (rng.normal(1, 1, 2), rng.integers(0, 2, 1, 1)),
            (40 * rng.normal(3, 2, 5), rng.integers(0, 5, 3, 2)),
            (sure, wrong),
            (2 * rng.normal(5, 7, 3), rng.integers(0, 3, 5, 7)),
        ]

    properties = [
        holds(
            "one number", lambda y, *given: y.shape == (), "The loss is one number: the mean over all B · T targets."
        ),
        holds(
            "not negative", lambda y, *given: not y < 0, "A negative log-likelihood is never below 0: look at the sign."
        ),
    ]
    mistakes = [
        mistake(
            "token 0 passed over",
            lambda logits, targets: F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0),
            "You pass over token 0 as if it were padding (`ignore_index=0`), and where nothing else is left the mean "
            "is NaN: here every target counts.",
        ),
        mistake(
            "token 0 free of charge",
            lambda logits, targets: (_nats(logits, targets) * (targets != 0)).mean(),
            "Your loss is 0 wherever token 0 is the target, so the model need never learn it: here every target "
            "counts, none is padding.",
        ),
        mistake(
            "summed",
            lambda logits, targets: _nats(logits, targets).sum(),
            "You add the losses up, so a longer batch is a worse one: take the mean over all B · T targets.",
        ),
        mistake(
            "mean over the batch",
            lambda logits, targets: _nats(logits, targets).sum(1).mean(),
            "You divide by B alone: the mean is over all B · T targets.",
        ),
        mistake(
            "one for each token",
            _nats,
            "You give a loss for each token, (B, T): training needs one number, their mean.",
        ),
        mistake(
            "softmax first",
            lambda logits, targets: lm.loss(logits.softmax(-1), targets),
            "You take a softmax, and cross-entropy takes another, so even a sure model stays surprised: "
            "hand over the logits as they are.",
        ),
        mistake(
            "shifted again",
            _shifted,
            "You shift, but the targets are shifted already: the target of logits[:, t] is targets[:, t].",
        ),
        mistake(
            "base 2",
            lambda logits, targets: lm.loss(logits, targets) / math.log(2),
            "Your loss is in bits: here it is in nats, with the natural logarithm.",
        ),
        mistake(
            "sign",
            lambda logits, targets: -lm.loss(logits, targets),
            "Your loss is the log-likelihood, which grows as the model gets better: a loss falls, so minus is due.",
        ),
        mistake(
            "no softmax",
            lambda logits, targets: F.nll_loss(logits.flatten(0, 1), targets.flatten()),
            "`nll_loss` takes log-probabilities, and you give it logits: take `log_softmax` first, or `cross_entropy`.",
        ),
        mistake(
            "logarithm of a softmax",
            lambda logits, targets: -logits.softmax(-1).gather(-1, targets[..., None]).log().mean(),
            "Where the model is sure of another token, your softmax rounds to 0 and its logarithm is −∞: "
            "`log_softmax` does both steps at once, safely.",
        ),
        mistake(
            "exp overflows",
            lambda logits, targets: (
                -(logits.exp().gather(-1, targets[..., None])[..., 0] / logits.exp().sum(-1)).log().mean()
            ),
            "`exp` of a large logit is infinite, and inf / inf is NaN: use `log_softmax`, which takes the largest away "
            "first.",
        ),
        mistake(
            "probability itself",
            lambda logits, targets: 1 - (-_nats(logits, targets)).exp().mean(),
            "You average probabilities: take the logarithm of each first.",
        ),
        mistake(
            "logarithm of the mean",
            lambda logits, targets: -(-_nats(logits, targets)).exp().mean().log(),
            "You take the logarithm of the mean probability: the mean of the logarithms is due.",
        ),
        mistake(
            "softmax over time",
            lambda logits, targets: -logits.log_softmax(1).gather(-1, targets[..., None]).mean(),
            "Your softmax runs over time: the probabilities of one position's V tokens are what sums to one, dim=-1.",
        ),
        mistake(
            "last position alone",
            lambda logits, targets: lm.loss(logits[:, -1:], targets[:, -1:]),
            "You look at the last position alone: every position is a prediction, and all are trained at once.",
        ),
        mistake(
            "perplexity",
            lambda logits, targets: lm.loss(logits, targets).exp(),
            "This is the perplexity, exp of the loss: give the loss itself.",
        ),
        mistake(
            "in float32",
            lambda logits, targets: lm.loss(logits.float(), targets),
            "The number is right, but you turn it into float32, whatever the logits are: compute in their dtype.",
        ),
        mistake(
            "in float64",
            lambda logits, targets: lm.loss(logits.double(), targets),
            "The number is right, but you turn it into float64, whatever the logits are: compute in their dtype.",
        ),
        mistake(
            "a Python number",
            lambda logits, targets: lm.loss(logits, targets).item(),
            "The number is right, but `.item()` or `float` cut it from the model: return the tensor.",
        ),
    ]


# ---- perplexity ----


def _logs(losses, n_tokens, base=math.e):
    return base ** (sum(x * n for x, n in zip(losses, n_tokens, strict=True)) / sum(n_tokens))


@exercise("lm.perplexity", points=2, minutes=8, difficulty=2)
class Perplexity:
    """exp of the mean loss per token, from the mean losses (nats) of batches and the number of tokens in each.

    Both are lists of the same length. However the text was cut into batches, the answer is the same.
    """

    signature = "perplexity(losses: list[float], n_tokens: list[int]) -> float"
    reference = lm.perplexity
    gradient = False
    fake = False
    dtypes = ()
    tolerance = 1e-6
    why = "A perplexity of 20 means: as unsure as between 20 tokens that are all equally likely."
    hints = [
        "A batch of 900 tokens says more than one of 100. What is the total surprise of all tokens?",
        "The total of batch i is losses[i] · n_tokens[i]; divide the sum of totals by the number of all tokens.",
        "`math.exp(sum(l * n for l, n in zip(losses, n_tokens)) / sum(n_tokens))`",
    ]

    def cases(rng):
        def drawn(n):
            return (6 * torch.rand(n, generator=rng.generator, dtype=torch.float64)).tolist()

        return [
            ([0.0], [3]),
            (drawn(1), [rng.integer(2, 50)]),
            (drawn(2), [640, 3]),
            ([0.7, *drawn(4)], [64, 64, 64, 64, rng.integer(2, 20)]),
            ([31.5, *drawn(1)], [rng.integer(40, 60), 3]),  # a run that went wrong: told as it is
        ]

    properties = [
        holds(
            "at least 1",
            lambda y, losses, n_tokens: y >= 1 - 1e-9,
            "A perplexity is never below 1, which is that of a model that knows every token.",
        ),
    ]
    mistakes = [
        mistake(
            "mean of means",
            lambda losses, n_tokens: math.exp(sum(losses) / len(losses)),
            "You average the batches as if all were as long, so a short last batch weighs too much: weigh each mean by "
            "its n_tokens.",
        ),
        mistake(
            "mean of perplexities",
            lambda losses, n_tokens: sum(map(math.exp, losses)) / len(losses),
            "You average perplexities: average the losses over all tokens first, and take exp once, at the end.",
        ),
        mistake(
            "weighted mean of perplexities",
            lambda losses, n_tokens: (
                sum(math.exp(x) * n for x, n in zip(losses, n_tokens, strict=True)) / sum(n_tokens)
            ),
            "The weights are right, but exp comes last: average the losses, then take exp of the mean.",
        ),
        mistake(
            "base 2",
            lambda losses, n_tokens: _logs(losses, n_tokens, 2),
            "You raise 2 to the loss, but the losses are in nats: use exp, the base that the logarithm had.",
        ),
        mistake(
            "no exponential",
            lambda losses, n_tokens: math.log(_logs(losses, n_tokens)),
            "This is the mean loss: the perplexity is exp of it.",
        ),
        mistake(
            "losses summed",
            lambda losses, n_tokens: math.exp(sum(losses) / sum(n_tokens)),
            "The losses are means already: multiply each by its n_tokens before you divide by all tokens.",
        ),
        mistake(
            "not divided by all",
            lambda losses, n_tokens: math.exp(
                min(sum(x * n for x, n in zip(losses, n_tokens, strict=True)) / len(losses), 700)
            ),
            "You divide by the number of batches: divide by the number of all tokens, `sum(n_tokens)`.",
        ),
        mistake(
            "last batch alone",
            lambda losses, n_tokens: math.exp(losses[-1]),
            "You use the last batch alone: all tokens count.",
        ),
        mistake(
            "inverse",
            lambda losses, n_tokens: 1 / _logs(losses, n_tokens),
            "This is the mean probability (geometric), exp(−loss): the perplexity is one over it.",
        ),
    ]


# ---- bigram ----


def _counts(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        counts[a, b] += 1
    return counts.to(ids.device)


def _rows(counts):
    return counts / counts.sum(1, keepdim=True)


def _added_after(ids, vocab_size):
    p = _counts(ids, vocab_size)
    return p / p.sum(1, keepdim=True).clamp(min=1) + 1 / vocab_size


def _wrapped(ids, vocab_size):
    return _rows(_counts(torch.cat([ids, ids[:1]]), vocab_size) + 1)


def _seen_alone(ids, vocab_size):
    counts = _counts(ids, vocab_size)
    return _rows(torch.where(counts > 0, counts + 1, 0))


def _scattered(ids, vocab_size):
    counts = torch.ones(vocab_size, vocab_size).to(ids.device)
    counts[ids[:-1], ids[1:]] += 1
    return _rows(counts)


def _in_float32(p, *_):
    return p.float() if p.is_floating_point() else p


@exercise("lm.bigram", points=2, minutes=12, difficulty=2)
class Bigram:
    """How likely each token is to follow each other one, counted in a stream: one added to every count.

    Row a holds P(next | current = a), (V, V): every row sums to one, seen or not.
    """

    signature = "bigram(ids: Tensor (N,), vocab_size: int) -> Tensor (V, V)"
    reference = lm.bigram
    measure = _in_float32
    gradient = False
    dtypes = ()
    why = "This table knows one token of context: what your model makes of all the others shows against it."
    hints = [
        "The pairs are (ids[0], ids[1]), (ids[1], ids[2]) … How often does each occur?",
        "`counts[a, b] += 1` in a loop over the pairs is right; `torch.bincount(ids[:-1] * V + ids[1:])` is fast.",
        "Add 1 to all V × V counts, then divide each row by its sum, with `keepdim=True`.",
    ]

    def cases(rng):
        return [
            (torch.tensor([1]), 3),
            (rng.integers(0, 2, 2), 2),
            (torch.cat([rng.integers(0, 5, 60), torch.tensor([6, 2, 2, 2])]), 7),
            (torch.cat([rng.integers(3, 11, 80), torch.tensor([1])]), 13),
        ]

    properties = [
        holds(
            "V × V",
            lambda p, ids, v: p.shape == (v, v),
            "A row and a column for each token are due: (V, V), seen or not.",
        ),
        holds(
            "rows are probabilities",
            lambda p, ids, v: ((p.sum(1) - 1).abs() < 1e-4).all(),
            "Each row must sum to one: it holds the chances of all tokens to come next.",
        ),
        holds("none is 0", lambda p, *given: (p > 0).all(), "No pair is impossible: add one to every count."),
    ]
    mistakes = [
        mistake(
            "columns",
            lambda ids, vocab_size: _rows(_counts(ids, vocab_size).T + 1),
            "Your rows are the next tokens: row a is for the current token a, and its columns for what follows.",
        ),
        mistake(
            "normalised over columns",
            lambda ids, vocab_size: (lambda c: c / c.sum(0, keepdim=True))(_counts(ids, vocab_size) + 1),
            "Your columns sum to one: divide each row by its own sum, `sum(1, keepdim=True)`.",
        ),
        mistake(
            "keepdim forgotten",
            lambda ids, vocab_size: (lambda c: c / c.sum(1))(_counts(ids, vocab_size) + 1),
            "You divide each column by a row's sum: without `keepdim=True` the sums stand along the wrong axis.",
        ),
        mistake(
            "nothing added",
            lambda ids, vocab_size: _rows(_counts(ids, vocab_size)),
            "A pair that was never seen gets chance 0, and one such pair makes the perplexity infinite; "
            "a token never seen gives NaN: add one to every count.",
        ),
        mistake(
            "one added at the end",
            _added_after,
            "You add after dividing, so rows no longer sum to one: add 1 to the counts, then divide.",
        ),
        mistake(
            "one added to what was seen",
            _seen_alone,
            "You add one to the pairs that were seen: it is the others that need it, so add it to all V × V.",
        ),
        mistake(
            "of all pairs",
            lambda ids, vocab_size: (lambda c: c / c.sum())(_counts(ids, vocab_size) + 1),
            "You divide by the number of all pairs: given the current token, its row sums to one.",
        ),
        mistake(
            "counts",
            lambda ids, vocab_size: _counts(ids, vocab_size) + 1,
            "These are counts: divide each row by its sum.",
        ),
        mistake(
            "unigram",
            lambda ids, vocab_size: _rows(
                torch.bincount(ids, minlength=vocab_size).to(torch.get_default_dtype()).expand(vocab_size, -1) + 1
            ),
            "Your rows are all alike: count pairs, what follows token a, not how often each token occurs.",
        ),
        mistake(
            "the end follows the start",
            _wrapped,
            "You count a pair of the last and the first token: N tokens have N − 1 pairs (`roll` makes one too many).",
        ),
        mistake(
            "each pair once",
            _scattered,
            "`counts[ids[:-1], ids[1:]] += 1` counts a pair once, however often it comes: use `bincount` or "
            "`index_put_(…, accumulate=True)`.",
        ),
        mistake(
            "two apart",
            lambda ids, vocab_size: _rows(_counts(ids[::2], vocab_size) + 1),
            "You skip pairs: with a step of 2 only every other token is a current one.",
        ),
        mistake(
            "of the current token's count",
            lambda ids, vocab_size: (
                (_counts(ids, vocab_size) + 1) / (torch.bincount(ids, minlength=vocab_size)[:, None] + vocab_size)
            ),
            "You divide by how often the token occurs, the last one of the stream with it, which nothing follows: "
            "divide each row by its own sum.",
        ),
    ]
