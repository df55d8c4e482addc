"""The service that knows what is secret, and takes it out of whatever may leave."""

from __future__ import annotations

import os
from collections.abc import Iterable
from threading import Lock
from typing import Self, TypeVar, cast

import orjson

from lamina.redaction._forms import forms_of
from lamina.redaction._matcher import MASK, Matcher, SecretPattern
from lamina.redaction._walk import TOO_LARGE, RedactionLimits, Walk
from lamina.schema import JsonValue

T = TypeVar("T")

SHORTEST_SECRET = 6
LONGEST_SECRET = 8_192
_DEFAULT_LIMITS = RedactionLimits()


class SecretRefused(ValueError):
    """A value cannot be kept secret; the sentence says why, and never quotes it."""


class Secrets:
    """The values that are known as secrets, and the patterns of those that are not (design §8, SEC-006).

    When to use: bind it, and whatever the runtime passes on goes through it once: what a model is told, what is
    recorded, what an observer sees, and what a run gives back hold `[REDACTED:secret]` instead.

    A value is found inside a longer text, in keys and in numbers, and in the forms of `forms_of`: as it is, in a JSON
    text, percent-encoded, and in base64, of which up to four bits may remain at either end. Where known values overlap
    all of them are hidden. A value that is spread over several texts, over two members of a list say, is not found.

    Args:
        values: Known secrets, of 6 to 8,192 characters; white space around them does not count.
        patterns: Expressions for others.
        limits: How far a value is looked through.

    Attributes:
        active: Whether there is anything to look for; where not, every method gives back what it was given.

    Raises:
        SecretRefused: A value is too short, too long, or one character over and over.

    Example:
        >>> secrets = Secrets("s3cr3t-token")
        >>> secrets.redact({"url": "https://h/?key=s3cr3t-token", "n": 1})
        {'url': 'https://h/?key=[REDACTED:secret]', 'n': 1}
        >>> secrets
        Secrets(1 value, 0 patterns)
    """

    __slots__ = ("_forms", "_limits", "_lock", "_matcher", "_patterns", "_values", "active")

    def __init__(
        self,
        *values: str,
        patterns: Iterable[SecretPattern] = (),
        limits: RedactionLimits = _DEFAULT_LIMITS,
    ) -> None:
        self._values: set[str] = set()
        self._forms: set[str] = set()
        self._patterns = tuple(patterns)
        self._limits = limits
        self._lock = Lock()
        self._matcher: Matcher | None = None
        # No property: it is asked for at every turn and call of every run, most of which have no secrets.
        self.active = bool(self._patterns)
        for value in values:
            self.register(value)

    @classmethod
    def from_environment(cls, *names: str, patterns: Iterable[SecretPattern] = ()) -> Self:
        """Take the values of environment variables; one that is not set, or is empty, has nothing to hide.

        Raises:
            SecretRefused: A value cannot be kept secret.

        Example:
            >>> Secrets.from_environment("A_VARIABLE_THAT_IS_NOT_SET").active
            False
        """
        return cls(*(value for name in names if (value := os.environ.get(name))), patterns=patterns)

    def register(self, value: str) -> None:
        """Know one more secret, from now on; what has left already has left.

        It may be called from any thread and as often as wanted.

        Args:
            value: The secret.

        Raises:
            SecretRefused: It has fewer than 6 or more than 8,192 characters, or is one character over and over: to
                hide it would blank ordinary text, and guess it anybody could.

        Example:
            >>> Secrets().register("1234")
            Traceback (most recent call last):
            lamina.redaction._secrets.SecretRefused: A secret has at least 6 characters; this one has 4.
        """
        value = value.strip()
        if len(value) < SHORTEST_SECRET:
            raise SecretRefused(f"A secret has at least {SHORTEST_SECRET} characters; this one has {len(value)}.")
        if len(value) > LONGEST_SECRET:
            raise SecretRefused(f"A secret has at most {LONGEST_SECRET} characters; this one has {len(value)}.")
        if len(set(value)) == 1:
            raise SecretRefused("A secret is more than one character over and over.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SecretRefused("A secret is a text that can be written as UTF-8.") from None
        forms = forms_of(value)
        if any(form in MASK for form in forms):
            raise SecretRefused("A secret is no part of the text that stands in place of secrets.")
        with self._lock:
            if value not in self._values:
                self._values.add(value)
                self._forms |= forms
                self._matcher = None
                self.active = True

    def redact(self, value: JsonValue) -> JsonValue:
        """Give a JSON value without secrets: the same object where it holds none.

        Args:
            value: The value; it is not changed.
        """
        if not self.active:
            return value
        matcher = self.matcher()
        if not matcher.patterns:
            try:
                data = orjson.dumps(value)
            except TypeError:  # nested too deeply, an integer beyond 64 bits, a lone surrogate: look at each part
                pass
            else:
                if len(data) > self._limits.bytes:
                    return TOO_LARGE
                if not matcher.json_may_hold(data):
                    return value
        return cast("JsonValue", Walk(matcher, self._limits).value(value))

    def redact_text(self, text: str) -> str:
        """Give a text without secrets: the same object where it holds none.

        Example:
            >>> Secrets("s3cr3t-token").redact_text("Bearer s3cr3t-token")
            'Bearer [REDACTED:secret]'
        """
        if not self.active:
            return text
        return TOO_LARGE if len(text) > self._limits.bytes else self.matcher().redacted(text)

    def redact_in(self, value: T) -> T:
        """Give a value of the framework's without secrets: messages, outcomes, records, events, tagged errors.

        attrs values, dataclasses, mappings, lists, tuples and sets are looked through, and copied where something is
        hidden, past their validators; any other object is kept as it is. The same object comes back where nothing is.

        Example:
            >>> import attrs
            >>> @attrs.frozen
            ... class Note:
            ...     text: str
            >>> Secrets("s3cr3t-token").redact_in(Note("it is s3cr3t-token")).text
            'it is [REDACTED:secret]'
        """
        if not self.active:
            return value
        return cast("T", Walk(self.matcher(), self._limits).value(value))

    def matcher(self) -> Matcher:
        """Give what finds the secrets that are known now."""
        made = self._matcher
        if made is None:
            with self._lock:
                made = self._matcher = Matcher(self._forms, self._patterns)
        return made

    def __repr__(self) -> str:
        """Count, and show nothing."""
        values, patterns = len(self._values), len(self._patterns)
        return f"Secrets({values} value{'s' * (values != 1)}, {patterns} pattern{'s' * (patterns != 1)})"

    def __reduce__(self) -> str | tuple[object, ...]:
        """Refuse to be copied or pickled: secrets stay where they are."""
        raise TypeError("Secrets are neither copied nor pickled")
