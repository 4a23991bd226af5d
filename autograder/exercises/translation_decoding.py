"""06_translation: from logits to a sentence, greedily and with a beam."""

import math

import torch

from autograder.ask import Reader
from autograder.exercise import exercise, holds, mistake
from helpers import decoding

# ---- models ----


def reader(rng, plans, bos_id, eos_id, vocab, n_source, again=False):
    """Weights of a translator (see `ask.Reader`) that has a plan for each source, told by the source's first token.

    A plan says for what has been written (a tuple) how likely some tokens are next; the others share what is left.
    Who leaves the plan rambles, who does not begin with BOS lands anywhere, and after EOS the model would go on, and
    be sure of it: with a word, or with EOS `again` and again.
    """
    places = {place: i for i, place in enumerate(_written(plans), len(plans) + 1)}
    n = len(plans) + 3 + len(places)
    ramble, beyond, words = n - 2, n - 1, [t for t in range(vocab) if t not in (bos_id, eos_id)]
    a = [[*range(1, len(plans) + 1), *[ramble] * (n_source - len(plans))], *([i] * n_source for i in range(1, n))]
    b = [[ramble] * vocab for _ in range(n)]
    b[beyond] = [beyond] * vocab
    chances = (torch.rand(n, vocab, generator=rng.generator, dtype=torch.float64) + 0.5).tolist()
    sure = rng.pick(words)
    for row in chances:
        row[eos_id] = 0.01
    sure = eos_id if again else sure
    chances[beyond] = [1.0 if t == sure else 0.001 for t in range(vocab)]
    for (r, written), state in places.items():
        chances[state] = _shared(plans[r][written], chances[state])
        b[state] = [places.get((r, (*written, token)), ramble) for token in range(vocab)]
        b[state][eos_id] = beyond
    for r in range(len(plans)):
        b[r + 1] = rng.integers(len(plans) + 1, n - 2, vocab).tolist()
        b[r + 1][bos_id] = places[r, ()]
    c = torch.tensor(chances, dtype=torch.float64).log() + 2 * rng.normal(n, 1)  # known up to a constant
    return dict(zip(Reader.NAMES, (torch.tensor(a), torch.tensor(b), c), strict=True))


def _shared(next_, row):
    """The plan's chances, and what is left of one shared by the other tokens as they stand in `row`."""
    others = sum(x for token, x in enumerate(row) if token not in next_)
    left = 1 - sum(next_.values())
    return [next_.get(token, x * left / others) for token, x in enumerate(row)]


def _written(plans):
    return [(r, written) for r, plan in enumerate(plans) for written in plan]


def source(rng, n_rows, n_source, n_tokens):
    """Ids (B, S) whose first tokens are 0, 1, 2 …"""
    ids = rng.integers(0, n_source, n_rows, n_tokens)
    ids[:, 0] = torch.arange(n_rows)
    return ids


def saying(rng, sentence, sure=0.6):
    """The plan whose likeliest next token is the sentence's, step by step."""
    return {tuple(sentence[:t]): {token: sure + 0.3 * rng.integer(0, 100) / 100} for t, token in enumerate(sentence)}


# ---- greedy ----


def _greedy(
    read=lambda logits: logits[:, -1],
    choose=lambda logits: logits.argmax(-1),
    shown=lambda ids: ids,
    start=lambda bos_id, eos_id: bos_id,
    filled=lambda eos_id, bos_id, last: eos_id,
    remember=True,
    stop=lambda ended: ended.all(),
    steps=lambda n: n,
    cut=lambda ids: ids[:, 1:],
    rows=lambda source: source,
    forbidden=False,
):
    """Greedy decoding whose parts can be exchanged one by one."""

    def made(model, source, bos_id, eos_id, max_len):
        target = source.new_full((len(source), 1), start(bos_id, eos_id))
        ended = torch.zeros(len(source), dtype=torch.bool)
        for _ in range(steps(max_len)):
            logits = read(model(rows(source), shown(target)))
            if forbidden:
                logits = logits.index_fill(-1, torch.tensor([bos_id]), -math.inf)
            token = choose(logits)
            if filled:
                token = torch.where(ended, filled(eos_id, bos_id, target[:, -1]), token)
            target = torch.cat([target, token[:, None]], 1)
            now = token == eos_id
            ended = ended | now if remember else now
            if stop(ended):
                break
        return cut(target)

    return made


