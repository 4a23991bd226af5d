"""Figures that read well on white and on black, without red against green, and aloud.

`with style(): …` draws on a transparent ground in greys and Okabe and Ito's colours; `show(figure, alt)` shows it once,
with its alternative text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#808080"
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW)


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib settings of the whole course, while this lasts."""
    import matplotlib
    from cycler import cycler

    settings = {
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "font.size": 10,
        "lines.linewidth": 2,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
        "figure.dpi": 110,
    }
    grey = ("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with matplotlib.rc_context(settings | dict.fromkeys(grey, GREY)):
        yield


def show(figure: Figure, alt: str) -> None:
    """Show a figure once, as a picture with alternative text, and close it. `alt` says what there is to see.

    JupyterLab gives the alternative text to nobody, so it unfolds below the picture as well.
    """
    from IPython.display import HTML, Image, display
    from matplotlib import pyplot

    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    pyplot.close(figure)
    display(Image(stream.getvalue(), format="png", alt=alt))
    display(HTML(f"<details><summary style='opacity:.7'>This figure in words</summary>{escape(alt)}</details>"))
