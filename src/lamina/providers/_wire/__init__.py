"""What the adapters to HTTP APIs share: events out of bytes, JSON read with suspicion, refusals and their reasons."""

from lamina.providers._wire._address import is_loopback
from lamina.providers._wire._broken import Broken
from lamina.providers._wire._errors import error_in_message, error_of_status, reason_of_status
from lamina.providers._wire._key import register_key
from lamina.providers._wire._reading import Object, Wire, count_in, object_in, objects_in, parse, text_in, written
from lamina.providers._wire._retry_after import retry_after
from lamina.providers._wire._settings import problems_of
from lamina.providers._wire._sse import EventDecoder
from lamina.providers._wire._transport import LONGEST_BODY, Response, one_use, opened, run_out, translated

__all__ = [
    "LONGEST_BODY",
    "Broken",
    "EventDecoder",
    "Object",
    "Response",
    "Wire",
    "count_in",
    "error_in_message",
    "error_of_status",
    "is_loopback",
    "object_in",
    "objects_in",
    "one_use",
    "opened",
    "parse",
    "problems_of",
    "reason_of_status",
    "register_key",
    "retry_after",
    "run_out",
    "text_in",
    "translated",
    "written",
]
