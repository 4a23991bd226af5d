"""09_bert: what is masked, what it is for, and which model for which task. The key is in solutions/keys/bert.json."""

from autograder.exercise import exercise

TRUTH = {"true": "", "false": ""}
SHAPES = {
    "encoder": "reads a text, each token on both sides, and answers from what it read",
    "encoder-decoder": "reads a text, and writes another one token by token while it looks at the first",
}
MODELS = {
    "BERT": "the model of Devlin et al. 2018",
    "GPT": "the model of Radford et al. 2018",
    "both": "",
    "neither": "",
}
OBJECTIVES = {
    "masked tokens": "an encoder says which tokens were hidden, each on its own",
    "next token": "each token is told from those before it",
    "denoising": "an encoder reads a damaged text, and a decoder writes what is to be put right, token by token",
}


@exercise("bert.true_or_false", points=2, minutes=6, difficulty=2, kind="choice")
class TrueOrFalse:
    """A masked autoencoder hides part of its input and learns to restore it. What exactly is hidden?

    Answer each question by "true" or "false".
    """

    signature = "true_or_false() -> dict[str, str], question: option"
    hints = [
        "Go through `models.BertEmbeddings`: three vectors are added up. Which of them does [MASK] exchange?",
        "Give a Bert two [MASK]s in one text and make all its position embeddings equal: compare the two predictions.",
        "What would you need to know of a gap in a text before you could say what belongs there?",
    ]
    questions = {
        "position": ("To mask a token is to replace its position encoding too: true or false?", TRUTH),
        "one vector": (
            "Before positions are added, all masked tokens of a text are one same vector: true or false?",
            TRUTH,
        ),
        "no positions": (
            "Without positions, BERT would say the same for every [MASK] of a one-segment text: true or false?",
            TRUTH,
        ),
        "attention": ("A [MASK] is hidden from attention, so no other token reads it: true or false?", TRUTH),
        "patches": (
            "In masked autoencoders for pictures (He et al. 2021) the encoder reads a mask token wherever a patch was "
            "hidden: true or false?",
            TRUTH,
        ),
    }


@exercise("bert.labels", points=2, minutes=5, difficulty=1, kind="choice")
class Labels:
    """Somebody wants to pretrain on a shelf of novels; somebody else objects that nobody has labelled them."""

    signature = "labels() -> dict[str, str], question: option"
    hints = [
        "Write down one training example of each objective: what goes in, what is the answer, who wrote it?",
        "For the two counts: run `bert.mask_tokens` on 1,000 ids and count the labels that are not −100.",
    ]
    questions = {
        "who is right": (
            "Who is right?",
            {
                "the first": "novels without labels are good for pretraining",
                "the second": "text without labels is good for nothing here",
                "it depends": "novels serve, but only if their subjects are known",
            },
        ),
        "answers from": (
            "Where do the answers come from that a masked language model is trained on?",
            {
                "the text": "from the tokens that were hidden",
                "people": "from people who filled the gaps",
                "a larger model": "from what a larger model says",
            },
        ),
        "name": (
            "What is that kind of learning called?",
            {"self-supervised": "", "supervised": "", "reinforcement learning": "", "clustering": ""},
        ),
        "sentiment": (
            "Where does a pretrained sentiment classifier still need labels that somebody gave?",
            {"pretraining": "", "fine-tuning": "", "both": "", "nowhere": ""},
        ),
        "masked": (
            "About how many answers does BERT's masking take from 1,000 tokens in one pass?",
            {"15": "", "120": "", "150": "", "1000": ""},
        ),
        "left to right": (
            "And about how many does a left-to-right model take from them?",
            {"one": "", "a seventh of them": "", "all of them": ""},
        ),
    }


@exercise("bert.architectures", points=2, minutes=5, difficulty=1, kind="choice")
class Architectures:
    """Four tasks and two shapes of model: which suits each better, an encoder alone or an encoder with a decoder?"""

    signature = "architectures() -> dict[str, str], question: option"
    hints = ["For each task: what comes out, a label or a number, or a text of a length that nobody knows beforehand?"]
    questions = {
        "summarising": ("To sum an article up in a few sentences of its own?", SHAPES),
        "sentiment": ("To say whether a restaurant's review praises or blames?", SHAPES),
        "search": ("To find the pages that are of use for a query?", SHAPES),
        "translation": ("To put a text into another language?", SHAPES),
        "what decides": (
            "What decides?",
            {
                "new text": "whether a text has to be written, or something is said about texts that are there",
                "length": "how long the input is",
                "languages": "how many languages take part",
                "data": "how many labelled examples there are",
            },
        ),
    }


