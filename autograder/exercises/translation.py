"""06_translation: what a translator learns from, and how fast."""

import math

import torch
from torch.nn import functional as F

from autograder.exercise import exercise, holds, mistake
from helpers import translation

# ---- shift_right ----


def _bos_and(cut=lambda ids: ids[:, :-1], dim=1):
    """BOS in front of a part of the ids."""

    def made(ids, bos_id):
        kept = cut(ids)
        shape = (len(ids), 1) if dim else (1, ids.shape[1])
        return torch.cat([ids.new_full(shape, bos_id), kept], dim)

    return made


def _first_overwritten(ids, bos_id):
    ids[:, 0] = bos_id
    return ids


def _smeared(ids, bos_id):
    """A loop in place, from the left: each column gets what was just written beside it."""
    out = ids.clone()
    for t in range(1, ids.shape[1]):
        out[:, t] = out[:, t - 1]
    out[:, 0] = bos_id
    return out


def _in_place(ids, bos_id):
    ids[:, 1:] = ids[:, :-1].clone()
    ids[:, 0] = bos_id
    return ids


@exercise("translation.shift_right", points=1, minutes=6, difficulty=2)
class ShiftRight:
    """What the decoder reads to predict ids (B, T): BOS first, then all but the last column; the same shape."""

    signature = "shift_right(ids: Tensor (B, T), bos_id: int) -> Tensor (B, T)"
    reference = translation.shift_right
    gradient = False
    why = "Right: position t reads what stands before t and predicts t, so a whole sentence trains in one pass."
    hints = [
        "To predict the first token the decoder has nothing to read but BOS. What has it read when the last is due?",
        "A column of BOS, (B, 1), and the ids without their last column: `torch.cat` along time.",
        "`ids.new_full((len(ids), 1), bos_id)` makes the column where the ids live, in their dtype.",
    ]

    def cases(rng):
        bos_id, ids = rng.integer(20, 30), rng.integers(3, 20, 5, 7)
        ids[1, 0] = ids[2, 4] = bos_id  # a token like any other
        return [
            (rng.integers(3, 20, 1, 1), 1),
            (rng.integers(3, 20, 7, 1), 2),
            (rng.integers(3, 20, 2, 5), 0),
            (torch.cat([rng.integers(3, 20, 3, 4), torch.tensor([[2, 0, 0]] * 3)], 1), 1),
            (ids, bos_id),
        ]

    properties = [
        holds(
            "BOS first",
            lambda x, ids, bos_id: (x[:, 0] == bos_id).all(),
            "The decoder starts from BOS: the first column holds `bos_id` in every row.",
        ),
        holds(
            "then the ids",
            lambda x, ids, bos_id: torch.equal(x[:, 1:].long(), ids[:, :-1]),
            "After BOS come the ids as they are, but for the last column.",
        ),
    ]
    mistakes = [
        mistake(
            "unshifted",
            lambda ids, bos_id: ids.clone(),
            "You hand over the targets unshifted: each position reads the very token that it is to predict, so the "
            "loss falls to nothing and the model has learned to copy. BOS comes first, and the last column goes.",
        ),
        mistake(
            "wrong end dropped",
            _bos_and(lambda ids: ids[:, 1:]),
            "You drop the first column, so what follows BOS is still in its old place and every position but the first "
            "reads its own answer: drop the last one, `ids[:, :-1]`.",
        ),
        mistake(
            "first column overwritten",
            _first_overwritten,
            "You write BOS over the first column, in the caller's own tensor: the ids have to move one to the right, "
            "and the last column is what goes.",
        ),
        mistake(
            "nothing dropped",
            _bos_and(lambda ids: ids),
            "You put BOS in front and drop nothing, so there is one position too many: the last column goes.",
        ),
        mistake(
            "shifted left",
            lambda ids, bos_id: torch.cat([ids[:, 1:], ids.new_full((len(ids), 1), bos_id)], 1),
            "You shift to the left: position t would read the token after the one that it is to predict. BOS goes to "
            "the front, and the last column goes.",
        ),
        mistake(
            "last column comes round",
            lambda ids, bos_id: ids.roll(1, 1),
            "`roll` brings the last column round to the front: BOS is due there.",
        ),
        mistake(
            "along the batch",
            _bos_and(lambda ids: ids[:-1], dim=0),
            "You put a *row* of BOS first, and each sentence gets its neighbour's words: time is axis 1.",
        ),
        mistake(
            "smeared",
            _smeared,
            "You copy column by column from the left, so each gets what was just written, the first token for ever: "
            "move the whole slice at once, `ids[:, :-1]`.",
        ),
        mistake(
            "two dropped",
            _bos_and(lambda ids: ids[:, :-2]),
            "You drop two columns: T − 1 of them stay, and BOS makes T.",
        ),
        mistake(
            "two of BOS",
            lambda ids, bos_id: torch.cat([ids.new_full((len(ids), min(2, ids.shape[1])), bos_id), ids[:, :-2]], 1),
            "You shift twice: one BOS, then the ids from the first one on.",
        ),
        mistake(
            "BOS is 1",
            lambda ids, bos_id: translation.shift_right(ids, 1),
            "You write 1 whatever BOS is: use `bos_id`.",
        ),
        mistake(
            "zeros first",
            lambda ids, bos_id: F.pad(ids[:, :-1], (1, 0)),
            "The shift is right, but the first column is 0 where `bos_id` is due: `F.pad` takes it as `value`.",
        ),
        mistake(
            "no axis for time",
            lambda ids, bos_id: torch.cat([ids.new_full((len(ids),), bos_id), ids[:, :-1]], 1),
            "BOS needs two axes like the ids: a column, `ids.new_full((len(ids), 1), bos_id)`.",
        ),
        mistake(
            "made on the CPU",
            lambda ids, bos_id: torch.cat([torch.full((len(ids), 1), bos_id), ids[:, :-1]], 1),
            "The values are right, but on a GPU your column of BOS stays on the CPU: `ids.new_full` makes it where the "
            "ids live.",
        ),
        mistake(
            "floats",
            lambda ids, bos_id: torch.cat([torch.full((len(ids), 1), float(bos_id)).to(ids.device), ids[:, :-1]], 1),
            "Your ids have become floats, which no embedding takes: make the column in their dtype, `ids.new_full`.",
        ),
        mistake(
            "in place",
            _in_place,
            "The values are right, but you wrote over the caller's ids, which are the targets: make a new tensor.",
        ),
        mistake(
            "a list",
            lambda ids, bos_id: [[bos_id, *row[:-1]] for row in ids.tolist()],
            "The values are right, in lists: a tensor (B, T) is due.",
        ),
    ]


