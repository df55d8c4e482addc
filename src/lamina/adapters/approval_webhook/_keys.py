"""Who may ask: keys by their id, a window of time, and nonces that are remembered for as long as that lasts."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Literal

import attrs

from lamina.adapters.approval_webhook._nonces import Nonces, OwnNonces, StoredNonces
from lamina.adapters.approval_webhook._signing import KEY, NONCE, SIGNATURE, TIMESTAMP, signature_of, well_formed
from lamina.effect import Clock, ConstructionError, Problem, Value, caller_where
from lamina.store import Store

SHORTEST_SECRET = 32
_ID = re.compile(r"[A-Za-z0-9._@+-]{1,128}\Z", re.ASCII)
_NOBODY = "-" * SHORTEST_SECRET


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Key(Value):
    """Somebody who may see what waits, and decide.

    Attributes:
        id: Who that is, and so who a decision is by: 1 to 128 letters, digits and `._@+-`.
        secret: At least 32 characters, known to nobody else; it is never shown.
        principal: Whose conversations it is for; None is those of nobody.
        decides: Whether it may decide; otherwise it only sees.

    Raises:
        ConstructionError: With everything that is wrong.

    Example:
        >>> Key(id="ada", secret="0123456789abcdef0123456789abcdef")
        Key(id='ada', principal=None, decides=True)
    """

    id: str
    secret: str = attrs.field(repr=False)
    principal: str | None = None
    decides: bool = True

    def __attrs_post_init__(self) -> None:
        lines: list[str] = []
        if not _ID.match(self.id):
            lines.append("id is 1 to 128 letters, digits and ._@+-")
        if len(self.secret) < SHORTEST_SECRET:
            lines.append(f"secret has at least {SHORTEST_SECRET} characters")
        if lines:
            raise ConstructionError([Problem("KEY", "Key", (*lines, str(caller_where())))])


class Gate:
    """Tells who signed a request, once.

    A signature counts within the window round its time. Where nonces are remembered by this process only, it does not
    count if it was made before the gate was: what a process before it took must not count again.

    Args:
        keys: All keys.
        clock: What the window is measured by.
        window: Seconds that a request's time may be off, either way.
        nonces: What remembers which requests have counted.
    """

    def __init__(self, keys: Iterable[Key], clock: Clock, window: float, nonces: Nonces) -> None:
        self._keys = {key.id: key for key in keys}
        self._clock = clock
        self._window = window
        self._nonces = nonces
        self._since = 0 if nonces.durable else int(clock.now().timestamp())

    async def admit(
        self, headers: Mapping[str, str], method: str, target: str, body: bytes
    ) -> Key | Literal["no", "later"]:
        """Give the key that signed a request; `no` says nothing of why, `later` that it is to be tried again."""
        name, timestamp, nonce, given = (headers.get(each, "") for each in (KEY, TIMESTAMP, NONCE, SIGNATURE))
        if not well_formed(timestamp, nonce):
            return "no"
        key = self._keys.get(name)
        # Without a key it takes as long: nobody learns which ids there are.
        secret = _NOBODY if key is None else key.secret
        wanted = signature_of(secret, name, method, target, timestamp, nonce, body)
        same = hmac.compare_digest(wanted.encode(), given.encode(errors="replace"))
        now = self._clock.now().timestamp()
        in_time = abs(now - int(timestamp)) <= self._window and int(timestamp) >= self._since
        if key is None or not same or not in_time:
            return "no"
        # Not before then is the latest moment over at which any signature that is let in now counts.
        once = await self._nonces.once(key.id, nonce, now, now + 2 * self._window)
        return key if once == "new" else "no" if once == "seen" else "later"


def gate(keys: Iterable[Key], clock: Clock, window: float, nonces: int, store: Store | None) -> Gate:
    """Make a gate, if everything it is made of can be; a durable store remembers for it, otherwise this process does.

    Raises:
        ConstructionError: With everything that is wrong.
    """
    given = list(keys)
    lines: list[str] = []
    if not given:
        lines.append("keys holds at least one key")
    if len({key.id for key in given}) != len(given):
        lines.append("each key has an id of its own")
    if not 1 <= window <= 3_600:
        lines.append("window is 1 to 3,600 seconds")
    if nonces < 1:
        lines.append("nonces is a positive number")
    if lines:
        raise ConstructionError([Problem("APPROVALS", "approval_app", (*lines, str(caller_where())))])
    remembers = OwnNonces(nonces) if store is None or not store.durable else StoredNonces(store, nonces)
    return Gate(given, clock, window, remembers)
