"""How far a run may go: every limit finite, and what happens at each (AUTH-006, behaviour §2.1)."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import attrs

from lamina.call import DEFAULT_RESULT_BYTES, SMALLEST_RESULT_BYTES
from lamina.effect import ConstructionError, Problem, Value, caller_where

OnExhaustion: TypeAlias = Literal["final-answer", "fail"]
DrainPolicy: TypeAlias = Literal["one", "all"]
CompactionMode: TypeAlias = Literal["prune", "summarize", "prune-then-summarize"]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CompactionPolicy(Value):
    """How a history that grows too long is made shorter, for agents with a `context_token_limit`.

    Attributes:
        keep_recent_tokens: The newest tokens that stay as they are.
        mode: Drop old tool results, summarize, or first one and then the other.
    """

    keep_recent_tokens: int = 20_000
    mode: CompactionMode = "prune-then-summarize"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class AgentPolicy(Value):
    """The limits of a run. The first four have no default: they are yours to choose.

    Attributes:
        max_turns: Model requests; one more, without tools, follows where `on_exhaustion` is `final-answer`.
        max_tool_calls: Calls over the whole run; a batch that would go beyond it runs none of its calls.
        max_duration: Seconds from start to end; then the run fails. Waiting for a person counts, unless the run is
            suspended meanwhile; waiting for a conversation that another run has does not.
        tool_concurrency: Calls of one batch that run at once.
        repeated_failure_limit: Turns in a row in which every call failed, after which the run fails; 0 is off.
        token_budget: Input and output tokens over the whole run; None is no limit.
        cost_budget: Millionths of a US dollar over the whole run; needs `PriceBook`. At the limit the run fails.
        context_token_limit: Tokens of one request, beyond which history is compacted; needs `Compaction`.
        tool_result_bytes: The largest result of a call, in bytes of JSON; a larger one is cut, and says so.
        run_status: Whether each request ends with a line on what is used and left; it is never kept.
        compaction: How compaction works.
        on_exhaustion: At a limit of turns, calls or tokens: ask once more for an answer without tools, or fail.
        output_repairs: How often a final answer that does not fit the output may be asked for again.
        model_retries: How often a request that failed for a passing reason, before its first part, is sent again.
        steering: Whether messages may be added while a run is active; needs `Steering`.
        steering_drain: How much of what was added goes into one request: the oldest message, or all of them.

    Raises:
        ConstructionError: With every field that is out of its range.

    Example:
        >>> policy = AgentPolicy(max_turns=8, max_tool_calls=16, max_duration=120, tool_concurrency=4)
        >>> policy.on_exhaustion
        'final-answer'
    """

    max_turns: int
    max_tool_calls: int
    max_duration: float
    tool_concurrency: int
    repeated_failure_limit: int = 3
    token_budget: int | None = None
    cost_budget: int | None = None
    context_token_limit: int | None = None
    tool_result_bytes: int = DEFAULT_RESULT_BYTES
    run_status: Literal["appended", "off"] = "appended"
    compaction: CompactionPolicy = attrs.field(factory=CompactionPolicy)
    on_exhaustion: OnExhaustion = "final-answer"
    output_repairs: int = 1
    model_retries: int = 2
    steering: bool = False
    steering_drain: DrainPolicy = "one"

    def __attrs_post_init__(self) -> None:
        lowest: dict[str, int] = {
            "max_turns": 1,
            "max_tool_calls": 1,
            "tool_concurrency": 1,
            "repeated_failure_limit": 0,
            "token_budget": 1,
            "cost_budget": 0,
            "context_token_limit": 1,
            "tool_result_bytes": SMALLEST_RESULT_BYTES,
            "output_repairs": 0,
            "model_retries": 0,
        }
        lines = [
            f"{name} is a whole number, {least} or more"
            for name, least in lowest.items()
            if (value := getattr(self, name)) is not None and not _is_whole(value, least)
        ]
        if not (_is_number(self.max_duration) and 0 < self.max_duration < float("inf")):
            lines.append("max_duration is a positive, finite number of seconds")
        if not _is_whole(self.compaction.keep_recent_tokens, 1):
            lines.append("compaction.keep_recent_tokens is a whole number, 1 or more")
        chosen: dict[str, tuple[object, tuple[object, ...]]] = {
            "run_status": (self.run_status, ("appended", "off")),
            "on_exhaustion": (self.on_exhaustion, get_args(OnExhaustion)),
            "compaction.mode": (self.compaction.mode, get_args(CompactionMode)),
            "steering": (self.steering, (True, False)),
            "steering_drain": (self.steering_drain, get_args(DrainPolicy)),
        }
        lines += [
            f"{name} is one of {', '.join(map(str, choices))}"
            for name, (value, choices) in chosen.items()
            if value not in choices
        ]
        if lines:
            raise ConstructionError([Problem("POLICY", "AgentPolicy", (*lines, str(caller_where())))])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
