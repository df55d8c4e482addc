"""What is wrong with the settings of an adapter: found when its layer is made, where the SDKs wait for a request.

A key with a line break, or an address without a scheme, would otherwise be a lost connection that is tried again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import urlsplit


def why_no_address(url: str | None) -> str | None:
    """Say why something is not where an API can be, without quoting it; `None` is the provider's own address.

    Example:
        >>> why_no_address("127.0.0.1:8080/v1")
        'base_url: it begins with http:// or https://, and a host'
    """
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port  # read from the text now, and out of range now
    except ValueError:
        return "base_url: it is no URL"
    if not (url.isascii() and url.isprintable()) or " " in url:
        return "base_url: it has a space, a line break or another character that no URL has"
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        return "base_url: it begins with http:// or https://, and a host"
    if parts.username is not None or parts.password is not None:
        return "base_url: a credential in it would be shown; give it as api_key"
    return None


def wrong_settings(*, name: str, api_key: str, temperature: float | None, timeout: float) -> Iterator[str]:
    """Say what is wrong with the settings that all adapters have, without quoting them.

    Args:
        name: The model's name at the provider.
        api_key: The credential; an empty one is none.
        temperature: `None` leaves it to the provider.
        timeout: Seconds.

    Example:
        >>> list(wrong_settings(name="gpt", api_key="secret\\n", temperature=None, timeout=60))
        ['api_key: it has a line break, or another character that no header may have']
    """
    if not name:
        yield "name: it is the model's name at the provider"
    if api_key != api_key.strip() or not (api_key.isascii() and api_key.isprintable()):
        yield "api_key: it has a line break, or another character that no header may have"
    if temperature is not None and not math.isfinite(temperature):
        yield "temperature: it is a finite number"
    if not timeout > 0:
        yield "timeout: it is a number of seconds above 0"
