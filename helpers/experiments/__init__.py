"""Runs that take a GPU minutes, each by one command; what they found is kept as JSON that figures are drawn from."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import torch

from helpers import device
from helpers.text.made_up import write_csv


class Watch:
    """What every record says of the run itself: the command, the settings, where it ran and how long it took."""

    def __init__(self, settings: Any) -> None:
        self.settings, self.started = settings, time.monotonic()

    def record(self, where: torch.device) -> dict[str, Any]:
        """As plain values for JSON."""
        module = getattr(sys.modules["__main__"], "__spec__", None)
        return {
            "command": " ".join(["python", "-m", module.name if module else "", *sys.argv[1:]]),
            "settings": asdict(self.settings),
            "device": device.describe(str(where)),
            "seconds": round(time.monotonic() - self.started, 1),
        }


def toy_reviews() -> Path:
    """A CSV of made-up reviews, for runs of seconds."""
    return write_csv(Path(gettempdir()) / "made-up-reviews.csv")
