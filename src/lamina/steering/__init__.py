"""Steering: what is said to a run while it is active, and goes in at a safe point (seed 004 §4)."""

from lamina.steering._check import check_command
from lamina.steering.memory import MemorySteering, memory_steering
from lamina.steering.port import (
    LONGEST_TEXT,
    MOST_COMMANDS,
    Closed,
    Command,
    CommandConflict,
    CommandKind,
    CommandRefused,
    CommandState,
    Placed,
    Receipt,
    Steering,
    SteeringClosed,
    SteeringError,
    SteeringFull,
)
from lamina.steering.stored import StoredSteering, stored_steering

__all__ = [
    "LONGEST_TEXT",
    "MOST_COMMANDS",
    "Closed",
    "Command",
    "CommandConflict",
    "CommandKind",
    "CommandRefused",
    "CommandState",
    "MemorySteering",
    "Placed",
    "Receipt",
    "Steering",
    "SteeringClosed",
    "SteeringError",
    "SteeringFull",
    "StoredSteering",
    "check_command",
    "memory_steering",
    "stored_steering",
]
