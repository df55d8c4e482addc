"""The demo's second run: a real model, small enough to come in a package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina.cli._exits import OK

if TYPE_CHECKING:
    from lamina.cli._demo import Stage


def run_local(stage: Stage) -> int:
    """Run the small agent on the packaged model, or say how to get it."""
    return OK
