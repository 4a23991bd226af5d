"""Right and wrong answers of bert.next_sentence_pairs, written otherwise."""

from itertools import pairwise

import torch


def _looking(documents, generator):
    """Throws again until the document is another one."""
    pairs = []
    for i, sentences in enumerate(documents):
        for a, b in pairwise(sentences):
            if torch.rand(1, generator=generator).item() < 0.5:
                pairs.append((a, b, True))
                continue
            j = i
            while j == i or not documents[j]:
                j = int(torch.randint(len(documents), (1,), generator=generator))
            k = int(torch.randint(len(documents[j]), (1,), generator=generator))
            pairs.append((a, documents[j][k], False))
    return pairs


def _of_all_other_sentences(documents, generator):
    """Each sentence of the others is as likely; shuffled at the end."""
    pairs = []
    for i, sentences in enumerate(documents):
        others = [s for j, other in enumerate(documents) if j != i for s in other]
        for j in range(len(sentences) - 1):
            follows = bool(torch.randint(2, (), generator=generator))
            k = int(torch.randint(len(others), (), generator=generator))
            pairs.append([sentences[j], sentences[j + 1] if follows else others[k], follows])
    return [pairs[i] for i in torch.randperm(len(pairs), generator=generator).tolist()]


def _exact_half(documents, generator):
    """Half of the pairs, which ones by chance."""
    real = [(i, a, b) for i, d in enumerate(documents) for a, b in pairwise(d)]
    order = torch.randperm(len(real), generator=generator).tolist()
    follows = set(order[: (len(real) + 1) // 2])
    full = [i for i, d in enumerate(documents) if len(d) > 0]
    pairs = []
    for n, (i, a, b) in enumerate(real):
        others = [j for j in full if j != i]
        j = others[int(torch.randint(len(others), (), generator=generator))]
        k = int(torch.randint(len(documents[j]), (), generator=generator))
        pairs.append((a, b, True) if n in follows else (a, documents[j][k], False))
    return pairs


def _pairs(chance=0.5, other=None, value=lambda follows: follows):
    def made(documents, generator):
        pairs = []
        for i, d in enumerate(documents):
            others = [s for j, x in enumerate(documents) if j != i for s in x]
            for t in range(len(d) - 1):
                follows = torch.rand((), generator=generator).item() < chance
                k = int(torch.randint(len(others), (), generator=generator))
                pairs.append(
                    (
                        d[t],
                        d[t + 1] if follows else (other or (lambda d, t, o, k: o[k]))(d, t, others, k),
                        value(follows),
                    )
                )
        return pairs

    return made


def _blocks(documents, generator):
    """The first half follows, the second does not."""
    pairs = _pairs()(documents, generator)
    true = _pairs(chance=2)(documents, generator)
    false = _pairs(chance=-1)(documents, generator)
    return true[: len(pairs) // 2] + false[len(pairs) // 2 :]


VARIANTS = {
    "bert.next_sentence_pairs": [_looking, _of_all_other_sentences, _exact_half, _pairs()],
}

WRONG = {
    "bert.next_sentence_pairs": [
        _blocks,
        _pairs(chance=0.8),
        _pairs(chance=0.2),
        _pairs(other=lambda d, t, others, k: others[k][::-1]),
        _pairs(other=lambda d, t, others, k: d[t]),
        _pairs(other=lambda d, t, others, k: others[0]),
        _pairs(other=lambda d, t, others, k: d[k % len(d)]),
        _pairs(value=lambda follows: "IsNext" if follows else "NotNext"),
        _pairs(value=lambda follows: True),
        lambda documents, generator: _pairs()(documents, generator)[::2],
        lambda documents, generator: _pairs()(documents, generator) * 2,
        lambda documents, generator: dict.fromkeys(a for a, *_ in _pairs()(documents, generator)),
        lambda documents, generator: [(b, a, c) for a, b, c in _pairs()(documents, generator)],
        lambda documents, generator: [],
    ],
}
