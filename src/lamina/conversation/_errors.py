"""Why a conversation, or a session, does not do what it was asked.

    ConversationError
      InvalidId            an id or a principal that cannot be one                  never
      NotAllowed           it is not there, or another principal's                  never
      ConversationBusy     another run has it                                       when that run has ended
      AppendConflict       it moved on meanwhile                                    after loading it again
      RecordRefused        a record that cannot be stored, or is another's          never
      RecordUnknown        a record of a newer release                              never
      ConversationDamaged  a gap, a changed or a malformed record                   never; fork before it
      ForkRefused          not a point at which a log can be cut                    at another point
      ConversationExists   a fork's name is taken                                   under another name
      StoreError           the database's own

Each sentence is fixed and quotes no content.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from lamina.effect import tagged
from lamina.store import StoreError

_NO_IDS = frozenset({"principal", "author", "approver", "decision", "cursor"})


@tagged("The {named} is refused: {why}.")
class InvalidId:
    """An id, a principal or a decision that cannot be one; see `check_id` and `check_decision`.

    Attributes:
        what: `conversation`, `run`, `session`, `principal`, `input`, `decision` and the like.
        why: What is wrong with it; it is not quoted.
    """

    what: str
    why: str

    @property
    def named(self) -> str:
        """What it is, in words: a person is not an id, and neither is a decision."""
        return self.what if self.what in _NO_IDS else f"{self.what} id"


@tagged("There is no {what} {id} that may be used here.")
class NotAllowed:
    """There is none of that id, or it is another principal's: the two are not told apart.

    Attributes:
        what: `conversation` or `session`.
        id: Its id.
    """

    what: Literal["conversation", "session"]
    id: str


@tagged("The conversation {conversation} is in use: the run {run} is {state}.")
class ConversationBusy:
    """Another run has the conversation, and keeps it until it ends, is aborted, or its lease is over.

    Attributes:
        conversation: Its id.
        run: The run that has it.
        state: What that run does. A suspended one waits for somebody, and nothing ends by itself.
        until: When an active run's lease is over, unless it is renewed; None for a suspended one.
    """

    conversation: str
    run: str
    state: Literal["active", "suspended"]
    until: datetime | None = None


@tagged("The conversation {conversation} was expected at {expected}, and is at {actual}.")
class AppendConflict:
    """Another owner was first; nothing was written.

    Attributes:
        conversation: Its id.
        expected: The position after which the append wanted to write.
        actual: Where the log ends. It may be the same: then the run's ownership was taken over, and its writes are
            fenced off.
    """

    conversation: str
    expected: int
    actual: int


@tagged("The record {record} is refused: {why}.")
class RecordRefused:
    """A record that cannot be kept as it is, or whose id another record has; nothing was written.

    Attributes:
        record: Its id.
        why: What is wrong, without any content.
    """

    record: str
    why: str


@tagged("The conversation {conversation} holds at {seq} a record of kind {kind} and version {version}, unknown here.")
class RecordUnknown:
    """A newer release has been at work; nothing was written (STORE-011).

    Attributes:
        conversation: Its id.
        seq: The record's position.
        kind: Its kind.
        version: Its version.
    """

    conversation: str
    seq: int
    kind: str
    version: int


@tagged("The conversation {conversation} is damaged at {seq}: {why}.")
class ConversationDamaged:
    """The log is not what was appended; nothing was written. A fork before `seq` still works.

    Attributes:
        conversation: Its id.
        seq: The first position that is wrong.
        why: `gap`, `digest` or `record`.
    """

    conversation: str
    seq: int
    why: Literal["gap", "digest", "record"]


@tagged("The conversation {conversation} cannot be forked at {at}: {why}; {nearest} is possible.")
class ForkRefused:
    """A fork never cuts a batch of records, nor a batch of calls, in two.

    Attributes:
        conversation: Its id.
        at: The position that was asked for.
        nearest: The last position before it at which a fork is possible.
        why: `inside a batch`, `calls wait for their results` or `past the end`.
    """

    conversation: str
    at: int
    nearest: int
    why: str


@tagged("There is a conversation {conversation} already.")
class ConversationExists:
    """A fork's name is taken by something else."""

    conversation: str


@tagged("The run {run} is not suspended any more.")
class AlreadyDecided:
    """Somebody else resumed the run, or it has ended; nothing is run here.

    Attributes:
        conversation: The conversation's id.
        run: The run's id.
    """

    conversation: str
    run: str


@tagged("No run of the conversation {conversation} is suspended.")
class NotSuspended:
    """Nothing of it waits for a decision.

    Attributes:
        conversation: The conversation's id.
    """

    conversation: str


@tagged("Nobody asked about the call {call} of the run {run}.")
class NotAsked:
    """The open batch of the suspended run has no such call, or it needs no approval.

    Attributes:
        run: The run's id.
        call: The call's id.
    """

    run: str
    call: str


@tagged("The decision on the call {call} is of other arguments than those that it has.")
class ArgumentsDiffer:
    """What was decided on is not what would run; nothing was written.

    Attributes:
        run: The run's id.
        call: The call's id.
    """

    run: str
    call: str


@tagged("The time in which the call {call} could be approved is over.")
class ApprovalLapsed:
    """The request has expired, which is a denial; resuming the run concludes it.

    Attributes:
        run: The run's id.
        call: The call's id.
        expired_at: When that was, UTC.
    """

    run: str
    call: str
    expired_at: datetime


ConversationError: TypeAlias = (
    InvalidId
    | NotAllowed
    | ConversationBusy
    | AppendConflict
    | RecordRefused
    | RecordUnknown
    | ConversationDamaged
    | ForkRefused
    | ConversationExists
    | StoreError
)
"""Every reason for which a conversation does not do what it was asked."""

DecideError: TypeAlias = ConversationError | AlreadyDecided | NotAsked | ArgumentsDiffer | ApprovalLapsed
"""Every reason for which a decision from outside is not recorded."""
