"""The `usage` object of Chat Completions, in the few dialects that providers speak."""

from __future__ import annotations

from lamina.model import Usage
from lamina.providers._wire import Object, count_in, object_in


def usage_of(message: Object) -> Usage | None:
    """Read the usage of a response or chunk; `None` where it has none, or none that says both totals.

    Cached input is part of the input total here already. Where the counts show that reasoning came on top of the
    output, it is added.

    Example:
        >>> usage_of({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}})
        Usage(input_tokens=9, output_tokens=2, cache_read_tokens=4, cache_write_tokens=0, reasoning_tokens=0)
    """
    counts = object_in(message, "usage")
    prompt, output = count_in(counts, "prompt_tokens"), count_in(counts, "completion_tokens")
    if prompt is None or output is None:
        return None
    of_input = object_in(counts, "prompt_tokens_details")
    reasoning = count_in(object_in(counts, "completion_tokens_details"), "reasoning_tokens") or 0
    total = count_in(counts, "total_tokens")
    # Some providers report reasoning beside the output: their total is the sum of all three.
    if reasoning and (reasoning > output or total == prompt + output + reasoning):
        output += reasoning
    return Usage(
        prompt,
        output,
        cache_read_tokens=count_in(of_input, "cached_tokens") or count_in(counts, "prompt_cache_hit_tokens") or 0,
        cache_write_tokens=count_in(of_input, "cache_write_tokens") or 0,
        reasoning_tokens=reasoning,
    )
