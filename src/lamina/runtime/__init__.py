"""The runtime: build it, run handlers and agents in it, and offer it to callers from outside (design §3, §5, §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._lazy import lazily
from lamina.runtime._build import CLOSE_TIMEOUT, Opening, build, try_build
from lamina.runtime._builder import RuntimeBuilder
from lamina.runtime._open import Open
from lamina.runtime._runtime import Runtime

if TYPE_CHECKING:
    from lamina.runtime._changes import Changes
    from lamina.runtime._offers import OfferedPrompt, OfferedResource, prompt, resource

__all__ = [
    "CLOSE_TIMEOUT",
    "Changes",
    "OfferedPrompt",
    "OfferedResource",
    "Open",
    "Opening",
    "Runtime",
    "RuntimeBuilder",
    "build",
    "prompt",
    "resource",
    "try_build",
]

# What serves callers from outside is loaded when it is asked for, as in `lamina.call`.
_HOME_OF = {
    "Changes": "_changes",
    "OfferedPrompt": "_offers",
    "OfferedResource": "_offers",
    "prompt": "_offers",
    "resource": "_offers",
}

__getattr__, __dir__ = lazily(__name__, _HOME_OF, __all__)
