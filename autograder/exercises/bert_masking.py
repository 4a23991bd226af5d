"""09_bert: the task that BERT learns from, masked tokens, and its loss. All chance is judged at 6σ."""

import torch
from torch.nn import functional as F

from autograder.ask import Case
from autograder.exercise import exercise, holds, mistake
from helpers import bert

NONE = -100
SOME, LARGE = 1_000, 10_000  # tokens from which on facts are sure, and shares are known
SIGMAS = 6


def _is(name, due, sentence):
    return holds(name, lambda facts, *given: type(facts) is dict and facts[name] == due, sentence)


def near(share, due, n):
    """Whether a share of n by chance may be `due`."""
    return abs(share - due) <= SIGMAS * (due * (1 - due) / max(n, 1)) ** 0.5


# ---- masked tokens ----


def _table(special_ids, vocab_size):
    """True for each id that is no special token, (V,)."""
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[special_ids] = False
    return ordinary


def _not_special(ids, special_ids, vocab_size):
    return _table(special_ids, vocab_size)[ids]


def _rand(like, generator):
    return torch.rand(like.shape, generator=generator)


def _coins(may, generator):
    return may & (_rand(may, generator) < 0.15)


def _roles(chosen, generator):
    lot = _rand(chosen, generator)
    return chosen & (lot < 0.8), chosen & (lot >= 0.9)


def _words(n, ids, special_ids, vocab_size, generator):
    ordinary = _table(special_ids, vocab_size).nonzero()[:, 0]
    return ordinary[torch.randint(len(ordinary), (n,), generator=generator)]


def _labels(ids, inputs, chosen, masked):
    return ids.masked_fill(~chosen, NONE)


def _steps(
    may=_not_special,
    choose=_coins,
    roles=_roles,
    words=_words,
    labels=_labels,
    chance=lambda generator: generator,
    start=torch.clone,
):
    """Masking in steps that can be exchanged one by one."""

    def made(ids, special_ids, vocab_size, mask_id, generator):
        generator = chance(generator)
        chosen = choose(may(ids, special_ids, vocab_size), generator)
        masked, replaced = roles(chosen, generator)
        inputs = start(ids).masked_fill_(masked, mask_id)
        inputs[replaced] = words(int(replaced.sum()), ids, special_ids, vocab_size, generator)
        return inputs, labels(ids, inputs, chosen, masked)

    return made


def _in_place(ids, special_ids, vocab_size, mask_id, generator):
    kept = ids.clone()
    found = _steps(start=lambda ids: ids, labels=lambda ids, inputs, chosen, masked: kept.masked_fill(~chosen, NONE))
    return found(ids, special_ids, vocab_size, mask_id, generator)


def _shared(cuts):
    """Roles by one lot, cut at two places."""

    def roles(chosen, generator):
        lot = _rand(chosen, generator)
        return chosen & (lot < cuts[0]), chosen & (lot >= cuts[0]) & (lot < cuts[1])

    return roles


def _one_after_the_other(chosen, generator):
    masked = chosen & (_rand(chosen, generator) < 0.8)
    return masked, chosen & ~masked & (_rand(chosen, generator) < 0.1)


def _overwritten(chosen, generator):
    return chosen & (_rand(chosen, generator) < 0.8), chosen & (_rand(chosen, generator) < 0.1)


def _of_all(chosen, generator):
    lot = _rand(chosen, generator)
    return lot < 0.8, (lot >= 0.8) & (lot < 0.9)


def _a_tenth_of_all(chosen, generator):
    masked = chosen & (_rand(chosen, generator) < 0.8)
    return masked, ~masked & (_rand(chosen, generator) < 0.1)


def _in_order(chosen, generator):
    place = chosen.flatten().cumsum(0).view(chosen.shape) / chosen.sum()
    return chosen & (place <= 0.8), chosen & (place > 0.9)


def _out_of_the_text(n, ids, special_ids, vocab_size, generator):
    return ids.flatten()[torch.randint(ids.numel(), (n,), generator=generator)]


def _share_of_all(may, generator):
    return may & (_rand(may, generator) < 0.15 * may.numel() / may.sum().clamp(min=1))


def _first_of_each_row(may, generator):
    return may & (may.cumsum(1) <= 0.15 * may.sum(1, keepdim=True))


