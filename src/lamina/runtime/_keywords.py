"""The keywords of `Runtime.surface` and `Open.surface`: as the types see them, and as they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import attrs

from lamina.call import DEFAULT_RESULT_BYTES
from lamina.runtime._changes import Changes
from lamina.runtime._offers import OfferedPrompt, OfferedResource


class SurfaceKeywords(TypedDict, total=False):
    """What a surface is called, and what goes with it; `SurfaceOptions` has the defaults."""

    name: str | None
    """What it is called on the wire; `lamina`, or the agent's id, without it."""
    version: str
    """Its version; `0.1.0` without it."""
    description: str
    """For an agent: what its capability says of itself."""
    resources: Sequence[OfferedResource]
    """What can be read, made with `@resource(...)`, templates too."""
    prompts: Sequence[OfferedPrompt]
    """What a person may begin with, made with `@prompt(...)`; an agent brings its instructions."""
    changes: Changes | None
    """What the application announces changes with."""
    result_bytes: int
    """The bound of a result's JSON, 50 KiB without it; one that is `Contents` may have 4 MiB."""
    list_all: bool
    """For hosts that list once; see `lamina.call.presented`."""
    read_tools: bool
    """For hosts that read no resources; see there."""
    inline_defs: bool
    """For hosts that do not follow references; see there."""


@attrs.frozen(kw_only=True)
class SurfaceOptions:
    """What `rt.surface(...)` was told; `SurfaceKeywords` says what each is."""

    name: str | None = None
    version: str = "0.1.0"
    description: str = ""
    resources: Sequence[OfferedResource] = ()
    prompts: Sequence[OfferedPrompt] = ()
    changes: Changes | None = None
    result_bytes: int = DEFAULT_RESULT_BYTES
    list_all: bool = False
    read_tools: bool = False
    inline_defs: bool = False
