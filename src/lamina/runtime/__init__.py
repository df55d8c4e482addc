"""The runtime: build it, run handlers and agents in it (design §3, §5)."""

from lamina.runtime._build import CLOSE_TIMEOUT, Opening, build, try_build
from lamina.runtime._builder import RuntimeBuilder
from lamina.runtime._runtime import Open, Runtime

__all__ = ["CLOSE_TIMEOUT", "Open", "Opening", "Runtime", "RuntimeBuilder", "build", "try_build"]