# ---- loss ----


def _mean_of(kept=lambda targets, pad_id: targets != pad_id, over=None, per_token=None):
    """The mean of a loss per token (B, T), over `kept`, divided by what `over` counts."""

    def made(logits, targets, pad_id, smoothing):
        real = kept(targets, pad_id)  # (B, T)
        losses = (per_token or _smoothed)(logits, targets, pad_id, smoothing)  # (B, T)
        return losses.masked_fill(~real, 0).sum() / (over or _number)(real)

    return made


def _number(real):
    return real.sum()


def _parts(logits, targets):
    """Minus the log-probability of the right token, and its mean over all V tokens, (B, T) each."""
    logs = logits.log_softmax(-1)  # (B, T, V)
    return -logs.gather(-1, targets[..., None])[..., 0], -logs.mean(-1)


def _smoothed(logits, targets, pad_id, smoothing):
    right, even = _parts(logits, targets)
    return (1 - smoothing) * right + smoothing * even


def _on_others(logits, targets, pad_id, smoothing, but=1):
    """Smoothing shared by the other tokens alone, (V − 1), or those that are not the pad either, (V − 2)."""
    logs, vocab = logits.log_softmax(-1), logits.shape[-1]
    shares = torch.full_like(logs, smoothing / (vocab - but))
    shares = shares.scatter(-1, targets[..., None], 1 - smoothing)
    if but == 2:
        shares = shares * (torch.arange(vocab, device=logits.device) != pad_id)
    return -(shares * logs).sum(-1)


def _added(logits, targets, pad_id, smoothing):
    right, even = _parts(logits, targets)
    return right + smoothing * even


def _turned_round(logits, targets, pad_id, smoothing):
    right, even = _parts(logits, targets)
    return smoothing * right + (1 - smoothing) * even


def _summed_over_tokens(logits, targets, pad_id, smoothing):
    right, even = _parts(logits, targets)
    return (1 - smoothing) * right + smoothing * even * logits.shape[-1]


