"""What a student's cell has shown, made safe: plain text and pictures, in nbformat's form.

Outputs come from a worker, so they are hostile. Their HTML, SVG, LaTeX and widgets are left out: formgrader shows a
notebook's HTML as it is, and a script in it would run with the instructor's rights.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

MAX_TEXT = 100_000
MAX_OUTPUTS = 50
_NOT_THE_WEB = r"(?!\s*(?:https?://|mailto:|#))"
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


def clean(text: str) -> list[dict]:
    """Outputs in nbformat's form from a worker's JSON text; what is malformed is left out."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    made = (
        [_output(output) for output in found[:MAX_OUTPUTS] if isinstance(output, dict)] if type(found) is list else []
    )
    return [output for output in made if output]


def _output(output: dict) -> dict | None:
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": _text(output.get("text"))}
    if kind == "error":
        value = _text(output.get("evalue"))
        return {"output_type": "error", "ename": _text(output.get("ename")), "evalue": value, "traceback": [value]}
    data = output.get("data")
    if kind not in ("display_data", "execute_result") or not isinstance(data, dict):
        return None
    made = {"output_type": "display_data", "data": {"text/plain": _text(data.get("text/plain"))}, "metadata": {}}
    metadata = output.get("metadata") if isinstance(output.get("metadata"), dict) else {}
    for mime, beginning in PICTURES.items():
        picture = _picture(data.get(mime), beginning)
        if picture:
            made["data"][mime] = picture
            made["metadata"][mime] = {"alt": _alt(metadata, mime)}
    return made


def _picture(value: Any, beginning: bytes) -> str | None:
    """Base64 that is a picture of that kind, in one line."""
    try:
        plain = re.sub(r"\s", "", value)
        return plain if base64.b64decode(plain, validate=True).startswith(beginning) else None
    except (TypeError, ValueError, binascii.Error):
        return None


def _alt(metadata: dict, mime: str) -> str:
    """A picture's alternative text, wherever it stands."""
    for place in (metadata.get(mime), metadata):
        if isinstance(place, dict) and isinstance(place.get("alt"), str):
            return _text(place["alt"])[:1_000]
    return ""


def _text(value: Any) -> str:
    """Text without halves of characters and without control characters that no page may hold."""
    text = value[:MAX_TEXT] if isinstance(value, str) else ""
    return re.sub(r"[\0-\x08\x0b\x0c\x0e-\x1f]", "", text).encode("utf-8", "replace").decode()


def harmless(markdown: str) -> str:
    """A student's markdown in which no HTML can begin, and whose links lead to the web or nowhere.

    A space takes a link apart; a backslash could be undone by one before it.
    """
    markdown = re.sub(rf"\](?=[(:]{_NOT_THE_WEB})", "] ", markdown)
    markdown = re.sub(r"\\(?=href)", r"\\ ", markdown)  # a link in LaTeX
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", markdown)