def seeded(generator):
    return torch.Generator().manual_seed(0)


def _form(found, ids):
    """What came back, in a word."""
    if all(type(x) is torch.Tensor and x.shape == ids.shape for x in found):
        return "one tensor"
    for pair in found:
        if type(pair) not in (tuple, list) or len(pair) != 2 or not all(type(x) is torch.Tensor for x in pair):
            return "no pair"
        if any(x.shape != ids.shape for x in pair):
            return "other shapes"
        if any(x.dtype == torch.bool for x in pair):
            return "bool"
        if any(x.dtype != ids.dtype for x in pair):
            return "other numbers"
    return "exchanged" if ids.numel() > 1 and (found[0][0] == NONE).any() else "due"


def _labelled(inputs, labels, ids, told):
    """What the labels hold, in a word."""
    if torch.equal(labels, ids):
        return "everywhere"
    if not (told & (labels != ids)).any():
        return "due"
    if torch.equal(labels, inputs):
        return "inputs everywhere"
    if not (told & (labels != inputs)).any():
        return "inputs"
    return "zeros" if ((labels == 0) | (labels == ids)).all() else "other"


def _chosen(told, ids, special_ids):
    """Which special tokens were chosen, in a word. The last of them is the mask."""
    chosen = ids[told].bincount(minlength=max(special_ids) + 1)[special_ids] > 0
    if not chosen.any():
        return "none"
    kinds = "all" if chosen.all() else "all but the mask" if chosen[:-1].all() else "some"
    return kinds + (" and most others" if told.sum() > 0.6 * told.numel() else "")


def _even(part, whole):
    """Whether `part` (B, T) of `whole` may be drawn by chance alone, as to rows and as to columns."""
    for axis in (0, 1):
        counts, all_counts = part.sum(axis).double(), whole.sum(axis).double()
        place = torch.arange(len(counts), dtype=torch.float64)
        n, n_all = counts.sum(), all_counts.sum()
        mean = all_counts @ place / n_all
        sigma = (all_counts @ (place - mean).square() / n_all / n).sqrt()
        if (counts @ place / n - mean).abs() > SIGMAS * sigma:
            return False
    return True


def _pattern(told, ids, may):
    """How what is predicted stands in the batch, in a word."""
    both = may[0] & may[1]
    if torch.equal(told[0] & both, told[1] & both):
        return "rows alike"
    n, k = (ids[some].bincount(minlength=int(ids.max()) + 1) for some in (may, told & may))
    if ((n > 200) & ((k == 0) | (k == n))).any():
        return "by id"
    return "due" if _even(told & may, may) else "uneven"


def _put(words, ordinary):
    """Which ids were put in for others, in a word."""
    kinds, known = set(words.tolist()), set(ordinary.nonzero()[:, 0].tolist())
    if len(kinds) < 2:
        return ("none", "one")[len(kinds)]
    if max(kinds) >= len(ordinary) or min(kinds) < 0:
        return "outside"
    if max(kinds) < len(known) and kinds - known:
        return "places"
    return ("special" if kinds - known else "") + (" some never" if known - kinds else "") or "due"


ROLES = ("masked", "random", "kept")


def _shares(pairs, ids, may, mask_id, ordinary):
    """How many are chosen and what becomes of them, by all pairs together."""
    n_may = len(pairs) * int(may.sum())
    told = [may & (labels != NONE) for _, labels in pairs]
    x, old = (
        torch.cat(part) for part in zip(*[(y[0][t], ids[t]) for y, t in zip(pairs, told, strict=True)], strict=True)
    )
    roles = torch.stack([x == mask_id, (x != mask_id) & (x != old), x == old])  # (3, chosen)
    shares = (roles.sum(1) / max(len(x), 1)).double()  # (3,)
    rate, same = len(x) / n_may, 0.1 / int(ordinary.sum())  # a random token may be the old one
    off = [("rate", rate, 0.15, n_may)]
    off += [(*three, len(x)) for three in zip(ROLES, shares.tolist(), (0.8, 0.1 - same, 0.1 + same), strict=True)]
    off = [name for name, share, due, n in off if not near(share, due, n)]
    rates = torch.tensor([rate, 1 - rate], dtype=torch.float64)
    return {"rate": rates, "shares": shares, "off": off[0] if off else "none", "put": _put(x[roles[1]], ordinary)}


