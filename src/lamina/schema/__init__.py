"""attrs types and JSON: strict codecs, every problem at once, and the JSON Schema of the same types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._lazy import lazily
from lamina.schema._codec import Codec, codec
from lamina.schema._encoded import Encoded
from lamina.schema._inline import inline_defs
from lamina.schema._json import JsonLimits, JsonValue, canonical_json, canonical_text, is_json
from lamina.schema._mismatch import Mismatch

if TYPE_CHECKING:
    from lamina.schema._bounded import BoundedSchema

__all__ = [
    "BoundedSchema",
    "Codec",
    "Encoded",
    "JsonLimits",
    "JsonValue",
    "Mismatch",
    "canonical_json",
    "canonical_text",
    "codec",
    "inline_defs",
    "is_json",
]

__getattr__, __dir__ = lazily(__name__, {"BoundedSchema": "_bounded"}, __all__)
