"""Figures of 05_parameters: what a layer is made of, where parameters sit, and what training them costs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers import config, cost, layers, models, parameters
from helpers.figures import BLUE, GREEN, GREY, ORANGE, PINK, SKY, show, style
from helpers.figures.masks import _numbers, _panels, _write, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = {"embeddings": SKY, "attention": BLUE, "feed-forward": ORANGE, "norms": PINK, "head": GREEN}


def parts(model: nn.Module) -> dict[str, int]:
    """Parameters of a model under the names of `PARTS`; what is neither embedding nor layer belongs to the head."""
    found = dict.fromkeys(PARTS, 0)
    for line, n in parameters.components(model).items():
        found[_part(line)] += n
    return found


def _part(line: str) -> str:
    if "embedding" in line:
        return "embeddings"
    if not line.startswith(parameters.STACKS):
        return "head"
    words = {"attention": "attention", "feed_forward": "feed-forward", "norm": "norms"}
    return next(part for word, part in words.items() if word in line.split(".")[2])


def presets() -> dict[str, nn.Module]:
    """The four models that the course counts, on the meta device."""
    return {
        "seed": parameters.seed_model(),
        "base": parameters.tied_transformer(config.base),
        "big": parameters.tied_transformer(config.big),
        "BERT": parameters.bert(),
    }


# ---- layers ----


def depth(n_layers: int = 12, n: int = 12, d_model: int = 48) -> None:
    """How alike tokens become from layer to layer, with residual paths and without, as layers start out."""
    with style():
        figure, (ax,) = _panels(1, 7.2, 3.4, "Without a way around its parts, a stack makes all tokens alike")
        ends = []
        for name, colour, marker, residual in (
            ("without residual paths", ORANGE, "s", False),
            ("with residual paths", BLUE, "o", True),
        ):
            alike = _alike(n_layers, n, d_model, residual)
            ends.append(alike[-1])
            ax.plot(range(n_layers + 1), alike, marker=marker, color=colour)
            ax.annotate(
                name,
                (n_layers, alike[-1]),
                (0, -48 if residual else -20),
                textcoords="offset points",
                color=colour,
                ha="right",
            )
        ax.set(xlabel="layers passed", ylabel="likeness of two tokens (cosine)", ylim=(-0.1, 1.08))
        show(
            figure,
            f"Mean cosine between tokens after 0 to {n_layers} untrained layers. Without residual paths it rises to "
            f"{ends[0]:.2f}: one can no longer tell tokens apart. With them it ends at {ends[1]:.2f}.",
        )


def _alike(n_layers: int, n: int, d_model: int, residual: bool) -> list[float]:
    """Mean cosine between different tokens before the first and after each layer."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        x = torch.randn(1, n, d_model)  # (1, T, D)
        found = [_mean_cosine(x)]
        for _ in range(n_layers):
            layer = layers.EncoderLayer(d_model, 4, 4 * d_model)
            for norm, sublayer in ((layer.norm1, layer.attention), (layer.norm2, layer.feed_forward)):
                x = norm(sublayer(x) + x if residual else sublayer(x))  # (1, T, D)
            found.append(_mean_cosine(x))
    return found


def _mean_cosine(x: Tensor) -> float:
    unit = nn.functional.normalize(x[0], dim=-1)  # (T, D)
    n = len(unit)
    return float(((unit @ unit.T).sum() - n) / (n * (n - 1)))


# ---- the whole model ----

# (column, row, label, colour) of each box; both columns are read upwards.
_BOXES = (
    (0, 0, "source_embedding", SKY),
    (0, 1, "· √d_model, + positions", GREY),
    (0, 2.4, "self-attention", BLUE),
    (0, 3.4, "feed-forward", ORANGE),
    (1, 0, "target_embedding", SKY),
    (1, 1, "· √d_model, + positions", GREY),
    (1, 2.4, "self-attention", BLUE),
    (1, 3.4, "attention to memory", BLUE),
    (1, 4.4, "feed-forward", ORANGE),
    (1, 5.8, "head", GREEN),
)
_COLUMN = 5.4


