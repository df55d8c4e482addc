"""What binds an approval and a start to the arguments they were given for."""

from __future__ import annotations

import hashlib

from lamina.schema import canonical_json, canonical_text


def digest_of(arguments: str) -> str:
    """Give the SHA-256 of arguments as canonical JSON, hexadecimal: white space and key order do not count."""
    canonical = canonical_text(arguments or "{}")
    if canonical is None:  # no JSON: then it is a text
        canonical = canonical_json(arguments)
    return hashlib.sha256(canonical).hexdigest()