def _counting(model, source, bos_id, eos_id, max_len):
    """Stops when EOS was said as often as there are rows, and tidies up afterwards."""
    target = source.new_full((len(source), 1), bos_id)
    while target.shape[1] <= max_len and int((target[:, 1:] == eos_id).sum()) < len(source):
        target = torch.cat([target, model(source, target)[:, -1:].argmax(-1)], 1)
    ids = target[:, 1:]
    return ids.masked_fill((ids == eos_id).cumsum(1) > 0, eos_id)


def _end_dropped(model, source, bos_id, eos_id, max_len):
    """Stops before EOS is written in the row that ends last."""
    ids = decoding.greedy(model, source, bos_id, eos_id, max_len)
    return ids[:, :-1] if (ids[:, -1] == eos_id).all() else ids


def _up_to_the_end(model, source, bos_id, eos_id, max_len):
    ids = decoding.greedy(model, source, bos_id, eos_id, max_len).tolist()
    return [row[: row.index(eos_id)] if eos_id in row else row for row in ids]


def _padded_out(model, source, bos_id, eos_id, max_len):
    ids = decoding.greedy(model, source, bos_id, eos_id, max_len)
    return torch.cat([ids, ids.new_full((len(ids), max_len - ids.shape[1]), eos_id)], 1)


def _tidied(ids, eos_id):
    """Whether nothing but EOS follows an EOS."""
    ended = (ids == eos_id).cumsum(1) > 0
    return ((ids == eos_id) == ended).all()