def architecture() -> None:
    """The 2017 model under the names of the exercise, with what each attention may read."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    with style():
        figure, (ax,) = _panels(1, 8.2, 5.6, "Two stacks, and one place where they meet: attention to memory")
        for column, row, label, colour in _BOXES:
            corner = (column * _COLUMN, row)
            ax.add_patch(FancyBboxPatch(corner, 3, 0.55, "round,pad=0.08", color=colour, alpha=0.75, linewidth=0))
            _write(ax, corner[0] + 1.5, row + 0.28, label, on_colour=True)
        for x, height in ((-0.35, 2.05), (_COLUMN - 0.35, 3.05)):
            ax.add_patch(Rectangle((x, 2.15), 3.7, height, fill=False, edgecolor=GREY, linestyle="--"))
        ax.text(-0.45, 3.2, "encoder,\nn_layers times", ha="right", va="center")
        ax.text(_COLUMN + 3.5, 4.7, "decoder,\nn_layers times", va="center")
        for column in (0, 1):
            x, rows = column * _COLUMN + 1.5, [r for c, r, *_ in _BOXES if c == column]
            for low, high in pairwise(rows):
                _arrow(ax, (x, low + 0.63), (x, high - 0.08))
            _arrow(ax, (x, -0.6), (x, -0.08))
        _arrow(ax, (1.5, 4.03), (1.5, 4.75))
        ax.plot([1.5, 4.4, 4.4], [4.75, 4.75, 3.68], color=GREY, linewidth=1.3)
        _arrow(ax, (4.4, 3.68), (_COLUMN - 0.08, 3.68))
        ax.text(2.9, 4.83, "memory", ha="center")
        _arrow(ax, (_COLUMN + 1.5, 6.43), (_COLUMN + 1.5, 7))
        for x, y, text in ((1.5, -0.9, "source ids (B, S)"), (_COLUMN + 1.5, -0.9, "target ids (B, T)")):
            ax.text(x, y, text, ha="center")
        ax.text(_COLUMN + 1.5, 7.1, "logits (B, T, target_vocab)", ha="center")
        for x, y, text in ((3.5, 2.68, "all but pads"), (_COLUMN + 3.5, 2.68, "the past"), (8.9, 3.68, "all but pads")):
            ax.text(x, y, text, va="center", fontsize=9)
        ax.set(xlim=(-2.4, 10.9), ylim=(-1.1, 7.4))
        ax.axis("off")
        show(
            figure,
            "The Transformer of 2017. On the left the source: embedding, positions, then n_layers times self-attention "
            "over all but pads, and feed-forward; what comes out is memory. On the right the target: embedding, "
            "positions, then n_layers times self-attention over the past, attention to memory, and feed-forward; "
            "at the top the head gives logits.",
        )


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=style)


def reads(source: str, target: str, n_pads: int = 2) -> None:
    """What each output of a small untrained Transformer depends on, by its gradient at the embeddings."""
    words, heard = source.split(), target.split()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = models.Transformer(20, 20, 24, 4, 48, 2)
    ids = torch.tensor([[*range(1, len(words) + 1), *[model.pad_id] * n_pads]])  # (1, S)
    from_source, from_target = _influence(model, ids, torch.arange(1, len(heard) + 1)[None])
    with style():
        figure, axes = _panels(2, 4.6, 4.4, "Each prediction reads the whole source, no pad, and no later word")
        for ax, weights, title, names in (
            (axes[0], from_source, "of the source", [*words, *["pad"] * n_pads]),
            (axes[1], from_target, "of the target so far", heard),
        ):
            grid(ax, weights, f"what an output reads {title}", _numbers(weights))
            ax.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
            ax.set_yticks(range(len(heard)), heard)
            ax.set(xlabel="input", ylabel="output after reading")
        show(
            figure,
            f"Gradients of {len(heard)} outputs with respect to their inputs. Left, source words: all read, pads "
            "exactly 0. Right, target words: a lower triangle, nothing is read of later words.",
        )


def _influence(model: models.Transformer, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Norms of the gradients of output t, (T, S) and (T, T), each row as a share of its largest."""
    found = {}
    hooks = [
        embedding.register_forward_hook(lambda _, __, out, side=side: found.update({side: out}))
        for side, embedding in (("source", model.source_embedding), ("target", model.target_embedding))
    ]
    weight = torch.linspace(-1, 1, model.head.out_features)  # a plain sum of logits would let gradients cancel
    outputs = model(source, target)[0] @ weight  # (T,)
    for hook in hooks:
        hook.remove()
    rows = [torch.autograd.grad(y, (found["source"], found["target"]), retain_graph=True) for y in outputs]
    sides = [torch.stack([row[i][0].norm(dim=-1) for row in rows]) for i in (0, 1)]  # (T, S), (T, T)
    return tuple(side / side.amax(-1, keepdim=True) for side in sides)