def _divergence(logits, targets, pad_id, smoothing):
    """The Kullback–Leibler divergence: cross-entropy less the entropy of the smoothed targets."""
    vocab = logits.shape[-1]
    shares = [1 - smoothing + smoothing / vocab] + [smoothing / vocab] * (vocab - 1)
    return _smoothed(logits, targets, pad_id, smoothing) + sum(p * math.log(p) for p in shares if p)


def _divergence_without_pad(logits, targets, pad_id, smoothing):
    logs, real, vocab = logits.log_softmax(-1), targets != pad_id, logits.shape[-1]
    shares = torch.full_like(logs, smoothing / (vocab - 2)).scatter(-1, targets[..., None], 1 - smoothing)
    shares = shares * (torch.arange(vocab, device=logits.device) != pad_id) * real[..., None]
    return F.kl_div(logs, shares, reduction="sum") / real.sum()


def _smoothed_at_pads(logits, targets, pad_id, smoothing):
    """The second part is a mean over all positions."""
    right, even = _parts(logits, targets)
    real = targets != pad_id
    return (1 - smoothing) * right.masked_fill(~real, 0).sum() / real.sum() + smoothing * even.mean()


def _right_at_pads(logits, targets, pad_id, smoothing):
    right, even = _parts(logits, targets)
    real = targets != pad_id
    return (1 - smoothing) * right.mean() + smoothing * even.masked_fill(~real, 0).sum() / real.sum()


def _class_of_no_weight(logits, targets, pad_id, smoothing):
    weight = torch.ones(logits.shape[-1], dtype=logits.dtype, device=logits.device)
    weight[pad_id] = 0
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), weight, label_smoothing=smoothing)


def _mean_of_sentences(logits, targets, pad_id, smoothing):
    real = targets != pad_id
    losses = _smoothed(logits, targets, pad_id, smoothing).masked_fill(~real, 0).sum(1)
    return (losses / real.sum(1)).mean()


def _next_again(logits, targets, pad_id, smoothing):
    return translation.loss(logits[:, :-1], targets[:, 1:], pad_id, smoothing)


