"""The credential of a provider, as one of the runtime's secrets (SEC-006)."""

from __future__ import annotations

from lamina.effect import log
from lamina.redaction import SecretRefused, Secrets

SHORTEST_KEY = 16


def register_key(secrets: Secrets, key: str) -> None:
    """Register a provider's key.

    A key of fewer than 16 characters is none that a provider gives out: servers of one's own are sent `ollama` or
    `test-key`, and to hide those words would blank ordinary text.
    """
    if len(key) < SHORTEST_KEY:
        return
    try:
        secrets.register(key)
    except SecretRefused as refused:
        log().warning("a provider's key is not hidden", why=str(refused))