# ---- where parameters sit ----


def shares() -> None:
    """The parts of four models, as shares of the whole."""
    counted = {name: parts(model) for name, model in presets().items()}
    names = list(counted)[::-1]
    with style():
        title = "Where d_ff is four times d_model, feed-forward layers are the largest part"
        figure, (ax,) = _panels(1, 8.2, 3.6, title)
        left = [0.0] * len(names)
        for part, colour in PARTS.items():
            share = [counted[name][part] / sum(counted[name].values()) for name in names]
            ax.barh(names, share, left=left, color=colour, alpha=0.85, label=part, height=0.62)
            for y, (start, width) in enumerate(zip(left, share, strict=True)):
                if width > 0.04:
                    _write(ax, start + width / 2, y, f"{width:.0%}", on_colour=True)
            left = [a + b for a, b in zip(left, share, strict=True)]
        for y, name in enumerate(names):
            ax.text(1.01, y, f"{sum(counted[name].values()) / 1e6:,.1f} M", va="center")
        ax.set(xlabel="share of all parameters", xlim=(0, 1.12), xticks=[0, 0.25, 0.5, 0.75, 1])
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.legend(ncols=len(PARTS), loc="lower center", bbox_to_anchor=(0.45, 1), fontsize=9, columnspacing=1.2)
        said = [
            f"{name}: " + ", ".join(f"{part} {n / sum(found.values()):.0%}" for part, n in found.items())
            for name, found in counted.items()
        ]
        show(figure, "Parts of four models as shares of their parameters. " + "; ".join(said) + ".")


def vocabularies(low: int = 30_000, high: int = 46_000) -> None:
    """Counted less reported parameters of the paper's two models, for any vocabulary."""
    sizes = range(low, high + 1, 500)
    with style():
        figure, (ax,) = _panels(1, 7.6, 3.8, "No single vocabulary gives 65 and 213 million both")
        said = []
        ax.axhspan(-0.5, 0.5, color=GREY, alpha=0.2, linewidth=0)
        ax.text(low, 0, " rounds to what is reported", va="center", fontsize=9)
        for name, preset, colour, dash in (("base", config.base, BLUE, "-"), ("big", config.big, ORANGE, "--")):
            reported, rest = parameters.paper(name), parameters.translation(preset)
            rest -= parameters.embedding(preset.vocab_size, preset.d_model)
            excess = [(rest + parameters.embedding(v, preset.d_model) - reported) / 1e6 for v in sizes]
            ax.plot(sizes, excess, color=colour, linestyle=dash)
            beside = {"textcoords": "offset points", "color": colour}
            ax.annotate(f"{name}, reported {reported / 1e6:.0f} M", (sizes[-9], excess[-9]), (8, -32), **beside)
            meets = parameters.vocabulary(preset, reported)
            ax.plot([meets], [0], marker="o", color=colour)
            side = {"ha": "right" if meets < config.base.vocab_size else "left"}  # away from the dotted line
            ax.annotate(f"{meets:,}", (meets, 0), (-8, 8) if side["ha"] == "right" else (8, -14), **beside, **side)
            said.append(f"{name} agrees with its {reported / 1e6:.0f} million at {meets:,} tokens")
        ax.axvline(config.base.vocab_size, color=GREEN, linestyle=":")
        ax.text(config.base.vocab_size, 9.6, f" {config.base.vocab_size:,}, the paper's", color=GREEN, va="top")
        ax.set(
            xlabel="tokens in the shared vocabulary",
            ylabel="counted − reported, millions",
            ylim=(-7, 10),
            xlim=(low, high + 1500),
        )
        ax.xaxis.set_major_formatter("{x:,.0f}")
        show(figure, "Counted minus reported parameters, against the vocabulary: " + "; ".join(said) + ".")


