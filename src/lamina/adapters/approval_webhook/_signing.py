"""How a request is signed: HMAC-SHA256 over everything that says what it asks for, and when."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time

KEY, TIMESTAMP, NONCE, SIGNATURE = "Lamina-Key", "Lamina-Timestamp", "Lamina-Nonce", "Lamina-Signature"

_FORM = "lamina-approval-1"
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}\Z", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,12}\Z", re.ASCII)


def sign(
    method: str,
    target: str,
    body: bytes = b"",
    *,
    key: str,
    secret: str,
    timestamp: int | None = None,
    nonce: str | None = None,
) -> dict[str, str]:
    """Give the headers that sign a request.

    Args:
        method: `GET` or `POST`.
        target: The path with its query, as it is sent: `/pending?limit=10`.
        body: What is sent.
        key: The key's id.
        secret: Its secret.
        timestamp: Seconds since 1970; None is now.
        nonce: 16 to 64 letters, digits, `-` and `_`, never used before; None makes one.

    Example:
        >>> headers = sign("GET", "/pending", key="ada", secret="x" * 32, timestamp=0, nonce="n" * 16)
        >>> headers["Lamina-Signature"][:8]
        'af783fef'
    """
    moment = str(int(time.time()) if timestamp is None else timestamp)
    once = secrets.token_urlsafe(24) if nonce is None else nonce
    signature = signature_of(secret, key, method, target, moment, once, body)
    return {KEY: key, TIMESTAMP: moment, NONCE: once, SIGNATURE: signature}


def signature_of(secret: str, key: str, method: str, target: str, timestamp: str, nonce: str, body: bytes) -> str:
    """Give the signature, hexadecimal; no part holds a line end, so that no two requests have one text."""
    parts = (_FORM, key, method.upper(), target, timestamp, nonce, hashlib.sha256(body).hexdigest())
    return hmac.new(secret.encode(), "\n".join(parts).encode(), hashlib.sha256).hexdigest()


def well_formed(timestamp: str, nonce: str) -> bool:
    """Tell whether these can be a request's time and nonce."""
    return _TIMESTAMP.match(timestamp) is not None and _NONCE.match(nonce) is not None
