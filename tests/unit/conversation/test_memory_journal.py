"""Records and the journal in memory: deterministic ids, idempotent appends, and a limit that drops nothing."""

from __future__ import annotations

import pytest
from returns.result import Failure, Success

from lamina.call import CallKey, ToolSuccess
from lamina.conversation import (
    CallStarted,
    JournalFailed,
    MemoryJournal,
    Record,
    ResponseDeclared,
    ResultSettled,
    RunEnded,
    TurnAdvanced,
)
from lamina.model import AssistantMessage

KEY = CallKey("run-1", 2, "c")
RECORDS: list[tuple[Record, str]] = [
    (ResponseDeclared("run-1", 2, AssistantMessage(())), "declared:run-1/2"),
    (CallStarted(KEY, "digest", None), "started:run-1/2/c"),
    (ResultSettled(KEY, ToolSuccess(1)), "settled:run-1/2/c"),
    (TurnAdvanced("run-1", 2), "advanced:run-1/2"),
    (RunEnded("run-1", "completed"), "ended:run-1"),
]


@pytest.mark.parametrize(("record", "expected"), RECORDS)
def test_a_record_has_the_id_of_its_point(record: Record, expected: str) -> None:
    assert record.id == expected


async def test_records_stay_in_order() -> None:
    journal = MemoryJournal()
    for record, _ in RECORDS:
        assert await journal.append(record) == Success(None)

    assert journal.records == tuple(record for record, _ in RECORDS)


async def test_the_same_record_twice_is_kept_once_and_another_under_its_id_is_refused() -> None:
    journal = MemoryJournal()
    await journal.append(RunEnded("run-1", "completed"))

    assert await journal.append(RunEnded("run-1", "completed")) == Success(None)
    refused = await journal.append(RunEnded("run-1", "failed", "Boom"))
    assert refused == Failure(JournalFailed("ended:run-1", "another record has its id"))
    assert journal.records == (RunEnded("run-1", "completed"),)


async def test_a_full_journal_refuses_new_records_and_knows_its_own() -> None:
    journal = MemoryJournal(limit=1)
    await journal.append(TurnAdvanced("run-1", 1))

    refused = await journal.append(TurnAdvanced("run-1", 2))
    assert str(refused.failure()) == (
        "The journal did not take the record advanced:run-1/2: the limit of 1 records is reached."
    )
    assert await journal.append(TurnAdvanced("run-1", 1)) == Success(None)
