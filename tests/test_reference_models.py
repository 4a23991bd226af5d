"""Whole models of the reference: who can see what, and how many parameters there are."""

import math

import pytest
import torch

from helpers import config, masks
from helpers.counting import count
from helpers.models import Bert, Classifier, LanguageModel, Transformer, pool

B, T, V = 3, 7, 11


def ids(*shape, seed=0, low=1, high=V):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def build(model, *arguments, **options):
    torch.manual_seed(0)
    return model(*arguments, **options).eval()


@pytest.fixture(params=[{}, {"norm_first": True}, {"norm_first": True, "max_len": 9, "tie": True}], ids=str)
def model(request):
    return build(LanguageModel, V, 15, 3, 22, 2, **request.param)


def test_language_models_do_not_see_the_future(model):
    assert not masks.leaks_future(model, V, 9)


def test_gradients_reach_the_past_and_the_token_itself_only(model):
    embedded = {}
    model.positions.register_forward_hook(lambda _, __, x: embedded.update(x=x.requires_grad_()) or x.retain_grad())
    model(ids(1, T))[0, 3].square().sum().backward()
    reached = embedded["x"].grad[0].abs().sum(-1) > 0
    assert reached.tolist() == [True] * 4 + [False] * 3


def test_batch_mates_change_nothing(model):
    batch = ids(B, T)
    torch.testing.assert_close(model(batch)[1:2], model(batch[1:2]))


def test_decoder_does_not_see_the_future():
    model = build(Transformer, V, 13, 15, 3, 22, 2)
    source = ids(1, T)
    assert not masks.leaks_future(lambda target: model(source.expand(len(target), -1), target + 1), 12, 6)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_does_not_read_pads_or_batch_mates(norm_first):
    model = build(Transformer, V, 13, 15, 3, 22, 2, pad_id=5, norm_first=norm_first)
    source, target = ids(1, 4, low=6), ids(1, 3, low=6)
    padded_source = torch.cat([torch.cat([source, torch.full((1, 3), 5)], 1), ids(2, 7, seed=1)])
    padded_target = torch.cat([torch.cat([target, torch.full((1, 2), 5)], 1), ids(2, 5, seed=2)])
    torch.testing.assert_close(model(padded_source, padded_target)[:1, :3], model(source, target))


def test_encoding_once_and_decoding_is_the_whole_model():
    model = build(Transformer, V, 13, 15, 3, 22, 2)
    source, target = ids(B, T), ids(B, 5)
    assert torch.equal(model.decode(target, model.encode(source), source), model(source, target))


def test_classifier_does_not_read_pads_or_batch_mates():
    model = build(Classifier, V, 15, 3, 22, 2, n_classes=4, pad_id=5)
    text = ids(1, 4, low=6)
    batch = torch.cat([torch.cat([text, torch.full((1, 3), 5)], 1), ids(2, 7, seed=1)])
    torch.testing.assert_close(model(batch)[:1], model(text))
    changed = text.clone()
    changed[0, -1] = changed[0, -1] % 4 + 1
    assert not torch.allclose(model(changed), model(text)), "the last real token was not read"


def test_a_text_of_pads_alone_gets_the_heads_bias():
    model = build(Classifier, V, 15, 3, 22, 2, n_classes=4)
    torch.testing.assert_close(model(torch.zeros(1, 3, dtype=torch.long))[0], model.head.bias)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_pool_takes_either_side(dtype):
    hidden = torch.arange(1.0, 301.0, dtype=dtype)[None, :, None].expand(3, 300, 2).clone()
    mask = torch.ones(3, 300, dtype=torch.bool)
    mask[0, 290:], mask[1, :280], mask[2] = False, False, False
    hidden[~mask] = float("inf")
    for how, expected in [("last", [290, 300, 0]), ("first", [1, 281, 0]), ("mean", [145.5, 290.5, 0])]:
        expected = torch.tensor(expected, dtype=dtype)
        torch.testing.assert_close(pool(hidden, mask, how), expected[:, None].expand(3, 2))
    with pytest.raises(ValueError, match="'max'"):
        pool(hidden, mask, "max")


def test_bert_looks_both_ways_but_at_no_pad_or_batch_mate():
    model = build(Bert, V, 15, 3, 22, 2, max_len=9)
    text, segments = ids(1, 4), torch.tensor([[0, 0, 1, 1]])
    batch = torch.cat([torch.cat([text, ids(1, 3, seed=3)], 1), ids(2, 7, seed=1)])
    mates = torch.cat(
        [torch.cat([segments, torch.zeros(1, 3, dtype=torch.long)], 1), torch.ones(2, 7, dtype=torch.long)]
    )
    mask = torch.tensor([[1] * 4 + [0] * 3, [1] * 7, [1] * 7])
    tokens, following = model(batch, mates, mask)
    alone = model(text, segments, torch.ones(1, 4))
    torch.testing.assert_close(tokens[:1, :4], alone[0])
    torch.testing.assert_close(following[:1], alone[1])
    assert masks.leaks_future(lambda x: model(x)[0], V, 5), "BERT should see both ways"


@pytest.mark.parametrize(
    "make", [lambda: Bert(V, 15, 3, 22, 1, max_len=6), lambda: LanguageModel(V, 15, 3, 22, 1, max_len=6)]
)
def test_longer_than_the_learned_positions_is_refused(make):
    with pytest.raises(ValueError, match="7 tokens, but only 6 positions"):
        make()(ids(1, 7))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_models_run_in_other_dtypes(dtype):
    model = build(LanguageModel, *config.tiny.shape).to(dtype)
    exact = build(LanguageModel, *config.tiny.shape)(ids(2, 5))
    assert model(ids(2, 5)).dtype == dtype
    torch.testing.assert_close(model(ids(2, 5)).to(exact.dtype), exact, rtol=0.1, atol=0.1)


def test_parameter_counts_of_the_sources():
    with torch.device("meta"):
        assert count(LanguageModel(*config.seed.shape)) == (1_008_100, 0)
        assert count(Classifier(*config.seed.shape, n_classes=2)) == (988_402, 0)


def test_parameter_count_of_bert_base():
    with torch.device("meta"):
        bert = Bert(*config.bert_base.shape, config.bert_base.max_len)
    assert sum(count(part)[0] for part in (bert.embeddings, bert.encoder, bert.pooler)) == 109_482_240


def test_counting_sees_frozen_and_shared_weights():
    model = LanguageModel(V, 15, 3, 22, 1, max_len=6, tie=True)
    assert sum(count(model)) == sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
    model.encoder.requires_grad_(False)
    trainable, frozen = count(model)
    assert trainable == 11 * 15 + 6 * 15
    assert frozen == 4 * (15 * 15 + 15) + (15 * 22 + 22 + 22 * 15 + 15) + 2 * 30


def test_a_shape_is_frozen_and_builds_a_model():
    with pytest.raises(AttributeError):
        config.tiny.d_model = 3
    tiny = config.tiny
    logits = Transformer(tiny.vocab_size, *tiny.shape)(ids(2, 5), ids(2, 3))
    assert logits.shape == (2, 3, tiny.vocab_size)


def test_untrained_models_are_unsure():
    """Loss at the start ≈ ln V, whether or not the embedding is the head."""
    tokens, shape = ids(3, 17, high=1000), (1000, 128, 4, 256, 2)
    lm, tied, bert = build(LanguageModel, *shape), build(LanguageModel, *shape, tie=True), build(Bert, *shape, 20)
    for logits in (lm(tokens), tied(tokens), bert(tokens)[0]):
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        assert abs(float(loss) - math.log(1000)) < 0.7
