"""Sessions: named records that point to conversations, and are never the history (seed 004 §3)."""

from lamina.session._form import MetadataForm, MetadataUnknown
from lamina.session.port import (
    Metadata,
    Session,
    SessionClosed,
    SessionConflict,
    SessionError,
    SessionExists,
    SessionPatch,
    SessionRefused,
    SessionStore,
)
from lamina.session.stored import StoredSessions, stored_sessions

__all__ = [
    "Metadata",
    "MetadataForm",
    "MetadataUnknown",
    "Session",
    "SessionClosed",
    "SessionConflict",
    "SessionError",
    "SessionExists",
    "SessionPatch",
    "SessionRefused",
    "SessionStore",
    "StoredSessions",
    "stored_sessions",
]
