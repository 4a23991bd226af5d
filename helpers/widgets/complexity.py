"""The cost explorer: set n, d and k, see what four layers cost and where they cross."""

from __future__ import annotations

import math

import ipywidgets

from helpers.figures import COLOURS, GREY

LEFT, WIDTH, HEIGHT = 60, 360, 250
POWERS = (2, 20)  # of two: the lengths that are drawn, 4 to a million


def costs(n: float, d: float, k: float, projections: bool = False) -> dict[str, float]:
    """FLOPs of one layer of each kind; k is the width of a kernel, and the tokens that restricted attention sees."""
    extra = 8 * n * d * d if projections else 0
    return {
        "self-attention": 4 * n * n * d + extra,
        "recurrent": 4 * n * d * d,
        "convolutional": 2 * k * n * d * d,
        "restricted self-attention": 4 * min(k, n) * n * d + extra,
    }


def crossing(other: str, d: int, k: int, projections: bool = False) -> float:
    """The n at which self-attention costs as much as the other layer: 0 or less if it always costs more."""
    per_token = {"recurrent": 4 * d * d, "convolutional": 2 * k * d * d}[other]
    return (per_token - (8 * d * d if projections else 0)) / (4 * d)


def sentence(n: int, d: int, k: int, projections: bool = False) -> str:
    """Where self-attention meets recurrence and convolution, and by how much they differ at n."""
    now = costs(n, d, k, projections)
    parts = []
    for other in ("recurrent", "convolutional"):
        meet = crossing(other, d, k, projections)
        factor = now["self-attention"] / now[other]
        if meet <= 0:
            parts.append(f"Self-attention costs more than the {other} layer at any n, here {_times(factor)}.")
        else:
            less = "as much" if factor == 1 else f"{_times(max(factor, 1 / factor))} {'more' if factor > 1 else 'less'}"
            parts.append(f"Self-attention meets the {other} layer at n = {meet:,.0f}; at n = {n:,} it costs {less}.")
    return " ".join(parts)


def _times(factor: float) -> str:
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.1f}".removesuffix(".0") + " times"


def _short(flops: float) -> str:
    power = min(int(math.log10(max(flops, 1))) // 3, 6)
    return f"{flops / 1000**power:.3g} {['', 'k', 'M', 'G', 'T', 'P', 'E'][power]}"


def draw(n: int, d: int, k: int, projections: bool = False) -> str:
    """FLOPs against n on log scales as SVG, a line for each layer; bars for the chosen n."""
    lengths = [2.0**p for p in range(POWERS[0], POWERS[1] + 1)]
    rows = [costs(length, d, k, projections) for length in lengths]
    low = math.log10(min(min(row.values()) for row in rows))
    high = math.log10(max(max(row.values()) for row in rows))

    def place(length: float, flops: float) -> tuple[float, float]:
        x = LEFT + WIDTH * (math.log2(length) - POWERS[0]) / (POWERS[1] - POWERS[0])
        return x, 30 + HEIGHT * (high - math.log10(flops)) / (high - low)

    now, parts = costs(n, d, k, projections), []
    for i, (kind, colour) in enumerate(zip(now, COLOURS, strict=False)):
        line = " ".join(
            "{:.1f},{:.1f}".format(*place(length, row[kind])) for length, row in zip(lengths, rows, strict=True)
        )
        x, y = place(n, now[kind])
        length = 15 + 165 * (math.log10(now[kind]) - low) / (high - low)
        top = 54 + i * 58
        parts.append(
            f"<polyline points='{line}' fill='none' stroke='{colour}' stroke-width='2'/>"
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' fill='{colour}'><title>{kind}</title></circle>"
            f"<text x='460' y='{top - 6}'>{kind}: {_short(now[kind])}FLOPs</text>"
            f"<rect x='460' y='{top}' width='{length:.0f}' height='14' fill='{colour}'/>"
        )
    x, bottom = place(n, 10**low)
    for meet in (crossing(other, d, k, projections) for other in ("recurrent", "convolutional")):
        if lengths[0] <= meet <= lengths[-1]:
            a, b = place(meet, costs(meet, d, k, projections)["self-attention"])
            parts.append(
                f"<circle cx='{a:.1f}' cy='{b:.1f}' r='9' fill='none' stroke='{GREY}' stroke-width='2'>"
                f"<title>they meet at n = {meet:,.0f}</title></circle>"
            )
    ticks = "".join(
        f"<text x='{place(2.0**p, 10**low)[0]:.1f}' y='{bottom + 18:.1f}' text-anchor='middle'>{2**p:,}</text>"
        for p in range(POWERS[0], POWERS[1] + 1, 6)
    )
    ticks += "".join(
        f"<text x='{LEFT - 8}' y='{place(4, 10**p)[1] + 4:.1f}' text-anchor='end'>{_short(10**p)}</text>"
        for p in range(math.ceil(low), int(high) + 1, 3)
    )
    return (
        "<svg width='700' height='330' viewBox='0 0 700 330' role='img' aria-label='FLOPs of four layers against n' "
        "style='font:13px sans-serif;fill:currentColor'>"
        "<text x='4' y='16' opacity='.7'>FLOPs of one layer</text>"
        f"<text x='460' y='16' opacity='.7'>at n = {n:,} (bars: log scale)</text>"
        f"<text x='{LEFT + WIDTH}' y='{bottom + 36:.1f}' text-anchor='end' opacity='.7'>n tokens →</text>"
        f"<line x1='{x:.1f}' y1='30' x2='{x:.1f}' y2='{bottom:.1f}' stroke='{GREY}' stroke-dasharray='4'/>"
        f"<path d='M{LEFT} 30V{bottom:.1f}H{LEFT + WIDTH}' fill='none' stroke='{GREY}'/>{ticks}{''.join(parts)}</svg>"
    )


def cost_explorer(n: int = 64, d: int = 512, k: int = 8) -> ipywidgets.Widget:
    """Sliders for n, d and k, each a power of two; projections of attention counted or not. Hover for numbers."""

    def slider(name: str, value: int, least: int, most: int) -> ipywidgets.Widget:
        powers = [(f"{2**p:,}", 2**p) for p in range(least, most + 1)]
        return ipywidgets.SelectionSlider(options=powers, value=value, description=name)

    controls = [slider("n", n, *POWERS), slider("d", d, 1, 14), slider("k = r", k, 1, 10)]
    whole = ipywidgets.Checkbox(False, description="with attention's projections", indent=False)
    picture, note = ipywidgets.HTML(), ipywidgets.HTML()

    def redraw(_: object = None) -> None:
        sizes = [control.value for control in controls]
        picture.value, note.value = draw(*sizes, whole.value), sentence(*sizes, whole.value)

    for control in (*controls, whole):
        control.observe(redraw, "value")
    redraw()
    return ipywidgets.VBox([ipywidgets.HBox(controls), whole, picture, note])
