"""00_start_here: one exercise, to meet the check."""

import torch

from autograder.exercise import exercise, holds, mistake


def double(x):
    return x + x


@exercise("start.double", points=1, minutes=2, difficulty=1)
class Double:
    """Twice the tensor x, of any shape, as a new tensor: x itself stays as it was."""

    signature = "double(x: Tensor) -> Tensor, shaped as x"
    reference = double
    why = "Right: and whatever shape comes in, the same shape goes out, because PyTorch works on each number by itself."
    hints = [
        "Tensors take the same signs as numbers: +, −, *, /.",
        "What do you get from `3 * torch.tensor([1.0, 2.0])`?",
        "`return 2 * x`",
    ]

    def cases(rng):
        return [
            (rng.normal(),),
            (rng.integers(-9, 10, 7),),
            (rng.normal(1, 1),),
            (rng.normal(0, 4),),
            (1e4 * rng.normal(2, 3),),
            (rng.normal(3, 5),),
        ]

    properties = [
        holds(
            "same shape",
            lambda y, x: y.shape == x.shape,
            "Each number is doubled where it stands, so the result has the shape of x.",
        ),
    ]
    mistakes = [
        mistake("squared", lambda x: x * x, "You square x: 3 becomes 9. Twice 3 is 6: write `2 * x`, not `x * x`."),
        mistake("two added", lambda x: x + 2, "You add 2: 5 becomes 7. Twice 5 is 10: multiply by 2."),
        mistake(
            "changed in place",
            lambda x: x.mul_(2),
            "The numbers are right, but x itself was doubled too, and its owner may still need it: "
            "`mul_` and `*=` write into x, `2 * x` makes a new tensor.",
        ),
        mistake(
            "summed up",
            lambda x: 2 * x.sum(),
            "You add all numbers up and double the sum: leave out `.sum()`, and each number is doubled by itself.",
        ),
        mistake(
            "nothing returned",
            lambda x: None,
            "Your function returns nothing. `print` only shows a result: hand it over with `return`.",
        ),
        mistake("unchanged", lambda x: x.clone(), "You give x back as it came: multiply it by 2 on the way."),
        mistake("halved", lambda x: x / 2, "You halve x, you do not double it: multiply by 2 where you divide."),
        mistake(
            "power of two",
            lambda x: 2**x,
            "You raise 2 to the power x: 3 becomes 8. In Python `**` is a power and `*` a product: write `2 * x`.",
        ),
        mistake(
            "twice as long",
            lambda x: torch.cat([x, x]),
            "You put x and x one after the other, twice as many numbers: double each number instead, `x + x`.",
        ),
        mistake(
            "doubled twice",
            lambda x: 4 * x,
            "You double twice, which makes four times x: `x + x` and `2 * x` each do it alone.",
        ),
    ]
