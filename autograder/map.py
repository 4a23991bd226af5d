"""The map: the questions that the course began with, what answers each, and what the learner reached there.

They come from five sheets of questions on Transformers, A to E, and stand here in our own words.
"""

from __future__ import annotations

from html import escape

from autograder.exercise import find
from autograder.notebook import recorded

ANSWERED: dict[str, tuple[str, ...]] = {
    "A1": ("attention.roles", "attention.attend"),
    "A2": ("complexity.table", "complexity.attention_flops", "complexity.crossover", "complexity.when"),
    "A3": ("attention.head_flops", "attention.MultiHeadAttention", "attention.why"),
    "A4": ("positions.sinusoidal", "positions.shift_proof", "positions.shift_matrix"),
    "A5": ("masks.causal", "masks.what_becomes_zero", "masks.needed_when_decoding"),
    "A6": ("parameters.paper", "cost.training_flops", "cost.days"),
    "A7": ("translation.diagnose", "translation.train"),
    "A8": ("bert.wordpiece", "bert.build_inputs", "bert.Embeddings", "positions.LearnedPositions"),
    "B1.1": ("masks.causal", "masks.leaks_future", "masks.why"),
    "B1.2": ("positions.sinusoidal", "positions.similarity"),
    "B2.1": ("lm.objective_or_task", "lm.LanguageModel"),
    "B2.2": ("finetune.swap_head", "lm.objective_or_task"),
    "B3.1": ("parameters.language_model", "parameters.audit"),
    "B3.2": ("parameters.classifier", "finetune.freeze"),
    "B4": ("finetune.compare", "finetune.read_the_figure"),
    "B5": ("bert.mask_tokens", "bert.left_or_both", "bert.fair_comparison", "bert.who_masks"),
    "C1.1": ("masks.causal", "masks.why"),
    "C1.2": ("positions.sinusoidal", "positions.order_matters"),
    "C2.1": ("finetune.swap_head", "finetune.load_body", "lm.objective_or_task"),
    "C2.2.1": ("lm.objective_or_task", "lm.loss"),
    "C2.2.2": ("lm.objective_or_task", "lm.LanguageModel"),
    "C2.2.3": ("lm.objective_or_task", "lm.batches"),
    "C3": ("parameters.language_model", "parameters.classifier", "parameters.count"),
    "C4": ("finetune.compare", "finetune.read_the_figure", "finetune.evaluate"),
    "C5": ("bert.mask_tokens", "bert.left_or_both", "bert.fair_comparison", "masks.why"),
    "D1": ("attention.scores", "attention.score_std", "attention.why"),
    "D2": ("positions.equivariance_gap", "positions.equivariance_proof", "positions.order_matters"),
    "D3": ("attention.roles", "attention.why"),
    "D4": ("attention.additive_scores", "attention.dot_cost", "attention.additive_cost"),
    "D5": ("bert.or_gpt", "bert.next_sentence_pairs", "bert.mask_tokens", "bert.why"),
    "D6": ("bert.special_tokens", "bert.build_inputs", "bert.why"),
    "E-a": ("positions.equivariance_gap", "positions.order_matters"),
    "E-b": ("positions.add_or_concat",),
    "E-c-i": ("positions.bias_from_concat", "positions.relative_bias"),
    "E-c-ii": ("positions.extra_parameters",),
    "E-d": ("attention.two_patterns", "attention.why"),
    "E-e": ("attention.receptive_field",),
    "E-f": ("complexity.encoder_decoder",),
    "E-g": ("bert.true_or_false", "bert.why"),
    "E-h": ("bert.labels", "bert.why"),
    "E-i": ("bert.architectures", "bert.why"),
}

