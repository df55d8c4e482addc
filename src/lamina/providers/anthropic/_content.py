"""What a user says, in the form of the Messages API: texts, images and documents."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from lamina.model import File, ModelError, Text, Unsupported
from lamina.providers._wire import Broken, Wire

_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


def content_of(parts: Sequence[Text | File]) -> list[Wire]:
    """Give a user message's blocks.

    The API refuses texts without a visible character, so they are left out where there is anything else.

    Raises:
        Broken: A file is of a kind that the API has no place for (`Unsupported`).

    Example:
        >>> content_of((Text("Look: "), File("image/png", uri="https://example.com/a.png")))[1]
        {'type': 'image', 'source': {'type': 'url', 'url': 'https://example.com/a.png'}}
    """
    blocks = [_file(part) if isinstance(part, File) else text_block(part.text) for part in parts]
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()] or blocks


def text_block(text: str) -> Wire:
    """Give a text's block."""
    return {"type": "text", "text": text}


def _file(part: File) -> Wire:
    if part.media_type in _IMAGES or (part.media_type.startswith("image/") and part.uri):
        return {"type": "image", "source": _source(part)}
    if part.media_type == "application/pdf":
        return {"type": "document", "source": _source(part)}
    if part.media_type.partition(";")[0] == "text/plain" and part.data is not None:
        text = part.data.decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
    where = "by address" if part.data is None else "by content"
    raise Broken(ModelError(Unsupported(f"a file of type {part.media_type[:80]}, given {where}")))


def _source(part: File) -> Wire:
    if part.uri:
        return {"type": "url", "url": part.uri}
    return {"type": "base64", "media_type": part.media_type, "data": b64encode(part.data or b"").decode()}
