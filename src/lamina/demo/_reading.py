"""How the demo's deterministic model judges a report: by words, and in the open."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lamina.demo._agent import Finding, Severity
from lamina.demo._folder import Label

_RULES: tuple[tuple[Label, Severity, re.Pattern[str]], ...] = (
    ("security", "critical", re.compile(r"password|credential|secret|vulnerab|\btokens?\b", re.IGNORECASE)),
    ("data-loss", "high", re.compile(r"\bloses?\b|\blost\b|data loss|overwrit", re.IGNORECASE)),
    ("crash", "high", re.compile(r"traceback|\bcrash(?:es|ed)?\b|\bclose[sd]?\b|segfault|\w+Error\b", re.IGNORECASE)),
    ("slow", "medium", re.compile(r"\bslow|freez|hangs\b|\bseconds\b", re.IGNORECASE)),
    ("wording", "low", re.compile(r"\btypo|spelling|wording|translation", re.IGNORECASE)),
)
_ORDER: Mapping[Severity, int] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_CLUE = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Error|Exception)\b")
_MENTION = re.compile(r"(?<![\w./-])[\w-]+\.(?:log|txt|json|yaml|toml|csv)\b")


def judge(name: str, text: str) -> Finding:
    """Judge one report by the first rule whose words it holds, and quote the line that it went by.

    Example:
        >>> judge("a.md", "# Typo in the menu").label
        'wording'
    """
    for label, severity, words in _RULES:
        if words.search(text):
            line = next(line for line in text.splitlines() if words.search(line))
            return Finding(name, label, severity, f"It says: {line.strip(' #')[:200]}")
    return Finding(name, "unclear", "low", "It does not say what happened.")


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Sort by severity, then by name."""
    return sorted(findings, key=lambda finding: (_ORDER[finding.severity], finding.report))


def clue_in(texts: Mapping[str, str]) -> str | None:
    """Give the first error that a report names, to search the others for.

    Example:
        >>> clue_in({"a.md": "It ends with an IndexError."})
        'IndexError'
    """
    found = (_CLUE.search(text) for text in texts.values())
    return next((match.group() for match in found if match), None)


def mentioned_in(texts: Mapping[str, str]) -> str | None:
    """Give the first file that a report says to have come with it.

    Example:
        >>> mentioned_in({"a.md": "The output is in crash.log."})
        'crash.log'
    """
    found = (name for text in texts.values() for name in _MENTION.findall(text))
    return next((name for name in found if name not in texts), None)
