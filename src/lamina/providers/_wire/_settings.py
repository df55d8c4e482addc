"""What is wrong with the settings of an adapter: found when its layer is made, where the SDKs wait for a request.

A key with a line break, or an address without a scheme, would otherwise be a lost connection that is tried again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Protocol
from urllib.parse import urlsplit

from lamina.effect import Problem, caller_where


class Settings(Protocol):
    """What the settings of all adapters have."""

    @property
    def name(self) -> str:
        """The model's name at the provider."""
        ...

    @property
    def base_url(self) -> str | None:
        """Where the API is; `None` is the provider's own."""
        ...

    @property
    def api_key(self) -> str:
        """The credential; an empty one is none."""
        ...

    @property
    def temperature(self) -> float | None:
        """`None` leaves it to the provider."""
        ...

    @property
    def timeout(self) -> float:
        """Seconds."""
        ...


def problems_of(settings: Settings, vendor: str, *, is_own: Callable[[], bool]) -> list[Problem]:
    """Say what a model cannot be made without, and what is wrong with its settings.

    Args:
        settings: Of one adapter.
        vendor: The adapter's name: of its extra, of its SDK's package and, in capitals, of its key's variable.
        is_own: Tells of a good address whether it is the vendor's own API, which wants a key.
    """
    user = (f"{vendor}_model({settings.name!r})  {caller_where()}",)
    problems: list[Problem] = []
    if find_spec(vendor) is None:
        problems.append(Problem("MISSING", f"the package {vendor}", user, f'pip install "lamina[{vendor}]"'))
    if (why := why_no_address(settings.base_url)) is not None:
        problems.append(Problem("INVALID", why, user))
    elif not settings.api_key and is_own():
        key = f"{vendor.upper()}_API_KEY"
        problems.append(Problem("MISSING", key, user, f"export {key}=..."))
    problems.extend(Problem("INVALID", why, user) for why in _wrong(settings))
    return problems


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


def _wrong(settings: Settings) -> Iterator[str]:
    """Say what is wrong with the settings that all adapters have, without quoting them."""
    key, temperature = settings.api_key, settings.temperature
    if not settings.name:
        yield "name: it is the model's name at the provider"
    if key != key.strip() or not (key.isascii() and key.isprintable()):
        yield "api_key: it has a line break, or another character that no header may have"
    if temperature is not None and not math.isfinite(temperature):
        yield "temperature: it is a finite number"
    if not settings.timeout > 0:
        yield "timeout: it is a number of seconds above 0"
