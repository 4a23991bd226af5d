"""The `workbook` command. Each subcommand is one function; what it needs is imported when it is called."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path


class Refusal(Exception):
    """Something that the user can mend; the message is one sentence that says how."""


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; returns its exit code: 0 fine, 1 the work has faults, 2 it could not be done."""
    options = _parser().parse_args(arguments)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    from autograder.grading.controller import Unable

    try:
        return options.run(options)
    except (Refusal, Unable) as refusal:
        print(f"workbook: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("workbook: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workbook", description="The Transformer workbook.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(run: Callable, help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(run.__name__.strip("_"), help=help, description=run.__doc__)
        made.set_defaults(run=run)
        return made

    one = command(_judge, "judge Python files, each defining one exercise")
    one.add_argument("what", nargs="+", metavar="[NAME] FILE", help="an exercise's name, then files; or files alone")
    one.add_argument("--device", default="cpu", help="where answers are computed: cpu (default), cuda, mps or auto")
    one.add_argument("--json", action="store_true", help="one JSON object for each file")
    one.add_argument("--unsafe", action="store_true", help="without isolation, where the system has no namespaces")
    one.add_argument("--seed", type=int, help="draw inputs from this seed instead of a fresh one")
    one.add_argument("--public", action="store_true", help="the inputs that `check` uses in notebooks")
    return parser


def _judge(options: argparse.Namespace) -> int:
    """Judge the object that each FILE defines under the exercise's last name (`causal` for masks.causal).

    Without NAME, what stands before `__` in a file's name is the exercise: masks.causal__mine.py.
    """
    import secrets

    from autograder.exercise import all_exercises, find, seed
    from autograder.grading.controller import Zygote, judge_file
    from helpers import device

    first, *rest = options.what
    named = first in all_exercises() or (rest and not Path(first).exists())
    name, files = (first, rest) if named else (None, options.what)
    if not files:
        raise Refusal(f"no file was named: `workbook judge {first} FILE…`.")
    work = []
    for file in map(Path, files):
        wanted = name or file.name.removesuffix(".py").split("__")[0]
        try:
            exercise = find(wanted)
        except KeyError as error:
            raise Refusal(f"{file}: {error.args[0]} Name it first, or call the file EXERCISE__anything.py.") from None
        if not file.is_file():
            raise Refusal(f"there is no file {file}.")
        if exercise.cases is None:
            raise Refusal(f"{exercise.name} is a written answer: a person reads it, not this command.")
        work.append((file, exercise))
    fresh = options.seed if options.seed is not None else secrets.randbits(50)
    passed = True
    with Zygote(str(device.pick(options.device)), unsafe=options.unsafe) as zygote:
        for file, exercise in work:
            verdict = judge_file(zygote, exercise, file, seed(exercise) if options.public else fresh)
            passed &= verdict.verdict == "right"
            if options.json:
                keep = ("exercise", "score", "points", "verdict", "mistake", "sentence")
                row = {"file": str(file)} | {k: getattr(verdict, k) for k in keep}
                print(json.dumps(row, ensure_ascii=False), flush=True)
            else:
                print(
                    f"{file}: {verdict.verdict}, {verdict.score:g} of {verdict.points}. {verdict.sentence}", flush=True
                )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
