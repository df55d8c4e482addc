"""What a user says, in the form of Chat Completions: a plain text, or a list of texts, images, sounds and documents."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from lamina.model import File, ModelError, Text, Unsupported
from lamina.providers._wire import Broken, Wire

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def content_of(parts: Sequence[Text | File]) -> str | list[Wire]:
    """Give a user message's content.

    Raises:
        Broken: A file is of a kind that the API has no place for (`Unsupported`).

    Example:
        >>> content_of((Text("Look: "), File("image/png", uri="https://example.com/a.png")))[1]
        {'type': 'image_url', 'image_url': {'url': 'https://example.com/a.png'}}
    """
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [_text(part) if isinstance(part, Text) else _file(part) for part in parts]


def _text(part: Text) -> Wire:
    return {"type": "text", "text": part.text}


def _file(part: File) -> Wire:
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": part.uri or _data_url(part)}}
    if part.data is not None and part.media_type in _SOUNDS:
        sound = {"data": b64encode(part.data).decode(), "format": _SOUNDS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    if part.data is not None and part.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": "file.pdf", "file_data": _data_url(part)}}
    where = "by address" if part.data is None else "by content"
    raise Broken(ModelError(Unsupported(f"a file of type {part.media_type[:80]}, given {where}")))


def _data_url(part: File) -> str:
    return f"data:{part.media_type};base64,{b64encode(part.data or b'').decode()}"
