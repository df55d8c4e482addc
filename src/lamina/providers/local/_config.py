"""How the packaged model is run."""

from __future__ import annotations

import os

import attrs

CONTEXT_TOKENS = 8192
"""The longest context that SmolLM2 was trained for."""


def _half_of_the_cores() -> int:
    return max(1, (os.cpu_count() or 1) // 2)


@attrs.frozen
class LocalConfig:
    """How the packaged model is run.

    Attributes:
        context_tokens: The longest request and answer together, at most 8 192; each 1 024 take about 23 MB of memory.
        max_output_tokens: The longest answer, in tokens.
        threads: How many threads compute. Two threads that have to share a core wait for each other and are ten times
            slower than one, so the default is half of the cores.
        start_timeout: Seconds for the model to load.
        timeout: Seconds that may pass without a byte of an answer.

    Example:
        >>> LocalConfig(threads=1)
        LocalConfig(context_tokens=8192, max_output_tokens=512, threads=1, start_timeout=60.0, timeout=120.0)
    """

    context_tokens: int = attrs.field(
        default=CONTEXT_TOKENS, validator=[attrs.validators.ge(256), attrs.validators.le(CONTEXT_TOKENS)]
    )
    max_output_tokens: int = attrs.field(default=512, validator=attrs.validators.ge(1))
    threads: int = attrs.field(factory=_half_of_the_cores, validator=attrs.validators.ge(1))
    start_timeout: float = attrs.field(default=60.0, validator=attrs.validators.gt(0))
    timeout: float = attrs.field(default=120.0, validator=attrs.validators.gt(0))
