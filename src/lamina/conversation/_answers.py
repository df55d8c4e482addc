"""What the port of conversations answers with: records where they stand, who has a conversation, what waits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import attrs

from lamina.approval import ApprovalRequest
from lamina.call import Outcome
from lamina.conversation._history import History
from lamina.conversation._journal import RunLog, Tail
from lamina.conversation._records import ApprovalDecided, ApprovalRequested, Record
from lamina.effect import Value
from lamina.model import AssistantMessage
from lamina.schema import JsonValue


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Entry(Value):
    """One record where it stands in its log.

    Attributes:
        seq: Its position, from 1, without gaps.
        id: The record's id.
        batch: The id of the first record of its batch: records of one batch were committed together.
        kind: The record's class.
        version: The version of its form.
        created: When it was committed, UTC. Time orders nothing.
        record: The record.
        digest: The digest of everything up to the end of its batch.
    """

    seq: int
    id: str
    batch: str
    kind: str
    version: int
    created: datetime
    record: Record
    digest: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Summary(Value):
    """What a list says of a conversation.

    Attributes:
        id: Its id.
        created: When it began, UTC.
        tail: Where its log ends.
        run: The run that has it; None where it is free.
        state: What that run does.
        forked_from: The conversation that it was forked from.
        forked_seq: The last position that was copied.
    """

    id: str
    created: datetime
    tail: Tail
    run: str | None
    state: Literal["active", "suspended"] | None
    forked_from: str | None
    forked_seq: int | None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Claim(Value):
    """A conversation that a run has.

    Attributes:
        history: What was said in it, valid: what an earlier claim's was, and what came after it (an exact prefix).
        tail: Where its log ended when the claim was made.
        repairs: What had to be repaired, one line each; recorded, and told to this claim only.
        log: Where the run's records go.
    """

    history: History
    tail: Tail
    repairs: tuple[str, ...]
    log: RunLog


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Resumed(Value):
    """A suspended run that exactly one owner took up again.

    Attributes:
        claim: The conversation; its history does not hold the open batch.
        agent: The agent of the run; None where the run did not record one.
        turn: The turn whose batch is open.
        response: The response whose calls wait; None where no batch is open.
        state: What the run put into its `RunSuspended`.
        nth: Which suspension this was; the next one's number is one more.
        outcomes: By call id, what has been settled of the open batch.
        started: The ids of its calls whose start is recorded.
        requests: By call id, what was asked of its calls.
        decisions: By call id, the decision that counts of its calls, be it on the call or on its tool.
        recorded: By call id, how many records of decisions there are.
        blanket: By tool, the decision that covers the run's calls of it.
    """

    claim: Claim
    agent: str | None
    turn: int
    response: AssistantMessage | None
    state: JsonValue
    nth: int
    outcomes: Mapping[str, Outcome]
    started: frozenset[str]
    requests: Mapping[str, ApprovalRequested]
    decisions: Mapping[str, ApprovalDecided]
    recorded: Mapping[str, int]
    blanket: Mapping[str, ApprovalDecided]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Pending(Value):
    """A request of a suspended run that waits for somebody's decision.

    Attributes:
        conversation: The conversation's id.
        run: The run's id.
        agent: The agent's id.
        turn: The turn whose batch is open.
        call: The call's id.
        request: What was asked, as it is shown.
        asked: When that was, UTC.
        expired: Whether its time is over, which is a denial: the run can be resumed, and nothing else.
        cursor: What `after` takes to go on behind it.
    """

    conversation: str
    run: str
    agent: str
    turn: int
    call: str
    request: ApprovalRequest
    asked: datetime
    expired: bool
    cursor: str
