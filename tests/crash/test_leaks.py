"""What a thousand runs in one conversation leave; those in as many conversations are row 14 of tests/rivals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.leaking import grown, left_by

SAID = {"AssistantMessage", "Text", "ToolCall", "ToolMessage", "ToolResult", "UserMessage"}


@pytest.mark.timeout(400)
def test_in_one_conversation_nothing_grows_but_what_was_said(tmp_path: Path) -> None:
    assert grown(left_by("sqlite", str(tmp_path / "store.db"), 1_000)) <= SAID
