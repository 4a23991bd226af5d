"""The `workbook` command. Each subcommand is one function; what it needs is imported when it is called."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from autograder.refusal import Refusal


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; returns its exit code: 0 fine, 1 the work has faults, 2 it could not be done.

    Without arguments those of this process are taken, which then ends: torch would take a second to leave.
    """
    code = _run(arguments)
    if arguments is None:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return code


def _run(arguments: list[str] | None) -> int:
    parser = _parser()
    options, options.more = parser.parse_known_args(arguments)
    if options.more and options.run is not _lab:
        parser.error(f"unrecognized arguments: {' '.join(options.more)}")
    try:
        return options.run(options)
    except Refusal as refusal:
        print(f"workbook: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("workbook: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence rather than the usage."""
        self.exit(2, f"workbook: {message}: `{self.prog} --help` says how it is used.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="workbook", description="The Transformer workbook.")
    parser.set_defaults(run=lambda options: parser.print_help() or 2)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(run: Callable, help: str, *, grading: bool = False) -> argparse.ArgumentParser:
        made = commands.add_parser(run.__name__.strip("_"), help=help, description=run.__doc__)
        made.set_defaults(run=run)
        if grading:
            made.add_argument("--device", default="cpu", help="where answers are computed: cpu (default), cuda or mps")
            made.add_argument("--unsafe", action="store_true", help="without isolation, where there are no namespaces")
            made.add_argument("--json", action="store_true", help="results as JSON, for a program")
        return made

    command(_lab, "open JupyterLab at the first notebook")
    one = command(_check, "run your notebooks as a grader would", grading=True)
    one.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK", help="by default all in notebooks/")
    one = command(_submit, "pack your notebooks for handing in")
    one.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK", help="by default all in notebooks/")
    one.add_argument("--out", type=Path, default=Path("submission.zip"), help="the zip to write")
    one = command(_judge, "judge Python files, each defining one exercise", grading=True)
    one.add_argument("what", nargs="+", metavar="[NAME] FILE", help="an exercise's name, then files; or files alone")
    one.add_argument("--seed", type=int, help="draw inputs from this seed instead of a fresh one")
    one.add_argument("--public", action="store_true", help="the inputs that `check` uses in notebooks")
    one = command(_grade, "grade a folder of submissions", grading=True)
    one.add_argument("submissions", type=Path, help="holds <student>/<notebook>.ipynb, or zips")
    one.add_argument("--out", type=Path, default=Path("course"), help="the course folder (default: course)")
    one.add_argument("--jobs", type=int, help="processes side by side (default: one for each core)")
    one.add_argument("--regrade", action="append", default=[], metavar="EXERCISE", help="judge this one anew")
    one = command(_demo, "grade a made-up cohort, to see how it works", grading=True)
    one.add_argument("--out", type=Path, default=Path("demo"), help="where to (default: demo)")
    one = command(_data, "get a corpus that is too big to ship")
    one.add_argument("corpus", choices=["tatoeba"], help="tatoeba: 167,000 English–French sentence pairs")
    one.add_argument("--from", dest="source", type=Path, metavar="FILE", help="a copy that you have, for no network")
    one = command(_release, "write the students' bundle")
    one.add_argument("out", type=Path, help="a folder that is not there yet")
    one = command(_build, "derive the notebooks from their sources")
    one.add_argument("names", nargs="*", help="by default all")
    one.add_argument("--check", action="store_true", help="only say whether they are what the sources give")
    return parser


def _device(options: argparse.Namespace) -> str:
    """The device asked for; one that is known and missing here is the CPU, which is said (where it disturbs no JSON).

    Raises Refusal for one that nobody has heard of, or that the course does not use.
    """
    if options.device == "cpu":
        return "cpu"
    from helpers import device

    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", options.device):
        raise Refusal(f"there is no device {options.device!r}: {_there()}.")
    with contextlib.redirect_stdout(sys.stderr):
        return str(device.pick(options.device))


def _there() -> str:
    """The devices of this machine, in words."""
    import torch

    there = ["cpu"]
    if torch.cuda.is_available():
        there += [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        there.append("mps")
    return f"--device takes {', '.join(there[:-1])} or {there[-1]} here" if there[1:] else "there is only cpu here"


def _lab(options: argparse.Namespace) -> int:
    """Open JupyterLab at the first notebook. JupyterLab's own options may follow, such as --no-browser."""
    import subprocess

    start = Path("notebooks/00_start_here.ipynb")
    if not start.exists():
        raise Refusal(f"there is no {start} here: go to the workbook's folder first.")
    if os.geteuid() == 0 and "--allow-root" not in options.more:
        raise Refusal("JupyterLab does not run as root unless you insist: `workbook lab --allow-root` does.")
    settings = [f"--ServerApp.root_dir={Path.cwd()}", "--LabApp.news_url=None"]  # its terminals start here; no pop-up
    command = [sys.executable, "-m", "jupyterlab", str(start), *settings, *options.more]
    ours = str(Path(sys.executable).parent)  # so that its terminals know `workbook`
    return subprocess.call(command, env=os.environ | {"PATH": os.pathsep.join([ours, os.environ.get("PATH", "")])})


def _notebooks(options: argparse.Namespace) -> list[Path]:
    named = options.notebooks or [Path("notebooks")]
    if not options.notebooks and not named[0].is_dir():
        raise Refusal("there is no folder notebooks here: name your notebook, or go to the workbook's folder.")
    found = [file for path in named for file in (sorted(path.glob("*.ipynb")) if path.is_dir() else [path])]
    missing = [path for path in found if not path.is_file()]
    if missing or not found:
        where = missing[0] if missing else f"notebook in {named[0]}"
        raise Refusal(f"there is no {where}: name your notebook, or go to the workbook's folder.")
    return found


def _check(options: argparse.Namespace) -> int:
    """Run notebooks from top to bottom in a fresh process, as a grader would, on the public inputs.

    Your own work on your own machine: where the system cannot isolate it, it runs all the same.
    """
    from autograder.grading import sandbox
    from autograder.grading.launch import Launched

    paths, device = _notebooks(options), _device(options)
    with Launched(device) as launched:
        from autograder.grading import cohort, grade
        from autograder.grading.controller import Zygote
        from autograder.grading.handed import Handed, beside, named

        copies = grade.instructors(grade.released())
        results = []
        with Zygote(device, unsafe=options.unsafe or bool(sandbox.possible()), launched=launched) as zygote:
            for path in paths:
                one = named(Handed("you", "", str(path), weights=beside(path, "you")), copies)
                results.append(cohort.grade_one(zygote, one, copies.get(one.notebook), None, device))
    if options.json:
        print(json.dumps([_plainly(graded) for graded in results], ensure_ascii=False))
    else:
        _tell(results)
    fine = all(
        not graded.problem and all(m.verdict in ("right", "recorded") for m in graded.marks) for graded in results
    )
    return 0 if fine else 1


def _tell(results: list) -> None:
    for graded in results:
        total = sum(mark.points for mark in graded.marks)
        points = "point" if total == 1 else "points"
        print(f"{graded.notebook}: {graded.problem or f'{graded.score:g} of {total} {points}'}")
        for mark in graded.marks:
            print(f"  {mark.exercise:<34} {mark.verdict:<14} {mark.score:g} of {mark.points}")
            told = [mark.sentence] if mark.verdict not in ("right", "not attempted") else []
            for words in filter(None, [*told, mark.detail]):
                print(f"      {words}")
        for repair in graded.repairs:
            print(f"  note: {repair}")
        if graded.by_hand:
            are = "point is" if graded.by_hand == 1 else "points are"
            print(f"  {graded.by_hand} {are} marked by your instructor")


def _plainly(graded: Any) -> dict:
    marks = [{k: v for k, v in vars(m).items() if k not in ("card", "fingerprint")} for m in graded.marks]
    keep = ("student", "notebook", "path", "problem", "repairs", "copies", "score", "by_hand")
    return {k: getattr(graded, k) for k in keep} | {"marks": marks}


def _submit(options: argparse.Namespace) -> int:
    """Pack notebooks, and the weights beside them, into one zip, which is what you hand in."""
    import zipfile

    from autograder import bundle

    paths = _notebooks(options)
    for path, exercises in bundle.submit(paths, options.out).items():
        if exercises:
            print(f"Not attempted in {path}: {', '.join(exercises)}.")
    with zipfile.ZipFile(options.out) as archive:
        print(f"Packed {', '.join(archive.namelist())} into {options.out}: hand in that file.")
    print("`workbook check` says what each answer is worth.")
    return 0


def _release(options: argparse.Namespace) -> int:
    """Write the students' bundle: notebooks, helpers and the grader, without solutions, tests and keys."""
    from autograder import bundle

    out = bundle.release(options.out)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"The students' bundle, {size / 1e6:.0f} MB, is in {out}.")
    return 0


