"""Stage 10: what a handler returned becomes an outcome, by the schemas it declares."""

from __future__ import annotations

from typing import cast

from returns.result import Failure, Result, Success

from lamina.call._outcome import OutcomeUnknown, ToolDefect, ToolFailure, ToolSuccess, ToolUnknownOutcome
from lamina.effect import log
from lamina.schema import Codec


def encode(
    success: Codec[object], failure: Codec[object] | None, returned: object, name: str
) -> ToolSuccess | ToolFailure | ToolDefect | ToolUnknownOutcome:
    """Encode a handler's `Result`; whatever is not declared is a defect and is withheld.

    A handler that answers `OutcomeUnknown` says so of its call, whatever it declares.

    Args:
        success: The schema of the value.
        failure: The schema of the declared failures; None where there are none.
        returned: What the handler returned.
        name: The capability's name, for the log.
    """
    if isinstance(returned, Success):
        encoded = success.encode(cast("Success[object]", returned).unwrap())
        if not isinstance(encoded, Failure):
            return ToolSuccess(encoded.unwrap())
        log().error("the returned value breaks the output schema", capability=name, problems=encoded.failure().problems)
    elif isinstance(returned, Failure) and isinstance(
        error := cast("Result[object, object]", returned).failure(), OutcomeUnknown
    ):
        return ToolUnknownOutcome()
    elif isinstance(returned, Failure) and failure is not None:
        error = cast("Result[object, object]", returned).failure()
        encoded = failure.encode(error)
        if not isinstance(encoded, Failure):
            return ToolFailure(error, encoded.unwrap())
        log().error("the returned failure is not declared", capability=name, problems=encoded.failure().problems)
    else:
        log().error("a handler returned neither Success nor a declared Failure", capability=name)
    return ToolDefect("output")
