"""What a request cost in tokens, and what a run has cost so far (CAP-017)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import attrs

from lamina.effect import Value

# Beyond this a counter is no longer exact in JSON readers that hold every number as a double.
_LARGEST = 2**53 - 1
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_COUNTS_OF_TOTALS = (*_COUNTS, "requests", "last_input_tokens", "last_output_tokens")
_counts: Callable[[object], tuple[object, ...]] = attrgetter(*_COUNTS)
_counts_of_totals: Callable[[object], tuple[object, ...]] = attrgetter(*_COUNTS_OF_TOTALS)


@attrs.frozen(eq=False, repr=False)
class Usage(Value):
    """The tokens of one model request, as its provider counted them.

    The input total includes what was read from and written to a cache, for every provider, so that totals of
    different providers can be compared. An adapter whose provider reports the parts apart adds them up.

    Attributes:
        input_tokens: All input tokens, cached ones included.
        output_tokens: All output tokens, reasoning included.
        cache_read_tokens: How much of the input was read from a cache.
        cache_write_tokens: How much of the input was written to a cache.
        reasoning_tokens: How much of the output was reasoning.

    Example:
        >>> Usage(100, 20, cache_read_tokens=60, cache_write_tokens=10).uncached_tokens
        30
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def uncached_tokens(self) -> int:
        """The input tokens that no cache had to do with."""
        return self.input_tokens - self.cache_read_tokens - self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Input and output together: what a token budget counts."""
        return self.input_tokens + self.output_tokens


@attrs.frozen(eq=False, repr=False)
class UsageDelta(Value):
    """What was used between two points of a run: the difference of two totals.

    `last_input_tokens` and `last_output_tokens` are those of the later point, for they are no sums.

    Example:
        >>> before = UsageTotals() + Usage(10, 2)
        >>> after = before + Usage(30, 4)
        >>> (after - before).input_tokens, before + (after - before) == after
        (30, True)
    """

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    last_input_tokens: int
    last_output_tokens: int

    @property
    def uncached_tokens(self) -> int:
        """The input tokens that no cache had to do with."""
        return self.input_tokens - self.cache_read_tokens - self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@attrs.frozen(eq=False, repr=False)
class UsageTotals(Value):
    """What a run has used so far; adding gives a new value.

    The last call's input and output together are the estimate of the live context (CAP-017, RUN-023).

    Attributes:
        requests: How many model requests are in the sums.
        input_tokens: All input tokens, cached ones included.
        output_tokens: All output tokens, reasoning included.
        cache_read_tokens: Input read from caches.
        cache_write_tokens: Input written to caches.
        reasoning_tokens: Output that was reasoning.
        last_input_tokens: The input of the latest request alone.
        last_output_tokens: The output of the latest request alone.

    Example:
        >>> totals = UsageTotals() + Usage(10, 2) + Usage(30, 4)
        >>> totals.requests, totals.total_tokens, totals.context_tokens
        (2, 46, 34)
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    last_input_tokens: int = 0
    last_output_tokens: int = 0

    @property
    def uncached_tokens(self) -> int:
        """The input tokens that no cache had to do with."""
        return self.input_tokens - self.cache_read_tokens - self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Input and output together: what a token budget counts."""
        return self.input_tokens + self.output_tokens

    @property
    def context_tokens(self) -> int:
        """The latest request's input and output: about what the next request starts from."""
        return self.last_input_tokens + self.last_output_tokens

    def __add__(self, used: Usage | UsageDelta) -> UsageTotals:
        """Give the totals after one more request, or after what another part of the run has used."""
        if isinstance(used, Usage):
            requests, last_input, last_output = 1, used.input_tokens, used.output_tokens
        else:
            requests, last_input, last_output = used.requests, used.last_input_tokens, used.last_output_tokens
        return UsageTotals(
            self.requests + requests,
            self.input_tokens + used.input_tokens,
            self.output_tokens + used.output_tokens,
            self.cache_read_tokens + used.cache_read_tokens,
            self.cache_write_tokens + used.cache_write_tokens,
            self.reasoning_tokens + used.reasoning_tokens,
            last_input,
            last_output,
        )

    def __sub__(self, before: UsageTotals) -> UsageDelta:
        """Give what was used since an earlier point of the same run."""
        return UsageDelta(
            self.requests - before.requests,
            self.input_tokens - before.input_tokens,
            self.output_tokens - before.output_tokens,
            self.cache_read_tokens - before.cache_read_tokens,
            self.cache_write_tokens - before.cache_write_tokens,
            self.reasoning_tokens - before.reasoning_tokens,
            self.last_input_tokens,
            self.last_output_tokens,
        )


def usage_problem(usage: Usage | UsageTotals) -> str | None:
    """Say what is impossible about a count, or nothing: providers and stored records are not to be trusted.

    Args:
        usage: The counts of one request, or the totals that a recovered run would start from.

    Returns:
        One phrase that quotes no value, or `None`.

    Example:
        >>> usage_problem(Usage(1, True))
        'output_tokens is no whole number'
        >>> usage_problem(Usage(5, 1, cache_read_tokens=6))
        'the cached parts are more than the input'
    """
    names, counts = (_COUNTS, _counts(usage)) if type(usage) is Usage else (_COUNTS_OF_TOTALS, _counts_of_totals(usage))
    for name, count in zip(names, counts, strict=True):
        if type(count) is not int:  # a bool is an int, and no count
            return f"{name} is no whole number"
        if not 0 <= count <= _LARGEST:
            return f"{name} is negative" if count < 0 else f"{name} is too large"
    if usage.cache_read_tokens + usage.cache_write_tokens > usage.input_tokens:
        return "the cached parts are more than the input"
    if usage.reasoning_tokens > usage.output_tokens:
        return "the reasoning part is more than the output"
    if isinstance(usage, UsageTotals) and (
        usage.last_input_tokens > usage.input_tokens or usage.last_output_tokens > usage.output_tokens
    ):
        return "the last request is more than the sum of all"
    return None
