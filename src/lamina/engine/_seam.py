"""The commands of one run, as the run sees them: what was announced, taken and given back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Literal

from lamina.conversation import InputRecorded, Record
from lamina.steering import Command, Steering, SteeringError


class Seam:
    """What a run that takes commands knows of them.

    Attributes:
        service: What keeps them.
        state: Whether it takes some for this run.
        ready: Set as soon as that is known for good: the queue is open, or will not be.
        early: How many spoke before it was open, and have no answer yet.
        heard: Set when all of those have theirs.
        announced: The ids that the observers were told of.
        taken: What is in the transcript and not yet noted as delivered.
        logged: The input ids of what of it the log has taken.
        is_fed: Whether the next request has its share already.
        failure: Why its end could not be settled.
        undelivered: What was admitted and will not be delivered; of a suspended run, what waits for it to go on.
    """

    __slots__ = (
        "announced",
        "early",
        "failure",
        "heard",
        "is_fed",
        "logged",
        "ready",
        "service",
        "state",
        "taken",
        "undelivered",
    )

    def __init__(self, service: Steering) -> None:
        self.service = service
        self.state: Literal["new", "open", "closed"] = "new"
        self.ready = asyncio.Event()
        self.early = 0
        self.heard = asyncio.Event()
        self.announced: set[str] = set()
        self.taken: list[Command] = []
        self.logged: set[str] = set()
        self.is_fed = False
        self.failure: SteeringError | None = None
        self.undelivered: tuple[Command, ...] = ()

    def landed(self, records: Iterable[Record]) -> None:
        """Note what of the commands is in the log now."""
        if self.taken:
            self.logged |= {record.input_id for record in records if isinstance(record, InputRecorded)}


def input_of(command: Command) -> str:
    """Give the id of the input that a command becomes: without a conversation an id is only its run's own."""
    return command.id if command.conversation is not None else f"{command.run}+{command.id}"