ASKED: dict[str, str] = {
    "A1": "Who asks and who answers in self-attention and in cross-attention?",
    "A2": "What do attention, recurrence and convolution cost, and how far apart are two tokens in each?",
    "A3": "What do several heads bring, and do they save anything?",
    "A4": "Why sines and cosines for positions?",
    "A5": "What does a causal mask do, and when is it needed?",
    "A6": "How large are the paper's models, and what does it take to train one?",
    "A7": "A translator says the same word over and over: what is wrong with it?",
    "A8": "What is fed to BERT, and how does it come about?",
    "B1.1": "What is the square mask for?",
    "B1.2": "What is added to tokens to say where they stand, in numbers?",
    "B2.1": "What is a language model asked, and by which loss?",
    "B2.2": "What changes if the same body is to classify?",
    "B3.1": "How many parameters has the language model, layer by layer?",
    "B3.2": "And how many the classifier?",
    "B4": "Pretrained against from scratch: what do the curves say?",
    "B5": "Masked or left to right: what differs, and which is better?",
    "C1.1": "Why may a token not see what comes after it?",
    "C1.2": "Why must a Transformer be told the order of words?",
    "C2.1": "What goes over from one task to the other, and what is that called?",
    "C2.2.1": "Language model and classifier: which objective has each?",
    "C2.2.2": "Which output has each?",
    "C2.2.3": "And which data?",
    "C3": "How many parameters have both, and what is shared?",
    "C4": "How good is each in the end, how fast, and measured by what?",
    "C5": "What is masked in BERT, and what does it see that a causal model does not?",
    "D1": "Why are scores divided, and by what?",
    "D2": "What would attention do without positions, and why?",
    "D3": "What can attention reach that a convolution cannot?",
    "D4": "Additive or dot-product attention: what is the difference?",
    "D5": "What are BERT and GPT each trained to do?",
    "D6": "What are [CLS] and [SEP] for?",
    "E-a": "When does the order of words matter?",
    "E-b": "Positions added or put beside: what becomes of the dot product?",
    "E-c-i": "Which bias does the same as positions put beside?",
    "E-c-ii": "How many numbers does a relative bias cost?",
    "E-d": "What may different heads find?",
    "E-e": "How far does a node see with one head, two heads, k heads?",
    "E-f": "What do the three attentions of a translator cost?",
    "E-g": "Does masking replace the position, too?",
    "E-h": "Is text without labels of use?",
    "E-i": "Summarising, sentiment, search, translation: which shape of model for each?",
}


class Map:
    """A row for each question: its exercises, each with the learner's own result; its plain text is the same table."""

    def __init__(self) -> None:
        found = recorded()
        self.rows = [
            (question, ASKED[question], [(name, reached(name, found)) for name in names])
            for question, names in ANSWERED.items()
        ]

    def __repr__(self) -> str:
        return "\n".join(
            f"{question:7} {asked}\n        {', '.join(f'{name} ({result})' for name, result in exercises)}"
            for question, asked, exercises in self.rows
        )

    def _repr_html_(self) -> str:
        left = "style='text-align:left;vertical-align:top'"
        lines = "".join(
            f"<tr style='background:none'><td {left}>{question}</td><td {left}>{escape(asked)}</td><td {left}>"
            + "<br>".join(f"<code>{name}</code> {result}".replace(" ", "&nbsp;") for name, result in exercises)
            + "</td></tr>"
            for question, asked, exercises in self.rows
        )
        head = "".join(f"<th {left}>{name}</th>" for name in ("", "Question", "Answered in, and your points"))
        return f"<table style='border:none'><tr>{head}</tr>{lines}</table>"


def reached(name: str, found: dict[str, dict]) -> str:
    """A learner's result in one exercise, in a word or two."""
    exercise = find(name)
    if name in found and found[name].get("verdict") == "recorded":
        return "answered"
    if name in found:
        return f"{float(found[name].get('score', 0)):g} of {exercise.points}"
    return "read by people" if exercise.kind == "written" else "–"


def the_map() -> Map:
    """Every question that the course began with, where it is answered, and your own result there."""
    return Map()