@exercise("translation.loss", points=3, minutes=15, difficulty=3)
class Loss:
    """Mean cross-entropy in nats over the real tokens of targets (B, T), with label smoothing; pads count nowhere.

    The right token gets 1 − smoothing, and all V tokens, the right one too, share `smoothing` equally.
    """

    signature = (
        "loss(logits: Tensor (B, T, V), targets: Tensor (B, T), pad_id: int, smoothing: float in [0, 1]) -> Tensor ()"
    )
    reference = translation.loss
    book = ["helpers.training.summed_loss"]
    why = "A batch now costs what its words cost: more padding changes nothing, neither loss nor gradient."
    hints = [
        "Which positions are real? The mean is a sum over those, divided by their number.",
        "With log-probabilities (B, T, V): what the right token adds counts 1 − smoothing, and their mean over all V "
        "counts smoothing. Both at real positions only.",
        "Or `F.cross_entropy` with `ignore_index` and `label_smoothing`, on `logits.flatten(0, 1)` and "
        "`targets.flatten()`.",
    ]

    def cases(rng):
        def asked(lengths, vocab, pad, smoothing, size=2.0, left=False, first=None):
            n = max(lengths) + 1
            targets = rng.integers(0, vocab - 1, len(lengths), n)
            targets = targets + (targets >= pad)  # no pad among the real tokens
            if first is not None:
                targets[:, 0] = first
            place = torch.arange(n).flip(0) if left else torch.arange(n)
            targets = targets.masked_fill(place >= torch.tensor(lengths)[:, None], pad)
            return size * rng.normal(len(lengths), n, vocab), targets, pad, smoothing

        sure = list(asked([3, 6], 11, 0, 0.2))
        sure[0] = sure[0] + 900 * F.one_hot((sure[1] + 1) % 11, 11)  # quite mistaken
        return [  # the case that tells most mistakes apart comes first
            asked([5, 2, 6, 3], 11, 2, 0.1, first=0),
            (rng.normal(1, 1, 3), torch.tensor([[1]]), 0, 0.1),
            asked([4, 1, 2], 7, 0, 0.0),
            asked([3, 5], 5, 4, 1.0),
            tuple(sure),
            (rng.normal(3, 4, 5), rng.integers(1, 5, 3, 4), 0, 0.3),  # no pad at all
            asked([7, 3, 5], 13, rng.integer(1, 13), 0.25, left=True),
        ]

    properties = [
        holds(
            "one number",
            lambda y, *given: y.shape == (),
            "The loss is one number: the sum over real tokens, divided by how many there are.",
        ),
        holds("a number", lambda y, *given: not y.isnan(), "Your loss is NaN: look for 0 · ∞, ∞ − ∞ or log 0."),
        holds("not negative", lambda y, *given: y >= 0, "A cross-entropy is never below 0: look at the sign."),
    ]
    mistakes = [
        mistake(
            "padding counted",
            _mean_of(lambda targets, pad_id: targets == targets),
            "Pads count as if they were words, and soon the model says little else, at a splendid loss: leave out the "
            "positions whose target is `pad_id`.",
        ),
        mistake(
            "mean over padded length",
            _mean_of(over=lambda real: real.numel()),
            "You leave pads out of the sum but count them in the division, so more padding makes a better loss: "
            "divide by the number of real tokens.",
        ),
        mistake(
            "smoothing at padding",
            _smoothed_at_pads,
            "The right tokens are averaged over real positions, but the smoothing part over all: at a pad there is "
            "nothing to smooth either.",
        ),
        mistake(
            "right tokens at padding",
            _right_at_pads,
            "The smoothing part is averaged over real positions, but the right tokens' part over all: pads count in "
            "neither.",
        ),
        mistake(
            "no smoothing",
            lambda logits, targets, pad_id, smoothing: translation.loss(logits, targets, pad_id, 0),
            "`smoothing` changes nothing: the right token gets 1 − smoothing of the target, and all V share the rest.",
        ),
        mistake(
            "shared by the others alone",
            _mean_of(per_token=_on_others),
            "You share `smoothing` among the V − 1 other tokens: in torch, and here, all V share it, the right one "
            "too.",
        ),
        mistake(
            "no share for the pad",
            _mean_of(per_token=lambda *given: _on_others(*given, but=2)),
            "You give the pad's *class* no share, and V − 2 tokens the rest: all V share `smoothing` here, and it is "
            "positions whose target is a pad that are left out.",
        ),
        mistake(
            "as a divergence, with no share for the pad",
            _divergence_without_pad,
            "This is a Kullback–Leibler divergence with V − 2 shares, as the Annotated Transformer has it: here the "
            "cross-entropy is due, and all V tokens share `smoothing`.",
        ),
        mistake(
            "pad as a class of no weight",
            _class_of_no_weight,
            "A weight of 0 for the class of pads leaves out their positions, but also the pad's part of the smoothing "
            "everywhere else: `ignore_index` leaves out the positions alone.",
        ),
        mistake(
            "smoothing added on top",
            _mean_of(per_token=_added),
            "You add the smoothing part and take nothing away: the right token keeps 1 − smoothing.",
        ),
        mistake(
            "the rest goes nowhere",
            _mean_of(per_token=lambda logits, targets, pad_id, smoothing: (1 - smoothing) * _parts(logits, targets)[0]),
            "The right token gets 1 − smoothing, and nobody the rest: all V tokens share `smoothing` equally.",
        ),
        mistake(
            "one tenth",
            lambda logits, targets, pad_id, smoothing: translation.loss(logits, targets, pad_id, 0.1),
            "You smooth by the paper's 0.1 whatever is asked: use `smoothing`.",
        ),
        mistake(
            "smoothing turned round",
            _mean_of(per_token=_turned_round),
            "Your two parts have changed places: the right token gets 1 − smoothing.",
        ),
        mistake(
            "every token gets all of it",
            _mean_of(per_token=_summed_over_tokens),
            "You give each of the V tokens all of `smoothing`: they share it, smoothing/V each, so take the mean over "
            "V, not the sum.",
        ),
        mistake(
            "divergence",
            _mean_of(per_token=_divergence),
            "This is the Kullback–Leibler divergence, smaller by the entropy of the smoothed targets: the gradient is "
            "the same, but the cross-entropy is asked for.",
        ),
        mistake(
            "mean of means",
            _mean_of_sentences,
            "You average each sentence first, so words of short ones weigh more: the mean is over all real tokens.",
        ),
        mistake(
            "summed",
            _mean_of(over=lambda real: 1),
            "You add up and do not divide: take the mean over the real tokens.",
        ),
        mistake(
            "mean over the batch",
            _mean_of(over=len),
            "You divide by the number of sentences: the mean is over all real tokens.",
        ),
        mistake(
            "pad is 0",
            lambda logits, targets, pad_id, smoothing: translation.loss(logits, targets, 0, smoothing),
            "You leave out 0, whatever the padding token is: compare with `pad_id`.",
        ),
        mistake(
            "only ids above the pad",
            _mean_of(lambda targets, pad_id: targets > pad_id),
            "You take only ids above `pad_id` for real: those below are tokens too, so compare with `!=`.",
        ),
        mistake(
            "softmax first",
            lambda logits, targets, pad_id, smoothing: translation.loss(logits.softmax(-1), targets, pad_id, smoothing),
            "You take a softmax, and cross-entropy takes another: hand over the logits as they are.",
        ),
        mistake(
            "logarithm of a softmax",
            _mean_of(
                per_token=lambda logits, targets, pad_id, smoothing: (
                    -(1 - smoothing) * logits.softmax(-1).log().gather(-1, targets[..., None])[..., 0]
                    - smoothing * logits.softmax(-1).log().mean(-1)
                )
            ),
            "Where the model is sure of one token the softmax of the others rounds to 0, and its logarithm is −∞: "
            "`log_softmax` does both steps at once, safely.",
        ),
        mistake(
            "softmax over time",
            _mean_of(
                per_token=lambda logits, targets, pad_id, smoothing: (
                    -(1 - smoothing) * logits.log_softmax(1).gather(-1, targets[..., None])[..., 0]
                    - smoothing * logits.log_softmax(1).mean(-1)
                )
            ),
            "Your softmax runs over time: the probabilities of one position's V tokens are what sums to one, dim=-1.",
        ),
        mistake(
            "shifted again",
            _next_again,
            "You shift, but that was done before the model: the target of logits[:, t] is targets[:, t].",
        ),
        mistake(
            "sign",
            lambda *given: -translation.loss(*given),
            "Your loss is a log-likelihood, which grows as the model gets better: a loss falls, so minus is due.",
        ),
        mistake(
            "base 2",
            lambda *given: translation.loss(*given) / math.log(2),
            "Your loss is in bits: here it is in nats, with the natural logarithm.",
        ),
        mistake(
            "one for each token",
            lambda logits, targets, pad_id, smoothing: _smoothed(logits, targets, pad_id, smoothing).masked_fill(
                targets == pad_id, 0
            ),
            "You give a loss for each token, (B, T): training needs one number, the mean over the real ones.",
        ),
        mistake(
            "in float32",
            lambda logits, *given: translation.loss(logits.float(), *given),
            "The number is right, but you turn it into float32, whatever the logits are: compute in their dtype.",
        ),
        mistake(
            "in float64",
            lambda logits, *given: translation.loss(logits.double(), *given),
            "The number is right, but you turn it into float64, whatever the logits are: compute in their dtype.",
        ),
        mistake(
            "a Python number",
            lambda *given: translation.loss(*given).item(),
            "The number is right, but `.item()` or `float` cut it from the model: return the tensor.",
        ),
    ]


