"""Where a run is to be, and what it does where another run is."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import attrs

from lamina.conversation import Conversations, InvalidId, check_clean
from lamina.effect import ConstructionError, Problem, caller_where
from lamina.engine import CleanHistories
from lamina.redaction import Secrets

Busy: TypeAlias = Literal["reject", "queue", "steer", "fork"]
"""What a run does whose conversation another run has: fail with `ConversationBusy`, wait for it, give it the input, or
go its own way."""
_BUSY = get_args(Busy)


def check_busy(busy: object) -> None:
    """Refuse what is no way to be busy: a word that is misspelt must not make a run go some other way.

    Raises:
        ConstructionError: It is none of `Busy`.
    """
    if busy not in _BUSY:
        line = f"busy is one of {', '.join(_BUSY)}  {caller_where()}"
        raise ConstructionError([Problem("BUSY", repr(busy)[:80], (line,))])


@attrs.frozen(eq=False, kw_only=True)
class Place:
    """Where a run is to be: a conversation, on whose behalf, and what happens if it is in use.

    Attributes:
        said: What was said in conversations, as far as it is known to hold no secret.
        refused: Why it can be no place for a run; None where it can.
    """

    conversations: Conversations
    conversation: str
    principal: str | None
    busy: Busy
    said: CleanHistories
    refused: InvalidId | None = None

    def without(self, secrets: Secrets) -> Place:
        """Refuse a place that is named with a secret, for names are in every record and event, and in what is shown."""
        refused = check_clean("conversation", self.conversation, secrets)
        refused = refused or check_clean("principal", self.principal, secrets)
        if refused is None:
            return self
        return attrs.evolve(self, conversation=secrets.redact_text(self.conversation), refused=refused)
