"""What must not be recorded of what a person types: a store by itself has no application that knows the secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from lamina.cli._exits import UsageError
from lamina.cli._place import StorePlace
from lamina.cli._plain import printable
from lamina.redaction import SecretRefused, Secrets

_SAYS_SO = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$", re.IGNORECASE)


def hidden_values(place: StorePlace, named: Sequence[str], environment: Mapping[str, str] | None = None) -> Secrets:
    """Give the values of the variables whose names say that they are secret, of those named, and the store's password.

    Args:
        place: The store.
        named: Variables that are secret whatever their names say.
        environment: The variables; without it, those of this process.

    Raises:
        UsageError: One of those named is not set, or can be no secret.

    Example:
        >>> place = StorePlace("lamina.db", chosen=False)
        >>> hidden_values(place, [], {"DEPLOY_TOKEN": "s3cr3t-token", "HOME": "/home/ada"}).redact_text("s3cr3t-token?")
        '[REDACTED:secret]?'
    """
    found = os.environ if environment is None else environment
    secrets = Secrets()
    for name, value in found.items():
        if _SAYS_SO.search(name):
            with suppress(SecretRefused):  # a value that is too short is hidden by nobody
                secrets.register(value)
    for name in named:
        if name not in found:
            raise UsageError(f"There is no variable {printable(name)} to hide.", "Set it, or leave --hide out.")
        try:
            secrets.register(found[name])
        except SecretRefused as error:
            raise UsageError(f"{printable(name)} cannot be hidden: {error}", "Leave --hide out.") from None
    if place.is_server:
        with suppress(SecretRefused, ValueError):
            secrets.register(unquote(urlsplit(place.text).password or ""))
    return secrets
