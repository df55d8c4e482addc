"""Conversations: history, and what a run commits (design §8)."""

from lamina.conversation._history import History, Transcript, history_problems
from lamina.conversation._records import (
    CallStarted,
    Record,
    ResponseDeclared,
    ResultSettled,
    RunEnded,
    TurnAdvanced,
)
from lamina.conversation.memory import MemoryJournal
from lamina.conversation.port import Journal, JournalFailed

__all__ = [
    "CallStarted",
    "History",
    "Journal",
    "JournalFailed",
    "MemoryJournal",
    "Record",
    "ResponseDeclared",
    "ResultSettled",
    "RunEnded",
    "Transcript",
    "TurnAdvanced",
    "history_problems",
]
