"""What conversations are held to, case by case; each name is a sentence of the report."""

from __future__ import annotations

from lamina.testing._conversation_approvals import APPROVAL_CASES
from lamina.testing._conversation_log import LOG_CASES
from lamina.testing._conversation_owners import OWNER_CASES
from lamina.testing._conversation_reading import READING_CASES
from lamina.testing._conversation_scene import Case

CASES: tuple[Case, ...] = (*LOG_CASES, *OWNER_CASES, *APPROVAL_CASES, *READING_CASES)