FACTS = ("form", "labels", "special", "silent", "again", "onward", "pattern", "roles", "rate", "shares", "order", "put")
FACTS += ("off",)


def _told(found, ids, special_ids, vocab_size, mask_id, seed):
    """Facts of three draws, the first two of one seed, up to the first that spoils the others; None for the rest.

    Shares are of the first draw and the third, in large cases alone: elsewhere only what no chance decides is told.
    """
    facts = dict.fromkeys(FACTS) | {"form": _form(found, ids)}
    if facts["form"] != "due" or ids.numel() == 1:
        return facts
    inputs, labels = found[0]
    told, changed = labels != NONE, inputs != ids  # (B, T) each
    facts["labels"] = _labelled(inputs, labels, ids, told)
    if facts["labels"] != "due":
        return facts
    facts["special"] = _chosen(told, ids, special_ids)
    silent = float((changed & ~told).sum() / ids.numel())
    facts["silent"] = "none" if not silent else "some" if silent < 0.3 else "most"
    if facts["special"] != "none" or facts["silent"] != "none" or ids.numel() < SOME:
        return facts
    facts["onward"] = not torch.equal(labels, found[2][1])
    facts["again"] = all(map(torch.equal, found[0], found[1]))
    ordinary = _table(special_ids, vocab_size)
    may = ordinary[ids]  # (B, T)
    facts["pattern"] = _pattern(told, ids, may)
    if not facts["again"] or not facts["onward"] or facts["pattern"] != "due":
        return facts
    if ids.numel() < LARGE:
        return facts | {"roles": _roughly(inputs[told], ids[told], mask_id, int(may.sum()))}
    facts["order"] = _even(told & (inputs == mask_id), told)
    return facts | _shares([found[0], found[2]], ids, may, mask_id, ordinary)


def _roughly(x, old, mask_id, n_may):
    """What becomes of the chosen, as far as no chance could do it (10⁻¹⁰ for 200 of them)."""
    masked, kept = x == mask_id, x == old
    if len(x) > n_may / 2:
        return "most chosen"
    if len(x) < n_may / 50:
        return "few chosen"
    missing = [
        name for name, some in (("masked", masked), ("kept", kept), ("random", ~masked & ~kept)) if not some.any()
    ]
    return f"none {' or '.join(missing)}" if missing else "few masked" if masked.sum() < 0.4 * len(x) else "due"


def _unless_small(name, due, sentence):
    return holds(name, lambda facts, *given: facts["form"] == "due" and facts[name] in (due, None), sentence)


def _not_off(name, sentence):
    return holds(name, lambda facts, *given: facts["form"] == "due" and facts["off"] != name, sentence)


