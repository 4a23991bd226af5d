"""05_parameters, concluded: what training costs."""

from autograder.exercise import exercise, holds, mistake
from helpers import cost

POSITIVE = holds(
    "more than nothing",
    lambda found, *given: found > 0,
    "Something is trained here, so the number is positive.",
)
DAY = 86_400


@exercise("cost.training_flops", points=1, minutes=5, difficulty=2, kind="claim")
class TrainingFlops:
    """FLOPs of training n_parameters on n_tokens, by the rule of thumb that counts products with weights alone.

    Two FLOPs for each multiply-add; the way back costs twice the way forward.
    """

    signature = "training_flops(n_parameters: number, n_tokens: number) -> number"
    reference = cost.training_flops
    gradient = False
    dtypes = []
    why = (
        "For the paper's base model that is 1.9e18, against 3.3e18 by its own clock: a clock also counts the time in "
        "which the devices wait, at a rate they do not reach."
    )
    hints = [
        "In a forward pass each weight meets each token in one multiply-add. How many FLOPs is that?",
        "The way back makes two gradients of the same size, for the inputs and for the weights: twice the way forward.",
        "2·N·D forward and 4·N·D back.",
    ]

    def cases(rng):
        return [(1, 1), (7, 5), (63_082_496, 5 * 10**9), (rng.integer(10**6, 10**9), rng.integer(10**9, 10**12))]

    properties = [POSITIVE]
    mistakes = [
        mistake(
            "forward alone",
            lambda n, d: 2 * n * d,
            "You count the way forward: the way back costs twice as much again, 6·N·D in all.",
        ),
        mistake(
            "back alone",
            lambda n, d: 4 * n * d,
            "You count the way back alone, or make it as cheap as the way forward: there are two gradients to "
            "make, for inputs and for weights, so back is 4·N·D and all is 6·N·D.",
        ),
        mistake(
            "multiply-adds",
            lambda n, d: 3 * n * d,
            "You count multiply-adds: each is two FLOPs in this course.",
        ),
        mistake("one each", lambda n, d: n * d, "Each weight meets each token three times, with two FLOPs each time."),
        mistake("tokens left out", lambda n, d: 6 * n, "You cost a single token: multiply by n_tokens."),
        mistake("parameters left out", lambda n, d: 6 * d, "You never use n_parameters: each token meets all of them."),
        mistake(
            "added", lambda n, d: 6 * (n + d), "You add the two: each token meets each parameter, so they multiply."
        ),
        mistake(
            "checkpointing",
            lambda n, d: 8 * n * d,
            "You go forward twice, as one does to save memory: plain training goes forward once, 6·N·D.",
        ),
        mistake(
            "twelve",
            lambda n, d: 12 * n * d,
            "Your factor counts each multiply-add as four FLOPs: it is two, so 2·N·D forward and 4·N·D back.",
        ),
        mistake(
            "quadratic in tokens",
            lambda n, d: 6 * n * d * d,
            "You let each token meet every other: the rule counts products with weights, linear in tokens.",
        ),
    ]


@exercise("cost.days", points=1, minutes=5, difficulty=2, kind="claim")
class Days:
    """Days that n_devices take for so many FLOPs, at a fraction `utilisation` of their peak flops_per_second each."""

    signature = (
        "days(flops: number, n_devices: number, flops_per_second: number, utilisation: number in (0, 1]) -> number"
    )
    reference = cost.days
    gradient = False
    dtypes = []
    why = (
        "Half a day on the paper's eight P100s; put your own device's measured rate in to see how long you would wait."
    )
    hints = [
        "First the rate: how many FLOPs do all devices do in a second, as used?",
        "FLOPs over FLOPs per second are seconds.",
        "A day has 24 · 60 · 60 seconds.",
    ]

    def cases(rng):
        return [
            (86_400.0, 1, 1.0, 1.0),
            (3.2832e18, 8, 9.5e12, 1.0),
            (1.9e18, 3, 9.5e12, 0.35),
            (rng.integer(10, 99) * 1e17, rng.integer(2, 7), rng.integer(3, 99) * 1e12, rng.integer(20, 60) / 100),
        ]

    properties = [POSITIVE]
    mistakes = [
        mistake("seconds", lambda f, n, r, u: f / (n * r * u), "Those are seconds: a day has 86,400 of them."),
        mistake("minutes", lambda f, n, r, u: f / (n * r * u) / 60, "Those are minutes: divide by 60 · 24 more."),
        mistake("hours", lambda f, n, r, u: f / (n * r * u) / 3600, "Those are hours: divide by 24 more."),
        mistake(
            "utilisation left out",
            lambda f, n, r, u: f / (n * r) / DAY,
            "You take the peak rate: multiply it by the utilisation, the part of it that is really reached.",
        ),
        mistake(
            "utilisation the wrong way",
            lambda f, n, r, u: f * u / (n * r) / DAY,
            "Your training gets faster as the utilisation falls: it belongs to the rate, below the line.",
        ),
        mistake(
            "idle part",
            lambda f, n, r, u: f / (n * r) * (2 - u) / DAY,
            "You add the idle part of the time at peak rate: at a fraction u of the rate all takes 1/u times as long.",
        ),
        mistake(
            "percent",
            lambda f, n, r, u: f / (n * r * u / 100) / DAY,
            "You take the utilisation for percent: it is a fraction, 0.35 and not 35.",
        ),
        mistake(
            "one device",
            lambda f, n, r, u: f / (r * u) / DAY,
            "You leave n_devices out: they share the work.",
        ),
        mistake(
            "device-days",
            lambda f, n, r, u: f * n / (r * u) / DAY,
            "More devices take longer with you: they share the work, so n_devices is below the line.",
        ),
        mistake(
            "the rate",
            lambda f, n, r, u: n * r * u * DAY,
            "Those are the FLOPs of one day: how many such days does the training take?",
        ),
        mistake(
            "days per FLOP turned over",
            lambda f, n, r, u: n * r * u * DAY / f,
            "You have the fraction upside down: FLOPs over the FLOPs of one day.",
        ),
        mistake(
            "twelve-hour days",
            lambda f, n, r, u: f / (n * r * u) / DAY * 2,
            "Your days have twelve hours: devices do not sleep, so 24.",
        ),
        mistake(
            "whole days",
            lambda f, n, r, u: f // (n * r * u * DAY),
            "You cut to whole days: half a day is 0.5, so divide with `/`.",
        ),
    ]