# ---- cost ----


def estimates() -> None:
    """FLOPs of the paper's two trainings in three ways."""
    ways = ("each token, its own side", "6 · N · D", "hours × devices × rate")
    with style():
        figure, axes = _panels(2, 4.7, 2.9, "The clock counts the most: it takes each device to run at full rate")
        said = []
        for ax, name, preset in zip(axes, ("base", "big"), (config.base, config.big), strict=True):
            run = cost.paper_training(name)
            n_tokens = run["steps"] * run["tokens_per_step"]
            flops = (
                sided_flops(parameters.tied_transformer(preset), n_tokens),
                cost.training_flops(parameters.translation(preset), n_tokens),
                cost.by_the_clock(run["hours"], run["n_devices"]),
            )
            ax.barh(ways, list(map(float, flops)), color=(SKY, BLUE, ORANGE), alpha=0.85, height=0.6)
            for y, n in enumerate(flops):
                ax.text(n, y, f" {n:.1e}", va="center")
            ax.set(title=f"{name} model", xlabel="FLOPs of the training", xlim=(0, 1.3 * max(flops)))
            said.append(f"{name}: " + ", ".join(f"{way} {n:.1e}" for way, n in zip(ways, flops, strict=True)))
        axes[1].set_yticklabels([])
        show(figure, "FLOPs of the paper's trainings by three estimates. " + "; ".join(said) + ".")


def sided_flops(model: models.Transformer, n_tokens: float) -> float:
    """6·N·D where half of the tokens are source and half target, and each meets the weights of its own side alone.

    Source tokens meet the encoder and the keys and values that decoder layers make of memory; target tokens meet the
    rest of the decoder and the head. Looking a row of an embedding up costs no product.
    """
    made_of_memory = sum(
        w.numel()
        for name, w in model.decoder.named_parameters()
        if "cross_attention.k" in name or "cross_attention.v" in name
    )
    encoder, decoder, head = (
        sum(w.numel() for w in m.parameters()) for m in (model.encoder, model.decoder, model.head)
    )
    source, target = encoder + made_of_memory, decoder - made_of_memory + head
    return cost.training_flops(source, n_tokens / 2) + cost.training_flops(target, n_tokens / 2)


def waiting(rate: float) -> None:
    """Days for the paper's two models: on eight P100s, on one, and on a device that sustains `rate` FLOPs a second."""
    ways = ("eight P100, as reported", "one P100, by the same clock", "your device, by 6 · N · D")
    with style():
        figure, (ax,) = _panels(1, 8.2, 3.3, "Half a day for eight P100s: how long is it for your device?")
        said = []
        for offset, name, preset, colour in ((0.2, "base", config.base, BLUE), (-0.2, "big", config.big, ORANGE)):
            run = cost.paper_training(name)
            flops = cost.training_flops(parameters.translation(preset), run["steps"] * run["tokens_per_step"])
            days = (run["hours"] / 24, run["hours"] / 24 * run["n_devices"], cost.days(flops, 1, rate, 1.0))
            rows = [2 + offset, 1 + offset, offset]
            ax.barh(rows, days, color=colour, alpha=0.85, height=0.36, label=name)
            for y, n in zip(rows, days, strict=True):
                ax.text(n, y, f" {_time(n)}", va="center")
            said.append(f"{name}: " + ", ".join(f"{way} {_time(n)}" for way, n in zip(ways, days, strict=True)))
        ax.set(xscale="log", xlabel="days of training", yticks=(2, 1, 0), yticklabels=ways)
        ax.xaxis.set_major_formatter("{x:,g}")
        ax.set_xlim(0.1, 6 * ax.get_xlim()[1])
        ax.legend(loc="upper right")
        show(figure, "Days of training on a log scale. " + "; ".join(said) + ".")


def _time(days: float) -> str:
    if days >= 1000:
        return f"{days / 365.25:,.0f} years"
    return f"{days:.1f} days" if days < 100 else f"{days:.0f} days"
