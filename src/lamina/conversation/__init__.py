"""Conversations: canonical records, the history that they come to, and what a run commits (seed 004 §3, design §8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._lazy import lazily
from lamina.conversation._errors import (
    AlreadyDecided,
    AppendConflict,
    ApprovalLapsed,
    ArgumentsDiffer,
    ConversationBusy,
    ConversationDamaged,
    ConversationError,
    ConversationExists,
    DecideError,
    ForkRefused,
    InvalidId,
    NotAllowed,
    NotAsked,
    NotSuspended,
    RecordRefused,
    RecordUnknown,
)
from lamina.conversation._history import History, Transcript, history_problems
from lamina.conversation._ids import check_clean, check_decision, check_id, check_principal
from lamina.conversation._outcomes import RecordedError
from lamina.conversation._projection import project, result_of, stronger
from lamina.conversation._records import (
    ApprovalDecided,
    ApprovalRequested,
    CallStarted,
    ConversationCreated,
    ConversationForked,
    Ending,
    InputKind,
    InputRecorded,
    Record,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunResumed,
    RunSuspended,
    TurnAdvanced,
    run_of,
)
from lamina.conversation.memory import MemoryJournal
from lamina.conversation.port import (
    Claim,
    Conversations,
    Entry,
    Journal,
    JournalFailed,
    Pending,
    Resumed,
    RunLog,
    Summary,
    Tail,
)

if TYPE_CHECKING:
    from lamina.conversation._export import verify_export
    from lamina.conversation.stored import StoredConversations, stored_conversations

__all__ = [
    "AlreadyDecided",
    "AppendConflict",
    "ApprovalDecided",
    "ApprovalLapsed",
    "ApprovalRequested",
    "ArgumentsDiffer",
    "CallStarted",
    "Claim",
    "ConversationBusy",
    "ConversationCreated",
    "ConversationDamaged",
    "ConversationError",
    "ConversationExists",
    "ConversationForked",
    "Conversations",
    "DecideError",
    "Ending",
    "Entry",
    "ForkRefused",
    "History",
    "InputKind",
    "InputRecorded",
    "InvalidId",
    "Journal",
    "JournalFailed",
    "MemoryJournal",
    "NotAllowed",
    "NotAsked",
    "NotSuspended",
    "Pending",
    "Record",
    "RecordRefused",
    "RecordUnknown",
    "RecordedError",
    "RepairAnnotated",
    "ResponseDeclared",
    "ResultSettled",
    "Resumed",
    "RunBegan",
    "RunEnded",
    "RunLog",
    "RunResumed",
    "RunSuspended",
    "StoredConversations",
    "Summary",
    "Tail",
    "Transcript",
    "TurnAdvanced",
    "check_clean",
    "check_decision",
    "check_id",
    "check_principal",
    "history_problems",
    "project",
    "result_of",
    "run_of",
    "stored_conversations",
    "stronger",
    "verify_export",
]

# What keeps them, and what that imports, is loaded when it is asked for: an agent without a store pays nothing for it.
_HOME_OF = {
    "StoredConversations": "stored",
    "stored_conversations": "stored",
    "verify_export": "_export",
}

__getattr__, __dir__ = lazily(__name__, _HOME_OF, __all__)
