"""translation.train: a translator of the learner's own, handed over as weights and measured against a dictionary."""

from __future__ import annotations

import math

from torch import Tensor, nn

from autograder.exercise import Draws, exercise
from autograder.weights import Found, Slip, Weights
from helpers import translation, translator
from helpers.experiments import small_translator
from helpers.text import grammar
from helpers.text.translation import PAD, source_ids, target_ids

N_SENTENCES = 200  # held-out sentences that are translated: half a second on one thread
TIMES = 2  # how much better than the dictionary: chance moves BLEU on so many sentences by two or three points

Pair = tuple[str, str]


def held_out(rng: Draws) -> tuple[list[Pair]]:
    """English–French pairs with verbs and objects that no training pair has together, drawn anew: whoever learned the
    notebook's test by heart does not know them.
    """
    return (grammar.more_tests(N_SENTENCES, small_translator.settings.seed, rng.integer(0, 2**48)),)


def _bleu(said: list[str], pairs: list[Pair]) -> float:
    return translator.bleu(said, [[french] for _, french in pairs])


def bleu(model: nn.Module, pairs: list[Pair]) -> float:
    return _bleu(translator.translate(model, small_translator.tokenizer(), [english for english, _ in pairs]), pairs)


def word_by_word(pairs: list[Pair]) -> float:
    return _bleu(small_translator.word_by_word([english for english, _ in pairs]), pairs)


def told(found: Found) -> str:
    return (
        f"BLEU {found.yours:.1f} on {N_SENTENCES} held-out sentences, translated greedily; "
        f"a dictionary, counted in the training pairs and used word by word, has {found.baseline:.1f}."
    )


def _some() -> tuple[Tensor, Tensor]:
    """A few held-out pairs as ids (B, S) and (B, T)."""
    pairs = small_translator.some_pairs().test[:20]
    tokens = small_translator.tokenizer()
    return source_ids(tokens, [english for english, _ in pairs]), target_ids(tokens, [french for _, french in pairs])


def _nats(model: nn.Module, unshifted: bool = False) -> float:
    """Mean loss on those few, reading what it should, or the very tokens that it is to say."""
    source, target = _some()
    read, said = target[:, :-1], target[:, 1:]  # (B, T − 1) each
    return translation.loss(model(source, said if unshifted else read), said, PAD).item()


def not_trained(found: Found) -> bool:
    """Whether it is no less surprised than one that holds all tokens for equally likely."""
    return found.yours < 1 and _nats(found.model) > math.log(small_translator.settings.vocab_size) - 0.5


def copies(found: Found) -> bool:
    """Whether it is good at saying what it reads, which no model is that was trained to say what is next."""
    return _nats(found.model, unshifted=True) < 0.1 < _nats(found.model)


def deaf(found: Found) -> bool:
    """Whether it says the same whatever the source is."""
    source, target = _some()
    a, b = found.model(source, target), found.model(source.roll(1, 0), target)  # (B, T, V) each
    return bool((a - b).abs().max() < 1e-3 * a.abs().max())


@exercise("translation.train", points=4, minutes=25, difficulty=3, kind="training")
class Train:
    """Train a small translator until its greedy translations of held-out sentences reach at least twice the BLEU of a
    dictionary used word by word, and hand over its weights. What counts is the file `translation.train.safetensors`
    beside the notebook: the grader puts it into a model of its own, and asks for verbs with objects that no training
    pair has together.
    """

    signature = "def train(model: nn.Module, source: Tensor, target: Tensor) -> nn.Module"
    hints = (
        "Batches of pairs, a step, again. What the decoder reads and what it is to say differ by one place. Watch the "
        "loss, and what the model says of held-out sentences.",
        "`batches_at(source, target, batch_size, seed)` gives shifted batches by step and `training.train` runs the "
        "loop; a learning rate of 4e-3 with 80 steps of warm-up suits a model this small.",
        "`training.train(model, batches_at(source, target, 32), small_translator.settings.plan)`, then `return model`.",
    )
    why = "Your model puts words in French order and makes them agree, in combinations that it never saw."
    weights = Weights(
        file="translation.train.safetensors",
        build=small_translator.model,
        data=held_out,
        score=bleu,
        baseline=word_by_word,
        enough=lambda found: found.yours >= TIMES * found.baseline,
        told=told,
        advice="Twice the dictionary's BLEU is asked for: train for more steps, or look whether the loss still falls.",
        slips=(
            Slip(
                "unshifted targets",
                copies,
                lambda found: (
                    "Your model says each token that it has just read: in training the decoder was given the very "
                    "tokens that it was to predict. It reads BOS and all but the last, and says all but BOS."
                ),
            ),
            Slip(
                "not trained",
                not_trained,
                lambda found: (
                    f"These weights know nothing yet: they are as surprised as by guessing among "
                    f"{small_translator.settings.vocab_size} tokens at random. Hand in the model that was trained, "
                    "after its training, not a new one like it."
                ),
            ),
            Slip(
                "the source unheard",
                deaf,
                lambda found: (
                    "Your model says the same whatever the English sentence is. Are pairs still pairs after "
                    "shuffling, and does the gradient reach the encoder?"
                ),
            ),
        ),
    )