@exercise("bert.mask_tokens", points=4, minutes=20, difficulty=3, ask="draws")
class MaskTokens:
    """Choose 15 % of the tokens that are not special; of these 80 % become mask_id, 10 % a random token, 10 % stay.

    Labels are the old ids where a token was chosen, −100 elsewhere. A coin for each token is right, and so is an exact
    count. A random token is any of the vocabulary that is not special, the old one, too. mask_id is one of
    special_ids. All chance comes from `generator`.
    """

    signature = (
        "mask_tokens(ids: Tensor (B, T), special_ids: list[int], vocab_size: int, mask_id: int,\n"
        "            generator: torch.Generator) -> tuple[Tensor (B, T), Tensor (B, T)]  # inputs, labels"
    )
    reference = bert.mask_tokens
    shortcuts = ["DataCollatorForLanguageModeling", "DataCollatorForWholeWordMask"]
    measure = _told
    unique = False
    gradient = False
    fake = False
    dtypes = ()
    tolerance = 0.05  # for naming a mistake; what is right is decided at six standard deviations
    why = "Any text now sets its own exam: nobody had to label a word, and both sides of each gap may be read."
    hints = [
        "Three questions, each with dice of its own: may this token be chosen, is it chosen, what becomes of it?",
        "`torch.rand(ids.shape, generator=generator)` gives dice; one more of them for what becomes of the chosen: "
        "below 0.8, from 0.8 to 0.9, above. `torch.isin(ids, torch.tensor(special_ids))` finds special tokens.",
        "Ordinary ids: `all_ids[~torch.isin(all_ids, special)]` with `all_ids = torch.arange(vocab_size)`; draw places "
        "in it by `torch.randint`. Then `torch.where(chosen & (lot < 0.8), mask_id, ids)`, and labels by "
        "`ids.masked_fill(~chosen, -100)`.",
    ]

    def cases(rng):
        def asked(vocab, n_special, batch, time):
            low = rng.integer(0, vocab // 2)  # a special one among the first, whatever comes
            order = rng.permutation(vocab)
            order = torch.cat([torch.tensor([low]), order[order != low]])
            special, ordinary = order[:n_special], order[n_special:]
            ids = ordinary[:-1][rng.integers(0, vocab - n_special - 1, batch, time)]  # one never comes: chance has it
            ids = torch.where(rng.coins(batch, time, p=0.12), special[rng.integers(0, n_special, batch, time)], ids)
            lengths = rng.integers(3 * time // 4, time + 1, batch, 1)  # (B, 1)
            ids = ids.masked_fill(torch.arange(time) >= lengths, int(special[0]))  # (B, T)
            named = {"generator": rng.integer(1, 10**6)}
            return Case((ids, special.tolist(), vocab, int(special[-1])), named=named)

        def small(ids, special, vocab, mask_id):
            return Case((ids, special, vocab, mask_id), named={"generator": rng.integer(1, 10**6)})

        return [  # the case that tells most mistakes apart comes first
            asked(23, 4, 7, 311),
            asked(16, 5, 9, 1601),
            small(rng.integers(0, 4, 23, 37), [0, 1, 2, 3], 11, 3),  # nothing may be chosen
            small(rng.integers(4, 11, 1, 1), [0, 1, 2, 3], 11, 3),
        ]

    properties = [
        _is(
            "form",
            "due",
            "A pair is due, inputs and labels, both of whole numbers and shaped as ids.",
        ),
        _unless_small(
            "again",
            True,
            "With a generator of the same seed you mask otherwise: all chance must come from `generator`.",
        ),
        _unless_small(
            "onward",
            True,
            "Where the generator has gone on you choose the same tokens as before: draw from it as it comes.",
        ),
        _unless_small("labels", "due", "A label is the old id of its token where it is predicted, and −100 elsewhere."),
        _unless_small("special", "none", "Some special token is chosen or changed: leave them alone, padding as well."),
        _unless_small(
            "silent", "none", "Some token is changed though its label is −100: only what is predicted may change."
        ),
        holds(
            "roughly",
            lambda facts, *given: facts["roles"] in ("due", None),
            lambda facts: f"Of the chosen 80 % become mask_id, 10 % a random token, 10 % stay: here {facts['roles']}.",
        ),
        _not_off("rate", "It is not 15 % of the tokens that may be chosen, the special ones not counted."),
        _unless_small("pattern", "due", "Which tokens are chosen is not by chance: each needs dice of its own."),
        _not_off("masked", "Of the chosen it is not 80 % that become mask_id."),
        _not_off("random", "Of the chosen it is not 10 % that become a random token."),
        _not_off("kept", "Of the chosen it is not 10 % that stay as they are."),
        _unless_small("order", True, "What becomes of a token depends on where it stands: it needs dice of its own."),
        _unless_small("put", "due", "Random tokens are of the whole vocabulary less the special ones, each as likely."),
    ]
    mistakes = [
        mistake(
            "special tokens touched",
            _steps(may=lambda ids, *given: torch.ones_like(ids, dtype=torch.bool)),
            "You choose special tokens, too: nobody should have to guess a [SEP] or padding, so leave them out first.",
        ),
        mistake(
            "only the mask is special",
            _steps(may=lambda ids, special_ids, vocab_size: ids != special_ids[-1]),
            "You leave out mask_id alone: all of `special_ids` may not be chosen.",
        ),
        mistake(
            "15 % of the whole",
            _steps(choose=_share_of_all),
            "You choose 15 % of all tokens, special ones counted, and so too many of the others: of those that may be "
            "chosen it is 15 %.",
        ),
        mistake(
            "85 %",
            _steps(choose=lambda may, generator: may & (_rand(may, generator) > 0.15)),
            "You choose 85 %: dice lie below 0.15 in 15 % of all throws, so `<`.",
        ),
        mistake(
            "all are masked",
            _steps(roles=_shared((1.0, 1.0))),
            "All that you choose becomes [MASK], which no later text has: 80 % do, and for that each needs new dice, "
            "not those that chose it.",
        ),
        mistake(
            "none stays",
            _steps(roles=_shared((0.8, 1.0))),
            "You replace all that is not masked: half of it, 10 % of the chosen, stays as it is.",
        ),
        mistake(
            "none at random",
            _steps(roles=_shared((0.8, 0.8))),
            "You put in no random tokens: 10 % of the chosen become one, and 10 % stay.",
        ),
        mistake(
            "masked and random exchanged",
            _steps(roles=lambda chosen, generator: _roles(chosen, generator)[::-1]),
            "You replace 80 % by random tokens and mask 10 %: it is the other way round.",
        ),
        mistake(
            "one after the other",
            _steps(roles=_one_after_the_other),
            "You draw 10 % out of what the 80 % left, which is 2 % of the chosen: cut one throw at 0.8 and 0.9, or "
            "take half of the rest.",
        ),
        mistake(
            "masks overwritten",
            _steps(roles=_overwritten),
            "Your random tokens fall on masked ones, too, so fewer than 80 % stay masked: take them from the others.",
        ),
        mistake(
            "shares of the whole",
            _steps(roles=_of_all),
            "You take 80 % and 10 % of all tokens: they are shares of the chosen, `chosen & (lot < 0.8)`.",
        ),
        mistake(
            "a tenth of the whole at random",
            _steps(roles=_a_tenth_of_all),
            "You replace 10 % of all tokens at random, and most have no label: only what is chosen may change.",
        ),
        mistake(
            "labels kept everywhere",
            _steps(labels=lambda ids, inputs, chosen, masked: ids.clone()),
            "Your labels hold all ids, so the model is paid for copying: −100 where nothing is predicted.",
        ),
        mistake(
            "0 for −100",
            _steps(labels=lambda ids, inputs, chosen, masked: ids * chosen),
            "Your labels are 0 where nothing is predicted, and 0 is a token: −100 is what the loss leaves out.",
        ),
        mistake(
            "labels inverted",
            _steps(labels=lambda ids, inputs, chosen, masked: ids.masked_fill(chosen, NONE)),
            "Your labels are −100 at the chosen tokens and ids at all others: it is the other way round.",
        ),
        mistake(
            "labels of the masked alone",
            _steps(labels=lambda ids, inputs, chosen, masked: ids.masked_fill(~masked, NONE)),
            "You label only what became [MASK]: random tokens and those that stay are predicted, too.",
        ),
        mistake(
            "labels of the changed alone",
            _steps(labels=lambda ids, inputs, chosen, masked: ids.masked_fill(inputs == ids, NONE)),
            "You label only what has changed: tokens that were chosen and stay are predicted, too, or the model could "
            "trust whatever is not [MASK].",
        ),
        mistake(
            "labels after the change",
            _steps(labels=lambda ids, inputs, chosen, masked: inputs.masked_fill(~chosen, NONE)),
            "Your labels hold what you put in, [MASK] above all: they are the old ids.",
        ),
        mistake(
            "input changed in place",
            _in_place,
            "You change `ids` in place, so the next epoch begins with masked text: work on a copy.",
        ),
        mistake(
            "input changed in place before the labels",
            _steps(start=lambda ids: ids),
            "You change `ids` in place and read the labels from it afterwards: work on a copy, and labels are old ids.",
        ),
        mistake(
            "special ones among the random",
            _steps(words=lambda n, ids, special, vocab, generator: torch.randint(vocab, (n,), generator=generator)),
            "Your random tokens may be special ones: draw from the ids that are left without them.",
        ),
        mistake(
            "places for ids",
            _steps(
                words=lambda n, ids, special, vocab, generator: torch.randint(
                    vocab - len(special), (n,), generator=generator
                )
            ),
            "You draw places among the ordinary ids and put them in as ids: look each up, `ordinary[place]`.",
        ),
        mistake(
            "out of the text",
            _steps(words=_out_of_the_text),
            "You draw random tokens out of the text, special ones among them and frequent ones more often: they are "
            "drawn from the vocabulary.",
        ),
        mistake(
            "one random token for all",
            _steps(words=lambda n, *given: _words(1, *given).expand(n)),
            "You draw one random token and put it everywhere: each place needs its own.",
        ),
        mistake(
            "generator ignored",
            _steps(chance=lambda generator: None),
            "Your dice do not come from `generator`, so nobody can repeat them: hand it to each `torch.rand`.",
        ),
        mistake(
            "seeded anew",
            _steps(chance=seeded),
            "You seed a generator of your own at each call, so every epoch masks the same tokens: use the one given.",
        ),
        mistake(
            "rows alike",
            _steps(choose=lambda may, generator: may & (torch.rand(may.shape[1], generator=generator) < 0.15)),
            "You throw the dice for one row and use them for all: dice of the shape of ids.",
        ),
        mistake(
            "the first 15 %",
            _steps(choose=_first_of_each_row),
            "You choose the first 15 % of each row: chosen is by chance.",
        ),
        mistake(
            "the first 80 %",
            _steps(roles=_in_order),
            "You mask the first 80 % of the chosen in their order, and the last rows get what is left: shuffle them, "
            "or throw dice for each.",
        ),
        mistake(
            "labels and inputs exchanged",
            lambda *given, **named: bert.mask_tokens(*given, **named)[::-1],
            "You give the labels first: inputs, then labels.",
        ),
        mistake(
            "inputs alone",
            lambda *given, **named: bert.mask_tokens(*given, **named)[0],
            "You give the inputs alone: without labels nobody knows what was there.",
        ),
        mistake(
            "a mask for labels",
            _steps(labels=lambda ids, inputs, chosen, masked: chosen),
            "In place of labels you give True and False: labels are the old ids, and −100 where nothing is predicted.",
        ),
    ]


# ---- the loss ----


def _loss(logits, labels, reduction="sum", ignored=NONE):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=ignored, reduction=reduction)


def _divided(by):
    return lambda logits, labels: _loss(logits, labels) / by(labels)


def _n_told(labels):
    return (labels != NONE).sum().clamp(min=1)


def _mean_of_means(logits, labels):
    """Rows without a prediction left out."""
    rows = [_loss(x[None], y[None], "mean") for x, y in zip(logits, labels, strict=True) if (y != NONE).any()]
    return torch.stack(rows).mean() if rows else logits.sum() * 0


def _new_zero(logits, labels):
    return _loss(logits, labels, "mean") if (labels != NONE).any() else torch.tensor(0.0, dtype=torch.float16)


@exercise("bert.mlm_loss", points=2, minutes=8, difficulty=2)
class MlmLoss:
    """Mean cross-entropy, in nats, over the tokens whose label is not −100; 0 where there is none."""

    signature = "mlm_loss(logits: Tensor (B, T, V), labels: Tensor (B, T)) -> Tensor ()"
    reference = bert.mlm_loss
    shortcuts = ["BertForMaskedLM", "BertForPreTraining"]
    why = "About one token in seven has a say, so BERT learns less from a text than a model that predicts every token."
    hints = [
        "`F.cross_entropy` leaves out targets of −100 by itself, and its mean is over the others.",
        "A mean over none is 0/0, which is NaN: where may that come from, and what should stand there?",
        '`F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")`, divided by the number of labels '
        "that are not −100, `.clamp(min=1)`.",
    ]

    def cases(rng):
        def asked(batch, time, vocab, p, **more):
            labels = rng.integers(0, vocab, batch, time)  # (B, T)
            labels[0, 0] = 0  # a token like others
            labels = labels.masked_fill(rng.coins(batch, time, p=p), NONE)
            return Case((2 * rng.normal(batch, time, vocab), labels), **more)

        def told(*places, batch=3, time=5, vocab=7):
            labels = torch.full((batch, time), NONE)
            for i, t, label in places:
                labels[i, t] = label
            return Case((2 * rng.normal(batch, time, vocab), labels))

        return [
            told((0, 0, 0), (0, 3, 5), (2, 4, 6), (2, 1, 0), (2, 2, 3)),
            told(),  # none
            told((1, 2, 0)),
            told((0, 0, 0), batch=1, time=1, vocab=2),
            asked(2, 3, 5, 0.0),  # all
            Case((900 * rng.normal(2, 3, 5), rng.integers(0, 5, 2, 3))),  # exp of some is infinite
            asked(5, rng.integer(11, 20), 13, 0.8),
        ]

    properties = [
        holds("one number", lambda loss, *given: loss.dim() == 0, "One number is due, the mean: a tensor of shape ()."),
        holds(
            "no NaN",
            lambda loss, *given: not loss.isnan(),
            "Your loss is NaN: where nothing is predicted a mean is 0/0, and 0 is due.",
        ),
    ]
    mistakes = [
        mistake(
            "mean over all",
            _divided(lambda labels: labels.numel()),
            "You divide by the number of all tokens: divide by how many of them have a label.",
        ),
        mistake(
            "NaN where nothing is predicted",
            lambda logits, labels: _loss(logits, labels, "mean"),
            "Where nothing is predicted your mean is 0/0, NaN, and one such batch spoils all weights: 0 is due there.",
        ),
        mistake(
            "sum",
            lambda logits, labels: _loss(logits, labels),
            "Your loss is the sum, so it grows with the batch: divide by the number of labels.",
        ),
        mistake(
            "divided by the batch",
            _divided(len),
            "You divide by the number of rows: it is a mean over tokens that are predicted.",
        ),
        mistake(
            "one more",
            _divided(lambda labels: (labels != NONE).sum() + 1),
            "You add one to the number of labels, so that it is never 0, and every loss is too small: `.clamp(min=1)`.",
        ),
        mistake(
            "mean of means",
            _mean_of_means,
            "You take the mean of each row and then of rows: a token in a row with few labels counts for more, so take "
            "all together.",
        ),
        mistake(
            "all tokens predicted",
            lambda logits, labels: _loss(logits, labels.clamp(min=0), "mean"),
            "You make token 0 of each −100 and ask for it: leave those places out.",
        ),
        mistake(
            "token 0 left out",
            lambda logits, labels: (
                _loss(logits, labels.masked_fill(labels == 0, NONE)) / (labels > 0).sum().clamp(min=1)
            ),
            "You leave out label 0 as well: it is a token like others, only −100 says that nothing is predicted.",
        ),
        mistake(
            "token 0 not counted",
            _divided(lambda labels: (labels > 0).sum().clamp(min=1)),
            "You count labels above 0, and token 0 is none of them: count those that are not −100.",
        ),
        mistake(
            "−100 as an id",
            lambda logits, labels: _loss(logits, labels, "mean", ignored=-1),
            "You look up token −100, which does not exist: leave those labels out, `ignore_index=-100`.",
        ),
        mistake(
            "classes on the wrong axis",
            lambda logits, labels: F.cross_entropy(logits, labels),
            "`cross_entropy` expects the vocabulary on axis 1: flatten batch and time of both, or swap axes 1 and 2.",
        ),
        mistake(
            "softmax first",
            lambda logits, labels: _loss(logits.softmax(-1), labels) / _n_told(labels),
            "You take a softmax before `cross_entropy`, which takes its own: hand it the logits.",
        ),
        mistake(
            "shifted",
            lambda logits, labels: bert.mlm_loss(logits[:, :-1], labels[:, 1:]),
            "You compare with the next token's label, as a causal model does: here each token is asked for itself.",
        ),
        mistake(
            "negative",
            lambda logits, labels: -bert.mlm_loss(logits, labels),
            "Your loss is negative: it is minus the log-likelihood.",
        ),
        mistake(
            "one loss for each",
            lambda logits, labels: F.cross_entropy(logits.transpose(1, 2), labels, reduction="none"),
            "You give a loss for each token: their mean over what is predicted is due.",
        ),
        mistake(
            "gradient lost",
            lambda logits, labels: bert.mlm_loss(logits, labels).detach(),
            "The number is right and nothing can learn from it: keep the gradient, without `.item()` or `.detach()`.",
        ),
        mistake(
            "a new 0",
            _new_zero,
            "Where nothing is predicted you make a 0 of your own, of another dtype: take `logits.sum() * 0`, which "
            "`backward()` goes through, or divide by a count that is at least 1.",
        ),
    ]
