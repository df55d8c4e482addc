"""What has counted once: remembered by this process, or by the store that all processes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import Literal, TypeAlias, cast

from returns.result import Failure

from lamina.store import Statement, Store, Unmet

Once: TypeAlias = Literal["new", "seen", "full", "down"]
"""Whether a request counts for the first time; `full` and `down` say that nobody knows, and to try again later."""

_COUNT = "SELECT count(*) FROM signed_request"
_FORGET = "DELETE FROM signed_request WHERE until < $1"
_KEEP = "INSERT INTO signed_request (signer, nonce, until) VALUES ($1, $2, $3)"


class Nonces(ABC):
    """Remembers which requests have counted.

    Attributes:
        durable: Whether it knows what was let in before this process began, and what others let in.
    """

    durable: bool

    @abstractmethod
    async def once(self, signer: str, nonce: str, now: float, until: float) -> Once:
        """Take a nonce of a signer's, and tell whether it was taken before.

        Args:
            signer: The key's id.
            nonce: What the signer has used for one request alone.
            now: The time, in seconds since 1970.
            until: After when no signature that is let in now counts any more.
        """


class OwnNonces(Nonces):
    """Remembered by this process.

    Args:
        most: How many; one more is not let in, since no other can be forgotten yet.
    """

    durable = False

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def once(self, signer: str, nonce: str, now: float, until: float) -> Once:
        """Take a nonce."""
        while self._seen and next(iter(self._seen.values())) < now:
            self._seen.popitem(last=False)
        if (signer, nonce) in self._seen:
            return "seen"
        if len(self._seen) >= self._most:
            return "full"
        self._seen[signer, nonce] = until
        return "new"


class StoredNonces(Nonces):
    """Remembered by a durable store: of any number of processes, and after any crash, one lets a request in once.

    Args:
        store: Where.
        most: How many, of all processes; a few more may come in at once.
    """

    durable = True

    def __init__(self, store: Store, most: int) -> None:
        self._store = store
        self._most = most

    async def once(self, signer: str, nonce: str, now: float, until: float) -> Once:
        """Take a nonce; it is committed before anybody acts on it."""
        forget = Statement(_FORGET, (int(now * 1_000_000),))
        held = await self._held()
        if held is not None and held >= self._most:  # some of it may be over
            await self._store.write(forget)
            held = await self._held()
        if held is None or held >= self._most:
            return "down" if held is None else "full"
        keep = Statement(_KEEP, (signer, nonce, int(until * 1_000_000)), rows=1)
        written = await self._store.write(forget, keep)
        if isinstance(written, Failure):
            return "seen" if isinstance(written.failure(), Unmet) else "down"
        return "new"

    async def _held(self) -> int | None:
        counted = await self._store.read(_COUNT)
        return None if isinstance(counted, Failure) else cast("int", counted.unwrap()[0][0])
