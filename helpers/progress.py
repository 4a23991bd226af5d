"""Watching a training run: a live curve in a notebook, a bar in a terminal, nothing where nobody looks."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Watch = Callable[[int, list], None]
SECONDS = 1.0  # between two drawings


@contextmanager
def watching(title: str, steps: int, show: bool = True) -> Iterator[Watch]:
    """While this lasts, `watch(step, curve)` shows how far a run of `steps` is; the curve holds `training.Point`s."""
    if show and _in_notebook():
        drawn = _Drawn(title)
        yield drawn
        drawn.draw()
    elif show and sys.stderr.isatty():
        with _bar(title, steps) as watch:
            yield watch
    else:
        yield lambda step, curve: None


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return bool(ipython and getattr(ipython.get_ipython(), "kernel", None))


@contextmanager
def _bar(title: str, steps: int) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=steps)
        yield lambda step, curve: bar.update(task, completed=step, description=f"{title}, loss {curve[-1].loss:.3f}")


class _Drawn:
    """A curve that is drawn again in its place, at most once a second."""

    def __init__(self, title: str) -> None:
        self.title, self.curve, self.last, self.handle = title, [], 0.0, None

    def __call__(self, step: int, curve: list) -> None:
        self.curve = list(curve)
        if time.monotonic() - self.last > SECONDS:
            self.draw()
            self.last = time.monotonic()

    def draw(self) -> None:
        from IPython.display import Image, display
        from matplotlib import pyplot

        if not self.curve:
            return
        stream = io.BytesIO()
        figure, alt = curve_figure(self.title, self.curve)
        figure.savefig(stream, format="png")
        pyplot.close(figure)
        image = Image(stream.getvalue(), format="png", alt=alt)
        if self.handle:
            self.handle.update(image)
        else:
            self.handle = display(image, display_id=True)


def curve_figure(title: str, curve: list) -> tuple[Any, str]:
    """Loss against steps, and what was measured beside it; with the alternative text."""
    from matplotlib import pyplot

    from helpers.figures import ORANGE, style

    steps = [point.step for point in curve]
    first, last = curve[0].loss, curve[-1].loss
    finding = f"{title}: loss {first:.2f} → {last:.2f} in {steps[-1]:,} steps"
    measured = [(point.step, point.measured) for point in curve if point.measured is not None]
    with style():
        figure, panels = pyplot.subplots(1, 1 + bool(measured), figsize=(9 if measured else 5.5, 2.8), squeeze=False)
        panels[0, 0].plot(steps, [point.loss for point in curve], marker="." if len(curve) < 30 else "")
        panels[0, 0].set(title=finding, xlabel="step", ylabel="training loss (nats)")
        if measured:
            panels[0, 1].plot(*zip(*measured, strict=True), marker=".", color=ORANGE)
            panels[0, 1].set(title=f"on held-out data: {measured[-1][1]:.4g}", xlabel="step", ylabel="measured")
    return figure, f"{finding}." + (f" On held-out data {measured[-1][1]:.4g} is measured." if measured else "")