def _data(options: argparse.Namespace) -> int:
    """Get a corpus, say under which licence it comes, and keep it in your cache folder, never in the project."""
    from helpers.text import tatoeba

    try:
        print("\n".join(tatoeba.install(options.source)))
    except (OSError, ValueError) as error:
        raise Refusal(str(error)) from None
    return 0


def _build(options: argparse.Namespace) -> int:
    """Derive solution and student notebooks from solutions/*.py and run the solutions."""
    from autograder import notebooks

    return notebooks.build(options.names, options.check)


def _grade(options: argparse.Namespace) -> int:
    """Grade SUBMISSIONS, isolated, and fill nbgrader's gradebook, rebuilt notebooks and a feedback page for each."""
    from autograder.grading.launch import Launched, side_by_side

    device = _device(options)
    with Launched(device, side_by_side(options.jobs)) as launched:
        from autograder.exercise import find
        from autograder.grading.grade import Settings

        for name in options.regrade:
            try:
                find(name)
            except KeyError as error:
                raise Refusal(error.args[0]) from None
        again = frozenset(options.regrade)
        settings = Settings(options.out, device, options.unsafe, options.jobs, again)
        return _cohort(options.submissions, settings, options, launched)


def _cohort(folder: Path, settings: Any, options: argparse.Namespace, launched: Any) -> int:
    from rich.console import Console

    from autograder.grading import grade

    console = Console(stderr=options.json)
    graded = grade.grade(folder, settings, console, launched)
    if options.json:
        print(json.dumps([_plainly(one) for one in graded], ensure_ascii=False))
        return 0
    console.print(grade.table(graded))
    lab = f"cd {shlex.quote(str(settings.out))} && {shlex.quote(str(Path(sys.executable).parent / 'jupyter'))} lab"
    for line in (
        f"Feedback pages: {settings.out / 'feedback'}/<student>/<notebook>/<notebook>.html",
        f"Gradebook: {settings.out / 'gradebook.db'}; its formgrader: {lab}",
    ):
        console.print(line, highlight=False, soft_wrap=True)  # can be copied
    return 0


