"""The `usage` objects of the Messages API."""

from __future__ import annotations

from lamina.model import Usage
from lamina.providers._wire import Object, count_in, object_in


def usage_of(counts: Object) -> Usage | None:
    """Read a usage; `None` where it does not say both totals.

    This API counts what was read from and written to a cache beside its `input_tokens`; here the input total includes
    both (CAP-017).

    Example:
        >>> usage_of({"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 2})
        Usage(input_tokens=95, output_tokens=2, cache_read_tokens=90, cache_write_tokens=0, reasoning_tokens=0)
    """
    plain, output = count_in(counts, "input_tokens"), count_in(counts, "output_tokens")
    if plain is None or output is None:
        return None
    read = count_in(counts, "cache_read_input_tokens") or 0
    written = count_in(counts, "cache_creation_input_tokens") or 0
    return Usage(
        plain + read + written,
        output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=count_in(object_in(counts, "output_tokens_details"), "thinking_tokens") or 0,
    )


def later(before: Object, after: Object) -> Object:
    """Lay later counts over earlier ones: they are running totals, and what one message leaves out or null stands.

    Example:
        >>> later({"input_tokens": 5, "output_tokens": 1}, {"input_tokens": None, "output_tokens": 7})
        {'input_tokens': 5, 'output_tokens': 7}
    """
    return {**before, **{key: value for key, value in after.items() if value is not None}}