@exercise("bert.or_gpt", points=2, minutes=6, difficulty=2, kind="choice")
class OrGpt:
    """BERT and GPT are pretrained on text alone, each with its own objectives. Which of them does it?"""

    signature = "or_gpt() -> dict[str, str], question: option"
    hints = [
        "The mask decides: which of the two has one that hides what comes after?",
        "Look at `bert.next_sentence_pairs`: in which order do a and b stand in the document, if the answer is yes?",
    ]
    questions = {
        "hidden": ("Which is trained to say what stood at hidden places, from both sides?", MODELS),
        "next": ("Which is trained to say what comes next, from the past alone?", MODELS),
        "raw text": ("Which needs text that somebody labelled in order to be pretrained?", MODELS),
        "all places": ("Which gets an answer to learn from at every token of its input?", MODELS),
        "writes": ("Which can go on with a text, token by token, just as it was trained?", MODELS),
        "fine-tuned": ("Which hands its body on to other tasks, with a small new head?", MODELS),
        "next sentence": (
            "Texts a and b stand in the input in this order: what does next-sentence prediction ask?",
            {
                "b after a": "whether b comes right after a in a document",
                "a after b": "whether a comes right after b in a document",
                "b from a": "whether b follows from a by logic",
                "either": "whether a and b are neighbours, whichever comes first",
            },
        ),
    }


@exercise("bert.special_tokens", points=2, minutes=6, difficulty=2, kind="choice")
class SpecialTokens:
    """What [CLS] and [SEP] are for, and what else tells two texts in one input apart."""

    signature = "special_tokens() -> dict[str, str], question: option"
    hints = [
        "Look at `bert.build_inputs` with one text and with two, and at where `models.Bert` reads its `next_head`.",
        "Which objective, in pretraining, reads the state at [CLS]? What else could that state have learned to hold?",
    ]
    questions = {
        "[CLS]": (
            "What is read at [CLS] when BERT is fine-tuned to classify?",
            {
                "the whole input": "its last state, as what stands for the whole input",
                "the first word": "the class of the word that stands beside it",
                "its embedding": "its embedding, before any layer",
            },
        ),
        "how": (
            "How does what the other tokens say get there?",
            {
                "attention": "[CLS] attends to them in every layer",
                "average": "their embeddings are averaged into it before the first layer",
                "order": "it comes last, so it has read all others",
            },
        ),
        "before": (
            "What has the state at [CLS] been trained for before any fine-tuning?",
            {
                "next sentence": "to say whether the second text follows the first",
                "any task": "to be a summary that serves every task as it is",
                "nothing": "for nothing: no objective reads it",
            },
        ),
        "[SEP]": (
            "What does [SEP] mark?",
            {
                "ends": "the end of each text in the input",
                "words": "the border between two words",
                "padding": "places that nothing may read",
            },
        ),
        "one text": (
            "How many [SEP] has an input of one text?",
            {"none": "", "one": "", "two": ""},
        ),
        "apart": (
            "What else tells the tokens of the second text from those of the first?",
            {
                "segments": "an embedding of the segment, added to each token",
                "mask": "the attention mask, which hides one text from the other",
                "positions": "positions, which begin anew in the second text",
            },
        ),
    }


@exercise("bert.who_masks", points=2, minutes=6, difficulty=3, kind="choice")
class WhoMasks:
    """BERT has many heirs, and not all of them were pretrained as it was. What was each of these trained to do?"""

    signature = "who_masks() -> dict[str, str], question: option"
    hints = [
        "Has it a decoder? Then something is written token by token, and an encoder's masked tokens are not all of it.",
        "BARThez is named after BART, and CamemBERT after RoBERTa: what were these trained to do?",
    ]
    questions = {
        "BERT": ("BERT (Devlin et al. 2018), next sentences apart?", OBJECTIVES),
        "RoBERTa": ("RoBERTa (Liu et al. 2019)?", OBJECTIVES),
        "CamemBERT": ("CamemBERT, for French (Martin et al. 2019)?", OBJECTIVES),
        "BARThez": ("BARThez, for French (Kamal Eddine et al. 2020)?", OBJECTIVES),
        "T5": ("T5 (Raffel et al. 2019)?", OBJECTIVES),
        "GPT-2": ("GPT-2 (Radford et al. 2019)?", OBJECTIVES),
    }


