"""08_fine_tuning, second half: one vector from a text, accuracy, and what a comparison shows."""

import torch
from torch import nn

from autograder.ask import Case, Network
from autograder.exercise import exercise, holds, mistake
from autograder.exercises.finetune import network
from helpers import finetune, models

# ---- pool ----


def _one(pick):
    """A version that does as it should, but for `pick(hidden, mask, how)`, where that gives something."""

    def version(hidden, padding_mask, how):
        found = pick(hidden, padding_mask, how)
        return models.pool(hidden, padding_mask, how) if found is None else found

    return version


def _last_column(hidden, mask, how):
    return hidden[:, -1] if how == "last" else None


def _first_column(hidden, mask, how):
    return hidden[:, 0] if how == "first" else None


def _last_by_length(hidden, mask, how):
    return hidden[torch.arange(len(hidden)), mask.sum(1) - 1] if how == "last" else None


def _off_the_end(hidden, mask, how):
    return hidden[torch.arange(len(hidden)), mask.sum(1) % mask.shape[1]] if how == "last" else None


def _shortest(hidden, mask, how):
    return hidden[:, mask.sum(1).min() - 1] if how == "last" else None


def _ends(hidden, mask, how):
    return {"last": hidden[:, -1], "first": hidden[:, 0]}.get(how)


def _mean_of_all(hidden, mask, how):
    return hidden.mean(1) if how == "mean" else None


def _over_all(hidden, mask, how):
    return (hidden * mask[..., None]).mean(1) if how == "mean" else None


def _pads_counted(hidden, mask, how):
    return hidden.sum(1) / mask.sum(1, keepdim=True) if how == "mean" else None


def _sum(hidden, mask, how):
    return (hidden * mask[..., None]).sum(1) if how == "mean" else None


def _over_batch(hidden, mask, how):
    return hidden[mask].mean(0).expand(len(hidden), -1) if how == "mean" else None


def _largest(hidden, mask, how):
    return hidden.masked_fill(~mask[..., None], -torch.inf).amax(1) if how == "mean" else None


