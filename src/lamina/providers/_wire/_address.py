"""Where an API is, as far as that changes how it is reached."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Say whether a server is on this machine, where no proxy stands between.

    Example:
        >>> is_loopback("http://127.0.0.1:8080/v1"), is_loopback("https://example.com/127.0.0.1")
        (True, False)
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