@exercise("translation.greedy", points=3, minutes=20, difficulty=3, ask="models")
class Greedy:
    """Translate by the likeliest token at each step: ids (B, n ≤ max_len) without BOS, for sources (B, S).

    A row that has ended holds `eos_id` from there on. Stop when all rows have ended, or after max_len tokens.
    `model(source, target)` makes its masks itself, and says at each target position what comes next.
    """

    signature = (
        "greedy(model, source: Tensor (B, S), bos_id: int, eos_id: int, max_len: int) -> Tensor (B, n), n ≤ max_len\n"
        "model(source (B, S), target (B, T)) -> logits (B, T, V)"
    )
    reference = decoding.greedy
    book = ["helpers.decoding.beam"]  # of width 1
    gradient = False
    fake = False
    why = "Right: a whole batch is translated at once, and no sentence is changed by those beside it."
    hints = [
        "Start from a column of BOS. Where in the logits (B, T, V) does the model say what follows the last token?",
        "Keep a boolean (B,) of the rows that have ended, and never forget one: `ended = ended | (token == eos_id)`.",
        "`token = model(source, target)[:, -1].argmax(-1)`; `token = token.masked_fill(ended, eos_id)`; put it beside "
        "the target with `torch.cat`, and break once `ended.all()`. Return `target[:, 1:]`.",
    ]

    def cases(rng):
        def asked(lengths, max_len, vocab, bos_id, eos_id, n_source, n_tokens, again=False, says_bos=False):
            words = [t for t in range(vocab) if t not in (bos_id, eos_id)]
            plans = []
            for length in lengths:  # EOS is the last of so many tokens; no two words in a row are the same
                at = rng.integer(0, len(words))
                sentence = [words[(at + t * (1 + at % 2)) % len(words)] for t in range(min(length, max_len + 1) - 1)]
                sentence[1:2] = [bos_id] if says_bos and length > 2 else sentence[1:2]
                plans.append(saying(rng, [*sentence, eos_id if length <= max_len else words[at - 1]]))
            weights = reader(rng, plans, bos_id, eos_id, vocab, n_source, again)
            return weights, source(rng, len(plans), n_source, n_tokens), bos_id, eos_id, max_len

        return [  # the case that tells most mistakes apart comes first
            asked([3, 1, 5, 2], 7, 9, 1, 2, 11, 5),
            asked([4], 6, 7, 5, 3, 7, 2),
            asked([2, 99, 3], 5, 8, 0, 7, 5, 4, again=True),
            asked([99], 1, 5, 3, 1, 3, 1),
            asked([1, 1], 4, 7, 2, 4, 5, 3),
            asked([5, 2, 99, 4, 3], 6, 11, 4, rng.pick([0, 6, 10]), 13, 3, says_bos=True),
        ]

    properties = [
        holds(
            "EOS fills up",
            lambda ids, model, source, bos_id, eos_id, max_len: _tidied(ids, eos_id),
            "After its first EOS a row holds EOS alone.",
        ),
        holds(
            "the likeliest",
            lambda ids, model, source, bos_id, eos_id, max_len: torch.equal(
                ids, decoding.greedy(Reader(model), source, bos_id, eos_id, ids.shape[1])
            ),
            "Some token is not the likeliest after those before it: give the model all that was written so far, BOS "
            "first, and read its last position.",
        ),
    ]
    mistakes = [
        mistake(
            "goes on after the end",
            _greedy(filled=None),
            "A row that has ended goes on with words after its EOS, while it waits for the others: fill it with "
            "`eos_id`.",
        ),
        mistake(
            "forgets finished rows",
            _greedy(filled=None, remember=False),
            "You stop only if all rows say EOS in the same step, and let those that ended before go on: remember them, "
            "`ended = ended | (token == eos_id)`.",
        ),
        mistake(
            "reads the first step",
            _greedy(read=lambda logits: logits[:, 0]),
            "You read the logits of the first position, which say the first word again and again: the last position, "
            "`[:, -1]`, says what comes next.",
        ),
        mistake(
            "reads the step before",
            _greedy(read=lambda logits: logits[:, max(logits.shape[1] - 2, 0)]),
            "You read the last position but one, which says what you have already: `[:, -1]` says what comes next.",
        ),
        mistake(
            "stops at the first end",
            _greedy(stop=lambda ended: ended.any()),
            "You stop as soon as one row has ended: the others are not done, so wait for all of them, `ended.all()`.",
        ),
        mistake(
            "stops when the first row ends",
            _greedy(stop=lambda ended: ended[0]),
            "You stop when the first row has ended: every row has its own end, so wait for all of them.",
        ),
        mistake(
            "counts EOS",
            _counting,
            "You count how often EOS was said in all, and a row that has ended may say it again: ask of each row "
            "whether it has ended, `ended.all()`.",
        ),
        mistake(
            "never says BOS",
            _greedy(forbidden=True),
            "You forbid BOS: greedy takes the likeliest token, whatever it is.",
        ),
        mistake(
            "never stops early",
            _padded_out,
            "The sentences are right, but you go on to max_len though all have ended: break there, and save the steps.",
        ),
        mistake(
            "BOS kept",
            _greedy(cut=lambda ids: ids),
            "The sentences are right, but BOS is still before them: return `target[:, 1:]`.",
        ),
        mistake(
            "BOS counts",
            _greedy(steps=lambda n: n - 1),
            "You count BOS among the max_len tokens: it is not returned, so max_len tokens follow it.",
        ),
        mistake(
            "one step too many",
            _greedy(steps=lambda n: n + 1),
            "You write max_len + 1 tokens where no row ends in time.",
        ),
        mistake(
            "last EOS dropped",
            _end_dropped,
            "You leave before the last EOS is written: it belongs to the sentence, so that one can see that it ended.",
        ),
        mistake(
            "lists of words",
            _up_to_the_end,
            "You cut each sentence at its end and give lists: one tensor (B, n) is due, with EOS from the end on.",
        ),
        mistake(
            "filled with 0",
            _greedy(filled=lambda eos_id, bos_id, last: torch.tensor(0)),
            "You fill rows that have ended with 0: `eos_id` is due there.",
        ),
        mistake(
            "filled with BOS",
            _greedy(filled=lambda eos_id, bos_id, last: torch.tensor(bos_id)),
            "You fill rows that have ended with BOS: `eos_id` is due there.",
        ),
        mistake(
            "last token alone",
            _greedy(shown=lambda ids: ids[:, -1:]),
            "You show the model its last token alone, and it forgets what it wrote before: give it all, BOS first.",
        ),
        mistake(
            "without BOS",
            _greedy(shown=lambda ids: ids[:, 1:] if ids.shape[1] > 1 else ids),
            "You leave BOS out once there are words: the model learned to go on from BOS and words, so it stays first.",
        ),
        mistake(
            "starts from EOS",
            _greedy(start=lambda bos_id, eos_id: eos_id),
            "You start from EOS: the model learned to start from BOS.",
        ),
        mistake(
            "starts from 0",
            _greedy(start=lambda bos_id, eos_id: 0),
            "You start from 0, whatever BOS is: use `bos_id`.",
        ),
        mistake(
            "the first sentence for all",
            _greedy(rows=lambda source: source[:1].expand_as(source)),
            "Every row gets the first one's translation: each has a source and tokens of its own, so `argmax(-1)` over "
            "(B, V), for the whole batch.",
        ),
        mistake(
            "wrong axis",
            _greedy(choose=lambda logits: logits.argmax(0)[: len(logits)]),
            "Your argmax runs over the batch: tokens are the last axis, `argmax(-1)`.",
        ),
        mistake(
            "the least likely",
            _greedy(choose=lambda logits: logits.argmin(-1)),
            "You take the unlikeliest token: logits grow with the probability, so `argmax`.",
        ),
    ]