@exercise("finetune.pool", points=3, minutes=15, difficulty=3)
class Pool:
    """One vector for each text: the "last", the "first" or the "mean" of its real tokens, never a pad.

    The mask is True at real tokens; pads stand to their right or to their left, and each text has a real token.
    """

    signature = (
        'pool(hidden: Tensor (B, T, D), padding_mask: bool Tensor (B, T), how: "last" | "mean" | "first") '
        "-> Tensor (B, D)"
    )
    reference = models.pool
    book = ["helpers.finetune.pool"]
    why = "A classifier that reads `hidden[:, -1]` judges most texts of a batch by a pad."
    hints = [
        "For the mean: empty what is padding, sum over time, and divide by something. By what?",
        "For the last: where, in each row, is the mask True for the last time? Counting its entries helps only if "
        "all pads stand on the right.",
        "`argmax` finds the first of the largest: of `mask.int()` the first real token, of `mask.cumsum(1)` the last.",
    ]

    def cases(rng):
        def case(how, *lengths, left=False, size=None, d=5):
            back = torch.arange(size or max(lengths)).expand(len(lengths), -1)  # (B, T)
            back = back.flip(1) if left else back
            return rng.normal(*back.shape, d), back < torch.tensor(lengths)[:, None], how

        long = rng.integer(8, 12)
        return [
            case("mean", 1, d=1),
            case("last", 4, 2, 3),
            case("last", 3, 5, 1, 2, left=True),
            case("first", 2, 5, 3, left=True),
            case("first", 4, 2, 3),
            case("mean", 3, 5, 1, 2, left=True),
            case("last", 3, 2, size=7),
            case("first", 3, 2, size=7, left=True),
            case("last", 6, 6),
            Case(case("first", 3, 2), fake=True),  # each way has lines of its own, in which devices may meet
            Case(case("last", 3, 2), fake=True),
            case("mean", 4, long, 7, d=3),
        ]

    properties = [
        holds(
            "one vector for each text",
            lambda out, hidden, *more: out.shape == (hidden.shape[0], hidden.shape[2]),
            "One vector is due for each text: the answer is (B, D), without the time axis.",
        ),
    ]
    mistakes = [
        mistake(
            "last column",
            _one(_last_column),
            "`hidden[:, -1]` is a pad in every text that is shorter than the longest: look for the last True in each "
            "row of the mask.",
        ),
        mistake(
            "first column",
            _one(_first_column),
            "`hidden[:, 0]` is a pad where pads stand on the left: look for the first True in each row of the mask.",
        ),
        mistake(
            "both ends",
            _one(_ends),
            "You read the ends of the batch, not of each text: `hidden[:, -1]` is a pad where pads stand on the right, "
            "and `hidden[:, 0]` where they stand on the left.",
        ),
        mistake(
            "last by length",
            _one(_last_by_length),
            "You count real tokens and read the one with that number, which is right only if pads stand on the right: "
            "look for the last True, wherever it is.",
        ),
        mistake(
            "one after the last",
            _one(_off_the_end),
            "You read one after the last real token, a pad: a text of n tokens ends at n − 1.",
        ),
        mistake(
            "end of the shortest",
            _one(_shortest),
            "You read the same place in every text: each row of the mask has an end of its own.",
        ),
        mistake(
            "last and first exchanged",
            lambda hidden, mask, how: models.pool(hidden, mask, {"last": "first", "first": "last"}.get(how, how)),
            'Your "last" and "first" have changed places: `argmax` of a mask finds the *first* True.',
        ),
        mistake(
            "always the last",
            lambda hidden, mask, how: models.pool(hidden, mask, "last"),
            'You give the last token whatever `how` is: "mean" and "first" are asked for too.',
        ),
        mistake(
            "always the mean",
            lambda hidden, mask, how: models.pool(hidden, mask, "mean"),
            'You give the mean whatever `how` is: "last" and "first" are asked for too.',
        ),
        mistake(
            "always the first",
            lambda hidden, mask, how: models.pool(hidden, mask, "first"),
            'You give the first token whatever `how` is: "mean" and "last" are asked for too.',
        ),
        mistake(
            "padding averaged in",
            _one(_mean_of_all),
            "Your mean takes the pads in, so a text's vector depends on how long its neighbours are: sum the real "
            "tokens alone and divide by their number.",
        ),
        mistake(
            "divided by the padded length",
            _one(_over_all),
            "You empty the pads, but divide by the whole length T: divide by the number of real tokens, `mask.sum(1)`.",
        ),
        mistake(
            "padding summed",
            _one(_pads_counted),
            "You divide by the number of real tokens, but the sum has the pads in it: empty them first.",
        ),
        mistake(
            "sum",
            _one(_sum),
            "Your mean is a sum, so long texts get long vectors: divide by the number of real tokens.",
        ),
        mistake(
            "over the whole batch",
            _one(_over_batch),
            "`hidden[mask]` throws the texts together, and all get one mean: sum over time only.",
        ),
        mistake(
            "largest",
            _one(_largest),
            'You take the largest of each feature: the "mean" is asked for.',
        ),
        mistake(
            "mask inverted",
            lambda hidden, mask, how: models.pool(hidden, ~mask, how),
            "You read the pads and leave out the text: the mask is True at real tokens.",
        ),
        mistake(
            "time axis kept",
            lambda hidden, mask, how: models.pool(hidden, mask, how)[:, None],
            "Your answer still has a time axis, of length 1: (B, D) is asked for.",
        ),
    ]


# ---- evaluate ----


def _accuracy(value, *given):
    return {"accuracy": value["result"]}


def _counting(score=lambda logits: logits.argmax(-1), total=None, mode=lambda model: model.eval(), end=None):
    """Accuracy with something done otherwise."""

    def version(model, batches):
        before = model.training
        mode(model)
        right, n = [], []
        for ids, labels in batches:
            right.append(int((score(model(ids)) == labels).sum()))
            n.append(len(labels))
        (end or (lambda model, before: model.train(before)))(model, before)
        return total(right, n) if total else sum(right) / sum(n)

    return version


def _by_outputs(model, batches):
    """The number of right ones over everything that the model says."""
    before = model.training
    model.eval()
    found = [(model(ids), labels) for ids, labels in batches]
    model.train(before)
    return sum(int((x.argmax(-1) == y).sum()) for x, y in found) / sum(x.numel() for x, _ in found)


def _mean_largest(model, batches):
    """The probability of the right class rather than whether it is the largest."""
    before = model.training
    model.eval()
    sure = torch.cat([model(ids).softmax(-1)[torch.arange(len(y)), y] for ids, y in batches])
    model.train(before)
    return sure.mean().item()


def _outermost(model, training):
    model.training = training


def _children(model, training):
    for child in model.children():
        child.train(training)


def _dropouts(model, training):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train(training)


PARTS = (_outermost, _children, _dropouts, lambda model, training: None)


def _partly(part):
    """Evaluation mode for a part of the model."""
    return _counting(mode=lambda model: part(model, False), end=part)


def _hits(model, part, batches):
    """How many it gets right with a part in evaluation mode alone."""
    part(model.train(), False)
    return sum(int((model(ids).argmax(-1) == labels).sum()) for ids, labels in batches)


