"""What SIGTERM and a terminal that goes away do: what Ctrl-C does, so that nothing the command started outlives it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Generator
from types import FrameType

import attrs

_NAMES = ("SIGTERM", "SIGHUP")  # not every system has the second


@attrs.define
class Told:
    """Which signal said that the command is to end.

    Attributes:
        code: The exit code for it; 0 where there was none.
    """

    code: int = 0


@contextlib.contextmanager
def ending_signals() -> Generator[Told]:
    """Take each as a Ctrl-C, where it would end the process at once; one that is ignored, as under nohup, stays so."""
    told, before = Told(), dict[int, signal.Handlers]()

    def end(number: int, frame: FrameType | None) -> None:
        told.code = 128 + number
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background: nobody else would act on it
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    try:
        with contextlib.suppress(ValueError):  # not the main thread
            for name in _NAMES:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, end)
                    before[number] = signal.SIG_DFL
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
