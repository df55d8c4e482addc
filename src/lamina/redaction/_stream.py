"""A text that comes in pieces: a secret that is split over them is found all the same."""

from __future__ import annotations

from lamina.redaction._matcher import MASK
from lamina.redaction._secrets import Secrets


class StreamRedactor:
    """Redacts the deltas of one text.

    All that it lets out, joined, is what `redact_text` gives of the whole; with patterns at least as much is hidden.

    When to use: one for each text that is streamed, as between `TextStart` and `TextEnd`.

    Held back is what may be the beginning of a known secret, so that mostly nothing is; where there are patterns also
    as many characters as the longest of their matches may have, less one.

    Args:
        secrets: What is looked for; a secret that is registered meanwhile is looked for from then on.

    Example:
        >>> redactor = StreamRedactor(Secrets("s3cr3t-token"))
        >>> [redactor.feed("It is s3cr"), redactor.feed("3t-token, and"), redactor.end()]
        ['It is ', '[REDACTED:secret], and', '']
    """

    __slots__ = ("_done", "_safe", "_secrets", "_text")

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        # What has come, without what is not needed any more. `_done` characters of it are let out, or hidden; nothing
        # that begins before `_safe` is still open. What is hidden may hold the beginning of another secret, so `_safe`
        # may be less.
        self._text = ""
        self._done = 0
        self._safe: int = 0

    def feed(self, delta: str) -> str:
        """Take the next piece, and give what can be let out: often less, sometimes nothing."""
        if not self._secrets.active:
            return delta
        matcher = self._secrets.matcher()
        self._text += delta
        safe = min(matcher.unfinished(self._text, self._safe), len(self._text) - matcher.lag)
        self._safe = max(self._safe, safe)
        out = self._let_out(self._safe)
        # A look-behind of a pattern sees as far back as its match may be long.
        unneeded = min(self._done, self._safe) - matcher.lag
        if unneeded > 0:
            self._text = self._text[unneeded:]
            self._done -= unneeded
            self._safe -= unneeded
        return out

    def end(self) -> str:
        """Give what is left: the text has ended."""
        out = self._let_out(len(self._text)) if self._secrets.active else self._text[self._done :]
        self._text, self._done, self._safe = "", 0, 0
        return out

    def _let_out(self, safe: int) -> str:
        """Let out all before `safe`; a secret that begins there is hidden to its end, which may lie behind."""
        pieces: list[str] = []
        for start, end in self._secrets.matcher().spans(self._text):
            if end <= self._done:
                continue
            if start >= safe:
                break
            if start >= self._done:
                pieces += (self._text[self._done : start], MASK)
            self._done = end  # a start before `_done` goes on with a secret that is hidden already
        if safe > self._done:
            pieces.append(self._text[self._done : safe])
            self._done = safe
        return "".join(pieces)