def _frozen(model, before):
    model.train(before).requires_grad_(False)


def _without_gradients(model, batches):
    torch.set_grad_enabled(False)
    return finetune.evaluate(model, batches)


def _telling(rng, training, n_classes, batches):
    """A model and batches of n examples, of which it gets n_right right, and where a part of it is training another
    number, one for each of these parts. What it gets right is not two classes alone.
    """
    while True:
        given = network(rng, 11, 6, n_classes, n_layers=2, training=training, frozen=("embedding.weight",))
        model, made, hits = Network(given["weights"]), [], []
        for n_right, n in batches:
            ids = rng.integers(0, 11, n, rng.integer(3, 7))  # (B, T)
            said = model.eval()(ids).argmax(-1)  # (B,)
            wrong = (said + rng.integers(1, n_classes, n)) % n_classes  # (B,)
            made.append((ids, torch.where(torch.arange(n) < n_right, said, wrong)))
            hits.append(said[:n_right])
        if torch.cat(hits).max() > 1:
            counts = {_hits(model, part, made) for part in PARTS} | {len(torch.cat(hits))}
            if len(counts) == len(PARTS) + 1:
                return given, made


@exercise("finetune.evaluate", points=2, minutes=12, difficulty=2, ask="networks")
class Evaluate:
    """Accuracy: the fraction of all examples whose largest logit is that of their label.

    The model is in evaluation mode meanwhile, and afterwards in the mode that it came in; nothing of it has changed.
    """

    signature = "evaluate(model: nn.Module, batches: list of (ids (B, T), labels (B,))) -> float; model(ids) -> (B, C)"
    reference = finetune.evaluate
    measure = _accuracy
    gradient = False
    fake = False
    tolerance = 1e-5
    why = "Dropout left on costs a model a few points, and a mean of batch means gives or takes some more."
    hints = [
        "Count right answers and examples over all batches, and divide once, at the end.",
        "`model.eval()` switches dropout off; `model.training` says in which mode it was before.",
        "`was = model.training`, `model.eval()`, the loop (under `torch.no_grad()`, which saves memory), "
        "`model.train(was)`.",
    ]

    def cases(rng):
        def case(training, n_classes, *batches):
            return _telling(rng, training, n_classes, batches)

        return [
            case(True, 4, (19, 23), (1, 7), (2, 2)),
            case(False, 3, (5, 11), (6, 7)),
            case(True, 5, (rng.integer(14, 17), 17), (9, 13), (0, 3)),
            (network(rng, 11, 6, 3), [(rng.integers(0, 11, 1, 4), torch.tensor([2]))]),
        ]

    properties = [
        holds(
            "a number",
            lambda found, *given: type(found["accuracy"]) in (int, float, torch.Tensor),
            "One number is due: `return` the fraction of right answers.",
        ),
        holds(
            "a fraction",
            lambda found, *given: 0 <= float(found["accuracy"]) <= 1,
            "Accuracy is a fraction, between 0 and 1: right answers divided by all examples.",
        ),
    ]
    mistakes = [
        mistake(
            "mean of batch accuracies",
            _counting(total=lambda right, n: sum(r / m for r, m in zip(right, n, strict=True)) / len(n)),
            "You average the batches' accuracies, so an example in a small batch counts for more: add up right "
            "answers and examples, and divide once.",
        ),
        mistake(
            "dropout left on",
            _counting(mode=lambda model: None),
            "Dropout was on while you measured, if the model came in training mode: call `model.eval()` first.",
        ),
        mistake(
            "measured in training mode",
            _counting(mode=lambda model: model.train()),
            "You switch to training mode to measure, where dropout hides features: `model.eval()` is the other one.",
        ),
        mistake(
            "left in evaluation mode",
            _counting(end=lambda model, before: None),
            "You leave the model, or what lies in it, in evaluation mode, and the next epoch trains without dropout: "
            "restore the mode that it came in with `model.train(was)`, which reaches every part, as "
            "`model.training = was` does not.",
        ),
        mistake(
            "left in training mode",
            _counting(end=lambda model, before: model.train()),
            "You leave the model in training mode even if it came in evaluation mode: restore what it was, "
            "`model.train(was)`.",
        ),
        mistake(
            "the children alone",
            _partly(_children),
            "You put the model's children into evaluation mode, but not the model itself, which may ask for its own "
            "`training`: `model.eval()` reaches it and all that lies in it.",
        ),
        mistake(
            "the outermost module alone",
            _partly(_outermost),
            "`model.training = False` reaches the outermost module alone, and its dropout stays on: `model.eval()` "
            "goes through all that lies in it.",
        ),
        mistake(
            "the dropout alone",
            _partly(_dropouts),
            "You switch off what is an `nn.Dropout`, but other modules have a mode as well: `model.eval()` reaches all "
            "of them.",
        ),
        mistake(
            "left frozen",
            _counting(end=_frozen),
            "You switch `requires_grad` off and leave it so, and the next epoch trains nothing: "
            "`with torch.no_grad():` needs no such switch, and ends by itself.",
        ),
        mistake(
            "gradients off for good",
            _without_gradients,
            "`torch.set_grad_enabled(False)` stays in force when you are done, and nothing can be trained any more: "
            "`with torch.no_grad():` ends by itself.",
        ),
        mistake(
            "dropout on and mode lost",
            _counting(mode=lambda model: None, end=lambda model, before: model.eval()),
            "You call `model.eval()` after the loop: it belongs before it, and the old mode is to be restored after.",
        ),
        mistake(
            "the number of right answers",
            _counting(total=lambda right, n: sum(right)),
            "You give the number of right answers: divide by the number of examples.",
        ),
        mistake(
            "divided by batches",
            _counting(total=lambda right, n: sum(right) / len(n)),
            "You divide right answers by the number of batches: divide by the number of examples.",
        ),
        mistake(
            "all batches alike",
            _counting(total=lambda right, n: sum(right) / (n[0] * len(n))),
            "You take all batches to be as large as the first: the last is usually smaller, so add up `len(labels)`.",
        ),
        mistake(
            "the last batch",
            _counting(total=lambda right, n: right[-1] / n[-1]),
            "You give the last batch's accuracy: count over all batches.",
        ),
        mistake(
            "the first batch",
            _counting(total=lambda right, n: right[0] / n[0]),
            "You give the first batch's accuracy: the `return` stands inside the loop.",
        ),
        mistake(
            "percent",
            _counting(total=lambda right, n: 100 * sum(right) / sum(n)),
            "You give percent: a fraction between 0 and 1 is asked for.",
        ),
        mistake(
            "errors",
            _counting(total=lambda right, n: 1 - sum(right) / sum(n)),
            "You count the wrong answers: accuracy counts the right ones.",
        ),
        mistake(
            "whole numbers",
            _counting(total=lambda right, n: sum(right) // sum(n)),
            "`//` cuts the fraction off: divide with `/`.",
        ),
        mistake(
            "smallest logit",
            _counting(score=lambda logits: logits.argmin(-1)),
            "You take the class with the smallest logit: the largest one is what the model says.",
        ),
        mistake(
            "divided by all logits",
            _by_outputs,
            "You divide by the number of logits, which has a class for each example too many: divide by examples.",
        ),
        mistake(
            "probability of the label",
            _mean_largest,
            "You average how probable the right class is: accuracy counts whether it is the largest.",
        ),
    ]


# ---- read_the_figure ----


@exercise("finetune.read_the_figure", points=3, minutes=15, difficulty=3, kind="written")
class ReadTheFigure:
    """Read the two figures: accuracy after each epoch, and against the number of labels, both ways.

    1. What does pretraining bring at the first epoch, at the last, and with few labels? Give the difference with its
       interval.
    2. Where does the bag of words stand, and what follows?
    3. Why are these curves accuracy and not perplexity, and why do both losses start near ln 2 = 0.693?
    """

    why = "A difference without an interval, or without the simple method beside it, is half a finding."
    rubric = """
    1 point: the pretrained model leads from the first epoch, and by more the fewer the labels; the difference is given
    as a number with its 95 % interval, and the interval excludes zero. It starts ahead because its body can already
    read, and what is left to learn is the head and some polish. Half a point without the interval. Not: "it converges
    faster" alone, if it also ends higher.

    1 point: the bag of words, which knows no order, comes close to or above the model from scratch: on short
    sentences single words say most, and what a small Transformer lacks is data rather than structure. Claims for a
    method need the simple one beside them. Half a point for the comparison without a conclusion.

    1 point: a classifier says one of two classes, not the next token, so there is no text whose perplexity it could
    have; exp(loss) would only restate the loss. A fresh head is random and knows nothing of the task whatever the body
    knows, so it says about 50 : 50, and the loss of that is ln 2; a little more, as it leans to one side. Half a point
    for either half. Not: "pretraining lowers the loss at step 0".
    """
    hints = [
        "Look at the left ends of both figures before the right ends.",
        "Which of the curves knows the order of words, and which does not?",
        "What does a model with two outputs say before it has seen any label, and what does that cost in nats?",
    ]
