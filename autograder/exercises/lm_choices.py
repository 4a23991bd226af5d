"""07_language_model: two tasks for one body. The key is in solutions/keys/lm.json."""

from autograder.exercise import exercise

OBJECTIVES = {
    "next token": "say how likely each token is to come next, given those before it",
    "hidden token": "say which token was hidden, given those on both sides",
    "label": "say which of a few classes a whole text belongs to",
    "similarity": "say how alike two texts are",
}
OUTPUTS = {
    "(B, T, V)": "for each token of each text, a number for every token of the vocabulary",
    "(B, V)": "for each text, a number for every token of the vocabulary",
    "(B, T, C)": "for each token of each text, a number for every class",
    "(B, C)": "for each text, a number for every class",
}
DATA = {
    "raw text": "text as it was found, with nothing added",
    "labelled text": "texts, each with a label that somebody gave",
    "text pairs": "texts, each beside its translation",
}


@exercise("lm.objective_or_task", points=2, minutes=6, difficulty=2, kind="choice")
class ObjectiveOrTask:
    """A causal language model is trained first, and its body then serves in a classifier: what differs, what is kept?

    Answer each question by the name of an option. B texts, T tokens each, V tokens in the vocabulary, C classes.
    """

    signature = "objective_or_task() -> dict[str, str], question: option"
    hints = [
        "Think of one training example for each: what goes in, what is the answer, and who had to write it down?",
        "Look at the head of `helpers.models.LanguageModel`, then at the one of `Classifier`: what does each read?",
    ]
    questions = {
        "pretraining objective": ("What does the language model learn to do?", OBJECTIVES),
        "pretraining output": ("Which shape have its logits while it is trained?", OUTPUTS),
        "pretraining data": ("What is the least that it needs?", DATA),
        "task objective": ("What does the sentiment classifier learn to do?", OBJECTIVES),
        "task output": ("Which shape have its logits?", OUTPUTS),
        "task data": ("What does it need?", DATA),
        "name": (
            "What is it called that a body trained on one task starts another one with what it has learned?",
            {"style transfer": "", "transfer learning": "", "distillation": "", "multi-task learning": ""},
        ),
    }
