"""The key of translation.diagnose is what experiments find, and a wrong answer is told how one would have seen it."""

from autograder.ask import ask
from autograder.exercise import cases, find
from autograder.exercises.translation_diagnose import DIGESTS, EXPERIMENTS, key
from autograder.judge import judge
from helpers import suspects
from helpers.experiments.translate import grammar_corpus


def said_of(answer):
    exercise = find("translation.diagnose")
    asked = cases(exercise, 1)
    return judge(exercise, asked, [ask(lambda: answer, exercise.ask, case) for case in asked]).sentence


def test_each_fault_is_one_models_and_the_shipped_models_behave_so():
    assert sorted(key().values()) == sorted(suspects.FAULTS)
    assert suspects.names() in ([], sorted(DIGESTS))  # none are shipped until they are trained
    held_out = grammar_corpus(300, 60).test if suspects.names() else []
    pairs = [(english, french[0]) for english, french in held_out]
    for name in suspects.names():
        model, tokenizer, _ = suspects.load(name)
        assert suspects.examine(model, tokenizer, pairs)[key()[name]] > 0.5


def test_whoever_names_a_wrong_fault_is_told_of_that_faults_experiment_alone():
    right = key()
    for name in DIGESTS:
        for fault in set(suspects.FAULTS) - {right[name]}:
            sentence = said_of(right | {name: fault})
            assert EXPERIMENTS[fault] in sentence
            assert right[name] not in sentence  # nobody is told the answer
            assert set(sentence.replace("`", " ").split()) & set(DIGESTS) == {name}