def _demo(options: argparse.Namespace) -> int:
    """Make a cohort from right answers, mistakes, cheats and broken files, grade it, and say where the reports are."""
    import shutil

    from autograder.grading.launch import Launched, side_by_side

    if options.out.exists() and not (options.out / ".demo").exists():
        raise Refusal(f"{options.out} is there and is no demo: name another folder with --out.")
    device = _device(options)
    with Launched(device, side_by_side()) as launched:
        from autograder import demo
        from autograder.grading import grade
        from autograder.grading.controller import Limits

        if not (grade.ROOT / "solutions").is_dir():
            raise Refusal("the made-up class needs the solutions, which students do not have: run it in a clone.")
        copies = grade.instructors(grade.ROOT / "notebooks")
        solved = grade.instructors(grade.ROOT / "solutions")
        folder = options.out / "submissions"
        shutil.rmtree(options.out, ignore_errors=True)
        demo.make(folder, copies, solved)
        (options.out / ".demo").touch()
        limits = Limits(cell_seconds=5, ask_seconds=5)
        settings = grade.Settings(options.out / "course", device, options.unsafe, limits=limits)
        return _cohort(folder, settings, options, launched)


def _judge(options: argparse.Namespace) -> int:
    """Judge the object that each FILE defines under the exercise's last name (`causal` for masks.causal).

    Without NAME, what stands before `__` in a file's name is the exercise: masks.causal__mine.py.
    """
    from autograder.grading.launch import Launched

    device = _device(options)
    with Launched(device) as launched:
        return _judge_files(options, device, launched)


def _judge_files(options: argparse.Namespace, device: str, launched: Any) -> int:
    import secrets

    from autograder import trained
    from autograder.exercise import all_exercises, find, seed
    from autograder.grading.controller import Zygote, judge_file

    first, *rest = options.what
    named = first in all_exercises() or (rest and not Path(first).exists())
    name, files = (first, rest) if named else (None, options.what)
    if not files:
        raise Refusal(f"no file was named: `workbook judge {first} FILE…`.")
    work = []
    for file in map(Path, files):
        wanted = name or file.name.removesuffix(".py").removesuffix(".safetensors").split("__")[0]
        try:
            exercise = find(wanted)
        except KeyError as error:
            raise Refusal(f"{file}: {error.args[0]} Name it first, or call the file EXERCISE__anything.py.") from None
        if not file.is_file():
            raise Refusal(f"{file} is a folder or no file." if os.path.lexists(file) else f"there is no file {file}.")
        if exercise.weights and file.suffix in (".py", ".ipynb"):
            raise Refusal(
                f"{file} is code, and {exercise.name} is judged by weights: train the model, write its file with "
                f"{exercise.weights.how}, and name that."
            )
        if exercise.kind == "written":
            raise Refusal(f"{exercise.name} is a written answer: a person reads it, not this command.")
        work.append((file, exercise))
    fresh = options.seed if options.seed is not None else secrets.randbits(50)
    passed = True
    with Zygote(device, unsafe=options.unsafe, launched=launched) as zygote:
        for file, exercise in work:
            drawn = seed(exercise) if options.public else fresh
            weighed = trained.judge_file(exercise, file, drawn) if exercise.weights else None
            verdict = weighed or judge_file(zygote, exercise, file, drawn)
            passed &= verdict.verdict == "right"
            if options.json:
                keep = ("exercise", "score", "points", "verdict", "mistake", "sentence")
                row = {"file": str(file)} | {k: getattr(verdict, k) for k in keep}
                print(json.dumps(row, ensure_ascii=False), flush=True)
            else:
                words = f"{verdict.sentence} {verdict.detail if weighed else ''}".strip()
                print(f"{file}: {verdict.verdict}, {verdict.score:g} of {verdict.points}. {words}", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
