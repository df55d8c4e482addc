"""What binds an approval and a start to the arguments they were given for."""

from __future__ import annotations

import hashlib

from lamina.engine._declare import readable
from lamina.schema import canonical_json


def digest_of(arguments: str) -> str:
    """Give the SHA-256 of arguments as canonical JSON, hexadecimal: white space and key order do not count."""
    return hashlib.sha256(canonical_json(readable(arguments))).hexdigest()