# ---- beam ----


def _score(total, length, alpha):
    return total / length**alpha


def _search(
    score=_score,
    told=None,
    logs=lambda logits: logits.log_softmax(-1),
    places="given up",
    ends=True,
    cut_ones=True,
    ranked=lambda candidates: sorted(candidates, key=lambda c: -c[0]),
    stop_first=False,
    stop_beaten=False,
    best=max,
    cut=lambda ids, eos_id: ids[1:],
    counted=lambda ids: len(ids) - 1,
    steps=lambda n: n,
    add=lambda total, x, length, alpha: total + x,
    parent=lambda i, token, n: i,
    ranked_of_each=False,
):
    """Beam search whose parts can be exchanged one by one."""

    def made(model, source, bos_id, eos_id, max_len, width, alpha):
        live, done = [(0.0, [bos_id])], []
        for length in range(1, steps(max_len) + 1):
            rows = torch.tensor([ids for _, ids in live])  # (W, T)
            with torch.no_grad():
                said = logs(model(source.expand(len(rows), -1), rows)[:, -1]).tolist()
            candidates = []
            for i, ((total, _), row) in enumerate(zip(live, said, strict=True)):
                more = [
                    (add(total, x, length, alpha), [*live[parent(i, token, len(live))][1], token])
                    for token, x in enumerate(row)
                ]
                candidates += ranked(more)[:width] if ranked_of_each else more
            room = width - len(done) if places == "given up" else width
            kept = candidates if ranked_of_each else ranked(candidates)[:room]
            if ends:
                done += [c for c in kept if c[1][-1] == eos_id]
                live = [c for c in kept if c[1][-1] != eos_id]
                if places == "kept":  # those that ended leave their places to the next best
                    more = [c for c in ranked(candidates)[room:] if c[1][-1] != eos_id]
                    live += more[: width - len(live)]
            else:
                live = kept
            if stop_beaten and done and live:
                yours, theirs = (max(score(c[0], counted(c[1]), alpha) for c in some) for some in (live, done))
                live = live if yours > theirs else []
            if not live or (done and stop_first):
                break
        if not ends or cut_ones or not done:
            done += [] if done and stop_first else live
        chosen = best(done, key=lambda c: score(c[0], counted(c[1]), alpha))
        total, ids = chosen
        number = (told or score)(total, counted(ids), alpha)
        return torch.tensor([cut(ids, eos_id)], dtype=torch.long), number

    return made