@exercise("bert.fair_comparison", points=2, minutes=8, difficulty=3, kind="choice")
class FairComparison:
    """Does it help to read both sides? BERT's authors asked by leaving things out, one row of a table for each model.

    Their table 5 (Devlin et al. 2018, section 5.1) has these rows: BERT-base; "No NSP", without next sentences;
    "LTR & No NSP", left to right and without next sentences; and the last one again with a BiLSTM on top. Its numbers
    stand in `helpers.experiments.left_or_both.PAPER`.
    """

    signature = "fair_comparison() -> dict[str, str], question: option"
    hints = [
        "Write down for each row what it reads and which objectives it has: which two rows differ in one thing alone?",
        "A left-to-right model learns from every token: how many answers does the other one get from the same text?",
    ]
    questions = {
        "row": (
            "Which row is to stand beside *LTR & No NSP* if the question is what both sides bring?",
            {"BERT-base": "", "No NSP": "", "+ BiLSTM": ""},
        ),
        "two things": (
            "What changes between *BERT-base* and *LTR & No NSP*?",
            {
                "one side": "the model reads one side alone; nothing else changes",
                "next sentences": "next sentences are left out; nothing else changes",
                "both of them": "it reads one side alone, and next sentences are left out",
            },
        ),
        "largest gap": (
            "With the right two rows, where do both sides bring most?",
            {
                "SST-2": "whether a sentence praises or blames",
                "MNLI-m": "whether one sentence follows from another by logic",
                "SQuAD": "which words of a text answer a question (F1)",
            },
        ),
        "slower": (
            "As many steps on the same text: why may the masked model know less at first?",
            {
                "fewer answers": "it is asked for 15 % of the tokens, the other one for each",
                "more parameters": "it has more parameters to train",
                "harder": "with both sides in view a token is harder to tell",
            },
        ),
    }


@exercise("bert.why", points=5, minutes=25, difficulty=3, kind="written")
class Why:
    """In your own words, two or three sentences for each, with something you ran wherever you can.

    1. A masked autoencoder exchanges a token for [MASK]: what of the token stays, and what would go wrong without it?
    2. Why does pretraining need no labels, and for what are labels needed after all?
    3. For summarising, sentiment, search and translation: an encoder, or an encoder with a decoder, and why?
    4. What are BERT's and GPT's objectives, and what can each do that the other cannot?
    5. What are [CLS] and [SEP] for, and what is the state at [CLS] worth before fine-tuning?
    """

    why = "You have now built both, so these are reports of what you saw and no longer definitions."
    rubric = """One point for each part; half a point where the claim is right and its reason is missing.
1. The position stays: [MASK] exchanges the token's embedding, and position and segment are added as ever. Without it
   all masked places would be the same vector, attention could not tell them apart, and each would get the same
   prediction. Wrong: that the position encoding is replaced too, or that attention may not read the place.
2. The answers are in the text itself: the tokens that were hidden, or that come next. Text is plentiful, so the body is
   trained on it; labels are needed in fine-tuning, few of them, to say what the task is. Not enough: "it is
   unsupervised". Wrong: that text without labels is of no use.
3. Summarising and translation: an encoder and a decoder, since a new text of unknown length is written while the source
   is read. Sentiment and search: an encoder, for something is said of a text that is there (a class; a vector or
   score that queries and pages are compared by). A decoder alone, given the source as a prefix, can do all four:
   right, too, if it is argued. Half a point for three of four.
4. BERT: hidden tokens from both sides, and whether text B follows text A in a document (in this order; not "by logic",
   and not A after B). GPT: the next token from those before. BERT sees both sides and so suits tasks of understanding;
   GPT writes as it was trained, and has an answer to learn from at every token, BERT at 15 % of them.
5. [CLS] stands first, attends to all, and its last state is what a classifier's head reads; [SEP] ends each text, and
   segment embeddings tell the two apart. Before fine-tuning that state was trained for next sentences alone and is no
   summary of the text in general. Half a point without this last part."""
    hints = [
        "Give `models.Bert` equal position embeddings and two [MASK]s, and look at the two predictions.",
        "For each task: what comes out, and who wrote the answers that it is trained on?",
        "Which head reads the state at [CLS] in pretraining?",
    ]
