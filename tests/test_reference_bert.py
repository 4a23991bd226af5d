"""What BERT is fed and asked: against the libraries, and by its statistics."""

import random

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers.processors import BertProcessing
from transformers import BertConfig, BertForPreTraining

from helpers import bert
from helpers.text.made_up import made_up


@pytest.fixture(scope="module")
def library():
    """A vocabulary that the library learned from made-up reviews."""
    found = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=["[UNK]"], show_progress=False)
    found.train_from_iterator((text.lower() for text, _ in made_up(400)), trainer)
    return found


def words(n, seed=0):
    """Half known ones put together and cut anew, half letters at random, some of which are in no vocabulary."""
    draw = random.Random(seed)
    known = sorted({word.strip(".,;").lower() for text, _ in made_up(400) for word in text.split()})
    for i in range(n):
        if i % 2:
            yield "".join(draw.choices("abcdefghilmnopqrstuvwyzéß7", weights=[9] * 23 + [1] * 3, k=draw.randint(1, 12)))
        else:
            joined = "".join(draw.choices(known, k=draw.randint(1, 3)))
            yield joined[draw.randint(0, len(joined) - 1) :]


def test_wordpiece_equals_the_librarys_on_10_000_words(library):
    vocabulary = library.get_vocab()
    found = {word: bert.wordpiece(word, vocabulary) for word in words(10_000)}
    assert found == {word: [token.value for token in library.model.tokenize(word)] for word in found}
    assert len(found) > 5_000
    assert 100 < sum(pieces == ["[UNK]"] for pieces in found.values()) < len(found) / 2
    assert sum(len(pieces) > 2 for pieces in found.values()) > 1_000


@pytest.mark.parametrize("max_len", [3, 4, 5, 8, 11, 20])
def test_inputs_equal_the_librarys(library, max_len):
    cut = Tokenizer.from_str(library.to_str())
    cut.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    pad, cls, sep = (cut.token_to_id(token) for token in ("[PAD]", "[CLS]", "[SEP]"))
    cut.post_processor = BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    cut.enable_truncation(max_len, strategy="longest_first")
    cut.enable_padding(length=max_len, pad_id=pad)
    for first, second in [
        ("the plot is dull", None),
        ("the plot", "my sister laughed at the music"),
        ("a b c d e", "x"),
    ]:
        a, b = (None if text is None else library.encode(text).ids for text in (first, second))
        if b is not None and max_len - 3 < len(a) + len(b):
            continue  # whose ties fall where is the library's own affair: see below
        theirs = cut.encode(first, second)
        ours = bert.build_inputs(a, b, max_len, pad, cls, sep)
        assert ours == (theirs.ids, theirs.type_ids, theirs.attention_mask)


def test_the_longer_text_loses_and_b_where_both_are_as_long():
    ids, segments, mask = bert.build_inputs([1, 2, 3, 4, 5], [6, 7, 8], 8)
    assert ids == [101, 1, 2, 3, 102, 6, 7, 102]
    assert segments == [0] * 5 + [1] * 3
    assert mask == [1] * 8
    assert bert.build_inputs([1], [2], 4) == ([101, 1, 102, 102], [0, 0, 0, 1], [1] * 4)
    with pytest.raises(ValueError, match=r"max_len = 2 leaves no room for .* 3 or more"):
        bert.build_inputs([1], [2], 2)


def test_masked_tokens_come_in_their_shares():
    generator = torch.Generator().manual_seed(0)
    special, vocab = [0, 7, 19], 23
    ids = torch.randint(vocab, (100, 3000), generator=generator)
    inputs, labels = bert.mask_tokens(ids, special, vocab, 7, generator)
    chosen, ordinary = labels != -100, ~torch.isin(ids, torch.tensor(special))
    assert not (chosen & ~ordinary).any()
    assert torch.equal(labels[chosen], ids[chosen])
    assert torch.equal(inputs[~chosen], ids[~chosen])
    put = inputs[chosen]
    assert set(put[put != 7].tolist()) == set(range(vocab)) - set(special)
    n, shares = int(chosen.sum()), [0.8, 0.1 * 19 / 20, 0.1 + 0.1 / 20]
    seen = [put == 7, (put != 7) & (put != ids[chosen]), put == ids[chosen]]
    for share, found in zip(shares, seen, strict=True):
        assert abs(float(found.double().mean()) - share) < 6 * (share * (1 - share) / n) ** 0.5
    assert abs(n / int(ordinary.sum()) - 0.15) < 6 * (0.15 * 0.85 / int(ordinary.sum())) ** 0.5


def test_the_loss_equals_the_librarys_and_is_0_where_nothing_is_predicted():
    config = BertConfig(
        vocab_size=17, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=9,
    )  # fmt: skip
    model = BertForPreTraining(config).eval()
    generator = torch.Generator().manual_seed(0)
    ids, following = torch.randint(17, (3, 9), generator=generator), torch.tensor([0, 1, 1])
    labels = ids.masked_fill(torch.rand(3, 9, generator=generator) < 0.6, -100)
    theirs = model(ids, labels=labels, next_sentence_label=following)
    expected = theirs.loss - torch.nn.functional.cross_entropy(theirs.seq_relationship_logits, following)
    torch.testing.assert_close(bert.mlm_loss(theirs.prediction_logits, labels), expected)
    logits = torch.randn(2, 3, 5, requires_grad=True)
    nothing = bert.mlm_loss(logits, torch.full((2, 3), -100))
    nothing.backward()
    assert (nothing.item(), logits.grad.abs().max().item()) == (0, 0)


def test_next_sentences_follow_and_others_come_from_elsewhere():
    documents = [[(i, j) for j in range(n)] for i, n in enumerate([9, 0, 1, 400, 30, 700])]
    pairs = bert.next_sentence_pairs(documents, torch.Generator().manual_seed(0))
    assert [a for a, _, _ in pairs] == [s for sentences in documents for s in sentences[:-1]]
    for a, b, is_next in pairs:
        assert b == (a[0], a[1] + 1) if is_next else b[0] != a[0]
    n_next = sum(is_next for *_, is_next in pairs)
    assert abs(n_next - len(pairs) / 2) < 6 * len(pairs) ** 0.5 / 2
    assert {b[0] for _, b, is_next in pairs if not is_next} == {0, 2, 3, 4, 5}
    with pytest.raises(ValueError, match="two or more"):
        bert.next_sentence_pairs([["a", "b"], []], torch.Generator())