def _by_greedy(model, source, bos_id, eos_id, max_len, width, alpha):
    return _search()(model, source, bos_id, eos_id, max_len, 1, alpha)


def _fits(answer, model, source, bos_id, eos_id, max_len, width, alpha):
    """Whether the score is that of the ids."""
    ids, score = answer
    with torch.no_grad():
        read = torch.cat([ids.new_full((1, 1), bos_id), ids[:, :-1]], 1)
        logs = Reader(model)(source, read).log_softmax(-1).gather(-1, ids[..., None])
    return abs(float(logs.sum()) / ids.shape[1] ** alpha - float(score)) < 1e-4


@exercise("translation.beam", points=4, minutes=35, difficulty=5, ask="models")
class Beam:
    """Beam search for one source (1, S): the best sentence found, ids (1, n ≤ max_len) without BOS, and its score.

    The score is log-probability / length^alpha; the length counts all generated tokens, EOS too. At each step the
    `width` likeliest continuations of all hypotheses stay. One that ends in EOS is set aside and gives up its place,
    so width 1 is greedy; those cut off at max_len count like those that ended.
    """

    signature = (
        "beam(model, source: Tensor (1, S), bos_id: int, eos_id: int, max_len: int, width: int, alpha: float)\n"
        "    -> (ids Tensor (1, n), score float)\n"
        "model(source (B, S), target (B, T)) -> logits (B, T, V)"
    )
    reference = decoding.beam
    tolerance = 1e-4  # float32 is precise enough
    gradient = False
    fake = False
    why = "Right: with two or three hypotheses a first word that seemed best no longer decides the whole sentence."
    hints = [
        "A hypothesis is a list of ids and the sum of its log-probabilities. What are its V continuations, and which "
        "`width` of all of them stay?",
        "`(total[:, None] + logits.log_softmax(-1)).flatten().topk(width)`: the index // V is the hypothesis, the "
        "index % V is the token.",
        "After each step move those that end in EOS to a list with their score, total / length**alpha, and take one "
        "from `width` for each. At max_len the others go there too, and the best score wins.",
    ]

    def cases(rng):
        def asked(plan, width, alpha, max_len, vocab, bos_id, eos_id, n_source, n_tokens):
            """In a plan "." is EOS and other letters are words, whose ids are drawn; chances waver a little."""
            words = [t for t in range(vocab) if t not in (bos_id, eos_id)]
            order = rng.permutation(len(words)).tolist()
            letters = sorted({x for next_ in plan.values() for x in next_} - {"."})
            ids = {x: words[i] for x, i in zip(letters, order, strict=False)} | {".": eos_id}
            made = {
                tuple(ids[x] for x in written): {
                    ids[x]: p * (0.99 + 0.01 * rng.coins(1).item()) for x, p in next_.items()
                }
                for written, next_ in plan.items()
            }
            weights = reader(rng, [made], bos_id, eos_id, vocab, n_source)
            return weights, source(rng, 1, n_source, n_tokens), bos_id, eos_id, max_len, width, alpha

        longer = {
            "": {"x": 0.52, "y": 0.43},
            "x": {".": 0.9},
            "y": {"u": 0.93},
            "yu": {"v": 0.93},
            "yuv": {".": 0.93},
        }
        misled = {"": {"x": 0.55, "y": 0.4}, "x": {"u": 0.3, "v": 0.25, "w": 0.2}, "y": {"z": 0.9}, "yz": {".": 0.95}}
        sisters = {
            "": {"x": 0.9},
            "x": {"u": 0.5, "v": 0.42},
            "xu": {"w": 0.25, "y": 0.2, "z": 0.2},
            "xv": {"z": 0.96},
            "xvz": {".": 0.95},
        }
        straight = {"": {"x": 0.7}, "x": {".": 0.5, "u": 0.45}, "xu": {"v": 0.98}, "xuv": {".": 0.98}}
        endless = {"": {"x": 0.5, "y": 0.45}, "x": {"x": 0.4, "u": 0.3}, "y": {"z": 0.95}, "yz": {"y": 0.95}}
        late = {"": {"x": 0.55, "y": 0.4}, "x": {".": 0.3, "u": 0.1}, "y": {"z": 0.95}, "yz": {".": 0.95}}
        third = {
            "": {"x": 0.5, "y": 0.28, "z": 0.2},
            "x": {"u": 0.3, "v": 0.2},
            "y": {".": 0.8},
            "z": {"w": 0.98},
            "zw": {".": 0.98},
        }
        crowded = {
            "": {"x": 0.5, "y": 0.45},
            "x": {"u": 0.6, "v": 0.35},
            "y": {"w": 0.5},
            "xu": {"z": 0.3},
            "yw": {"z": 0.3},
            "xv": {".": 0.99},
            "xuz": {".": 0.95},
            "ywz": {".": 0.95},
        }
        patient = {"": {"x": 0.5, "y": 0.4}, "x": {".": 0.6}, "y": {"z": 0.98}, "yz": {"u": 0.75}, "yzu": {".": 0.9}}
        return [  # the case that tells most mistakes apart comes first
            asked(longer, 2, 1.0, 7, 9, 1, 2, 5, 3),
            asked(crowded, 2, 0.0, 6, 9, 2, 3, 5, 2),
            asked(patient, 2, 1.0, 6, 8, 4, 1, 3, 2),
            asked(late, 2, 0.0, 6, 8, 3, 0, 7, 2),
            asked(third, 2, 1.0, 5, 9, 1, 4, 3, 1),
            asked(third, 3, 1.0, 5, 9, 7, 0, 3, 2),
            asked(misled, 2, 0.6, 5, 9, 0, 5, 5, 4),
            asked(straight, 1, 1.0, 6, 7, 4, 2, 5, 3),
            asked(endless, 2, 0.7, 3, 8, 2, 6, 3, 4),
            asked(endless, 3, 0.5, 1, 8, 2, 6, 3, 4),
            asked(sisters, 2, rng.pick([0.5, 0.8]), 6, 11, 5, rng.pick([1, 8]), 7, 5),
        ]

    properties = [
        holds(
            "a row of ids",
            lambda found, *given: found[0].dim() == 2 and len(found[0]) == 1,
            "The ids are one row, (1, n), as `greedy` would give them.",
        ),
        holds(
            "the score is that of the ids",
            _fits,
            "Your score is not that of your ids: it is the sum of their log-probabilities, EOS too, over "
            "length ** alpha, where the length counts every id that you return.",
        ),
        holds(
            "the best that a beam finds",
            lambda found, model, *given: float(found[1]) > decoding.beam(Reader(model), *given)[1] - 1e-4,
            "A beam of this width finds a sentence with a better score: at each step compare the continuations of all "
            "hypotheses together, and at the end all that were set aside.",
        ),
    ]
    mistakes = [
        mistake(
            "greedy",
            _by_greedy,
            "Your search finds what greedy finds: one hypothesis alone is kept, or `width` copies of BOS all go the "
            "same way, or each hypothesis has one continuation. Start with one BOS, and keep the best `width` of all V "
            "continuations of all hypotheses.",
        ),
        mistake(
            "no normalisation",
            _search(score=lambda total, length, alpha: total),
            "You compare bare log-probabilities, of which every further word takes something, so short sentences win: "
            "divide by length ** alpha.",
        ),
        mistake(
            "chosen bare, told normalised",
            _search(score=lambda total, length, alpha: total, told=_score),
            "You normalise the score that you tell, but choose by the bare log-probability, or stop once that "
            "of a finished one leads: choose by the score, when nothing is left.",
        ),
        mistake(
            "chosen normalised, told bare",
            _search(told=lambda total, length, alpha: total),
            "The sentence is right, but you tell its bare log-probability: the score is that over length ** alpha.",
        ),
        mistake(
            "alpha left out",
            _search(score=lambda total, length, alpha: total / length),
            "You divide by the length, whatever alpha is: by length ** alpha.",
        ),
        mistake(
            "alpha times length",
            _search(score=lambda total, length, alpha: total / (1 + alpha * (length - 1))),
            "alpha is an exponent: divide by length ** alpha.",
        ),
        mistake(
            "another penalty",
            _search(score=lambda total, length, alpha: total / ((5 + length) / 6) ** alpha),
            "You use ((5 + length) / 6) ** alpha, as Wu et al. have it: here it is plainly length ** alpha.",
        ),
        mistake(
            "multiplied",
            _search(score=lambda total, length, alpha: total * length**alpha),
            "You multiply by length ** alpha, so long sentences are punished twice: log-probabilities are negative, "
            "and dividing is what helps them.",
        ),
        mistake(
            "finished ones extended",
            _search(ends=False),
            "Your hypotheses go on after EOS: one that ends is set aside, and nothing is added to it.",
        ),
        mistake(
            "width 1 is not greedy",
            _search(places="kept"),
            "A hypothesis that ends leaves its place to the next best, so the search goes on in its stead, and width 1 "
            "is no longer greedy: it gives up its place, `width` shrinks by one.",
        ),
        mistake(
            "stops at the first end",
            _search(stop_first=True),
            "You stop when the first hypothesis ends: the others may end with a better score, so go on until none is "
            "left.",
        ),
        mistake(
            "stops when it leads",
            _search(stop_beaten=True),
            "You stop when a hypothesis that has ended leads: with every sure word that follows the mean of the others "
            "gets better, so go on until none is left.",
        ),
        mistake(
            "nothing dropped",
            _search(ranked_of_each=True),
            "You keep the best continuations of each hypothesis, more and more of them: of all continuations together "
            "only the best `width` stay.",
        ),
        mistake(
            "two at the start, then one each",
            lambda *given: _split_once(*given),
            "After the first step each hypothesis goes its own way, as greedy would: the continuations of all compete "
            "for the places, and two may come from the same one.",
        ),
        mistake(
            "logits added up",
            _search(logs=lambda logits: logits),
            "You add up logits, which are known only up to a constant that differs at each step: take `log_softmax` "
            "first.",
        ),
        mistake(
            "probabilities added up",
            _search(logs=lambda logits: logits.softmax(-1)),
            "You add up probabilities: a sentence's probability is a product, so add up logarithms, `log_softmax`.",
        ),
        mistake(
            "a probability told",
            _search(told=lambda total, length, alpha: math.exp(total / length**alpha)),
            "The sentence is right, but you tell exp of the score: the score is log-probability / length ** alpha.",
        ),
        mistake(
            "sign",
            _search(told=lambda total, length, alpha: -total / length**alpha),
            "The sentence is right, but the sign of its score is not: a log-probability is never above 0.",
        ),
        mistake(
            "base 2",
            _search(told=lambda total, length, alpha: total / math.log(2) / length**alpha),
            "Your score is in bits: the logarithm is the natural one.",
        ),
        mistake(
            "EOS not counted",
            _search(counted=lambda ids: max(len(ids) - 2, 1)),
            "Your length leaves one token out: EOS is generated too, so it counts.",
        ),
        mistake(
            "BOS counted",
            _search(counted=len),
            "Your length is one too many: BOS is given, not generated, so it does not count.",
        ),
        mistake(
            "max_len for the length",
            _search(counted=lambda ids: 7),
            "You divide each by the same length: each hypothesis has its own, the number of tokens up to its EOS.",
        ),
        mistake(
            "normalised at each step",
            _search(
                add=lambda total, x, length, alpha: (total * (length - 1) ** alpha + x) / length**alpha,
                score=lambda total, length, alpha: total / length**alpha,
            ),
            "You normalise twice: the running score is over length ** alpha already, so do it once, at the end.",
        ),
        mistake(
            "divided again and again",
            _search(
                add=lambda total, x, length, alpha: (total + x) / length**alpha,
                score=lambda total, length, alpha: total,
            ),
            "You add the next log-probability to a score that was divided before, so the first words count less and "
            "less: keep the bare sum, and divide once, when a hypothesis ends.",
        ),
        mistake(
            "BOS kept",
            _search(cut=lambda ids, eos_id: ids),
            "The sentence is right, but BOS is still before it.",
        ),
        mistake(
            "EOS dropped",
            _search(cut=lambda ids, eos_id: [i for i in ids[1:] if i != eos_id]),
            "The sentence is right, but its EOS is missing: it was generated, and it counts.",
        ),
        mistake(
            "unfinished thrown away",
            lambda *given: _finished_only(*given),
            "Where nothing ends before max_len you give nothing: what is cut off there counts too.",
        ),
        mistake(
            "one step too few",
            _search(steps=lambda n: max(n - 1, 1)),
            "You count BOS among the max_len tokens: max_len tokens follow it.",
        ),
        mistake(
            "the worst",
            _search(best=min),
            "You return the worst of what was found: log-probabilities are negative, and the greatest score wins.",
        ),
        mistake(
            "the unlikeliest stay",
            _search(ranked=lambda candidates: sorted(candidates, key=lambda c: c[0])),
            "You keep the unlikeliest continuations: sort downwards, or use `topk`.",
        ),
        mistake(
            "wrong parent",
            _search(parent=lambda i, token, n: token % n),
            "Your tokens are put behind hypotheses that they do not continue: in the flattened continuations the index "
            "// V is the hypothesis, and the index % V the token.",
        ),
        mistake(
            "the ids alone",
            lambda *given: _search()(*given)[0],
            "The sentence is right, but its score is missing: return both, `(ids, score)`.",
        ),
        mistake(
            "no axis for the batch",
            lambda *given: (lambda found: (found[0][0], found[1]))(_search()(*given)),
            "The sentence is right, as a row without its batch: (1, n) is due, as `greedy` gives it.",
        ),
        mistake(
            "a list of ids",
            lambda *given: (lambda found: (found[0][0].tolist(), found[1]))(_search()(*given)),
            "The sentence is right, but as a list: a tensor (1, n) is due.",
        ),
        mistake(
            "score and ids exchanged",
            lambda *given: _search()(*given)[::-1],
            "Both are right, but the ids come first: `(ids, score)`.",
        ),
    ]


def _split_once(model, source, bos_id, eos_id, max_len, width, alpha):
    """The `width` best first words, each then continued greedily."""
    found = []
    with torch.no_grad():
        logs = model(source, source.new_full((1, 1), bos_id))[0, -1].log_softmax(-1)
        for total, token in zip(*(x.tolist() for x in logs.topk(min(width, len(logs)))), strict=True):
            ids = [bos_id, token]
            while ids[-1] != eos_id and len(ids) <= max_len:
                x, next_ = model(source, torch.tensor([ids]))[0, -1].log_softmax(-1).max(-1)
                total, ids = total + float(x), [*ids, int(next_)]
            found.append((_score(total, len(ids) - 1, alpha), ids))
    score, ids = max(found)
    return torch.tensor([ids[1:]]), score


def _finished_only(model, source, bos_id, eos_id, max_len, width, alpha):
    ids, score = _search()(model, source, bos_id, eos_id, max_len, width, alpha)
    return (ids, score) if ids[0, -1] == eos_id else (ids[:, :0], -math.inf)