# ---- learning rate ----


def _rate(size=lambda d: d**-0.5, rise=lambda s, w: s * w**-1.5, fall=lambda s, w: s**-0.5, choose=min):
    def made(step, d_model, warmup):
        return size(d_model) * choose(rise(step, warmup), fall(step, warmup))

    return made


@exercise("translation.learning_rate", points=1, minutes=6, difficulty=2)
class LearningRate:
    """The paper's learning rate at a step ≥ 1: d_model^−½ · min(step^−½, step · warmup^−1.5)."""

    signature = "learning_rate(step: int, d_model: int, warmup: int) -> float"
    reference = translation.learning_rate
    book = ["helpers.training.Plan"]  # its schedule "inverse root"
    gradient = False
    fake = False
    dtypes = ()
    tolerance = 1e-5  # float32 is precise enough
    why = "Right: the two branches meet at step = warmup, and there, at its highest, the rate is 1/√(d_model · warmup)."
    hints = [
        "Two curves: one that rises in a straight line, one that falls like 1/√step. Which one counts at step 1?",
        "`x ** -0.5` is 1/√x, and `min` takes the smaller of two numbers.",
        "`d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)`",
    ]

    def cases(rng):
        d_model, warmup = rng.integer(5, 700), rng.integer(300, 5000)
        return [
            (1, 512, 4000),
            (1, 1, 1),
            (7, 64, 1),
            (3999, 512, 4000),
            (4000, 512, 4000),
            (4001, 512, 4000),
            (100_000, 1024, 4000),
            (rng.integer(2, warmup), d_model, warmup),
            (rng.integer(warmup + 1, 10 * warmup), d_model, warmup),
        ]

    properties = [
        holds(
            "a rate",
            lambda y, *given: y > 0,
            "The rate is above 0 at every step: with `//` fractions are lost, and a power of −½ is 1/√, not −√.",
        ),
        holds(
            "not above its height",
            lambda y, step, d_model, warmup: y <= (1 + 1e-9) * (d_model * warmup) ** -0.5,
            "The rate is never above 1/√(d_model · warmup), which it has at step = warmup.",
        ),
        holds(
            "rising",
            lambda y, step, d_model, warmup: step > warmup or abs(y / step * (d_model * warmup**3) ** 0.5 - 1) < 1e-5,
            "Up to step `warmup` the rate is a straight line, step · warmup^−1.5 / √d_model.",
        ),
        holds(
            "falling",
            lambda y, step, d_model, warmup: step < warmup or abs(y * (step * d_model) ** 0.5 - 1) < 1e-5,
            "From step `warmup` on the rate falls like 1/√step, over √d_model.",
        ),
    ]
    mistakes = [
        mistake(
            "the larger of the two",
            _rate(choose=max),
            "You take the larger branch, so training begins with the highest rate and ends with a higher one: `min`.",
        ),
        mistake(
            "no warm-up",
            _rate(choose=lambda rise, fall: fall),
            "Your rate starts at its highest and falls: up to `warmup` the other branch, step · warmup^−1.5, is "
            "smaller.",
        ),
        mistake(
            "rising for ever",
            _rate(choose=lambda rise, fall: rise),
            "Your rate rises for ever: from `warmup` on step^−½ is smaller.",
        ),
        mistake(
            "constant after the warm-up",
            _rate(fall=lambda s, w: w**-0.5),
            "After the warm-up your rate stays where it is: it falls like 1/√step.",
        ),
        mistake(
            "warmup^−½",
            _rate(rise=lambda s, w: s * w**-0.5),
            "Your rising branch is too steep, step · warmup^−½, so the two do not meet at `warmup`: the exponent is "
            "−1.5.",
        ),
        mistake(
            "1/warmup",
            _rate(rise=lambda s, w: s / w),
            "You rise to 1 in `warmup` steps, and the two branches do not meet there: the exponent of warmup is −1.5.",
        ),
        mistake(
            "times √d_model",
            _rate(size=lambda d: d**0.5),
            "You multiply by √d_model: a wider model gets a *smaller* rate, d_model^−½.",
        ),
        mistake(
            "d_model left out",
            _rate(size=lambda d: 1),
            "Your rate is the same for every width: it is divided by √d_model.",
        ),
        mistake(
            "over d_model",
            _rate(size=lambda d: 1 / d),
            "You divide by d_model: it is d_model^−½, one over its root.",
        ),
        mistake(
            "1/step",
            _rate(fall=lambda s, w: 1 / s),
            "Your rate falls like 1/step, which is soon nothing: it is step^−½, one over the root.",
        ),
        mistake(
            "falling from the start",
            _rate(fall=lambda s, w: max(s - w, 1) ** -0.5),
            "You count the falling branch from the end of the warm-up: `step` is the same in both.",
        ),
        mistake(
            "step + 1",
            lambda step, d_model, warmup: translation.learning_rate(step + 1, d_model, warmup),
            "Your rate is one step ahead: steps count from 1 here already.",
        ),
        mistake(
            "step − 1",
            lambda step, d_model, warmup: translation.learning_rate(max(step - 1, 1), d_model, warmup),
            "Your rate is one step late: steps count from 1 here already.",
        ),
        mistake(
            "branches and powers",
            _rate(rise=lambda s, w: (s * w) ** -1.5),
            "The power −1.5 belongs to `warmup` alone: `step * warmup**-1.5`.",
        ),
        mistake(
            "positive powers",
            _rate(fall=lambda s, w: s**0.5, rise=lambda s, w: s * w**1.5),
            "Your powers are positive, so the rate grows without end: step^−½ and warmup^−1.5.",
        ),
        mistake(
            "in thousandths",
            lambda step, d_model, warmup: round(translation.learning_rate(step, d_model, warmup), 6),
            "You round: the first steps' rates are below a millionth.",
        ),
    ]
