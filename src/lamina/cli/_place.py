"""`--store`: which database a session is in, named in a way that holds no password."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import attrs

from lamina.cli._exits import UsageError
from lamina.cli._plain import printable
from lamina.conversation import Conversations, stored_conversations
from lamina.effect import ConstructionError, Layer, message_of
from lamina.session import SessionStore, stored_sessions
from lamina.store import (
    Store,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    ValueRefused,
    postgres_store,
    sqlite_store,
)

DEFAULT_STORE = "lamina.db"
STORE_VARIABLE = "LAMINA_STORE"
STORE_HELP = f"a SQLite file, or postgresql://…; else ${STORE_VARIABLE}, else {DEFAULT_STORE} in the current directory"
AllKept: TypeAlias = Store | Conversations | SessionStore
STORE_ERRORS = (
    StoreUnavailable,
    StoreLocked,
    StoreFull,
    StoreReadOnly,
    StoreCorrupt,
    StoreTooNew,
    StoreForeign,
    ValueRefused,
)
_SCHEMES = ("postgresql://", "postgres://")
_LIKE_AN_ADDRESS = re.compile(r"(?i)^postgres(ql)?:|\bpassword\s*=")
_HIDDEN = "postgresql://…"
# What an address may say behind its question mark and be shown: where the server is, and never what opens it.
_SHOWN = frozenset({"host", "port", "user", "dbname", "database", "sslmode", "sslrootcert", "target_session_attrs"})
_ADDRESS = "Write postgresql://user@host:port/database, and what is special in a password as %XX, or use PGPASSWORD."


@attrs.frozen
class StorePlace:
    """Where conversations are kept.

    Attributes:
        text: A path, or the address of a PostgreSQL database.
        chosen: Whether somebody said so: then the commands that follow have to say it, too.
        named: Whether the command line itself says so.
    """

    text: str = attrs.field(repr=False)
    chosen: bool
    named: bool = False

    @property
    def is_server(self) -> bool:
        """Whether it is an address and no path."""
        return self.text.startswith(_SCHEMES)

    @property
    def title(self) -> str:
        """The place, for people: a path as it was given, an address without its password."""
        return printable(_without_password(self.text) if self.is_server else self.text)

    @property
    def words(self) -> str:
        """What has to be typed so that another command finds the same place, with a blank before it.

        It is nothing where the environment says it and a password with it: `--store` would come before that.
        """
        if not self.chosen:
            return ""
        shown = _without_password(self.text) if self.is_server else self.text
        return "" if not self.named and shown != self.text else f" --store {shlex.quote(shown)}"

    @property
    def is_new(self) -> bool:
        """Whether the file is still to be made."""
        return not self.is_server and not os.path.lexists(self.text)

    def spare(self, file: Path | None, what: str) -> None:
        """Refuse to write something else into the store's own files, which would be its end.

        The files are compared by their names and numbers: to open the store here, and close it, would take the locks
        away that SQLite has on it.

        Args:
            file: What is to be written; None is no file.
            what: What it is, for the sentence.

        Raises:
            UsageError: It is one of them.
        """
        if file is None or self.is_server:
            return
        for end in ("", "-wal", "-shm", "-journal"):
            if _is_same(file, Path(self.text + end)):
                raise UsageError(f"{what} cannot be written over the store {self.title}.", "Take another name.")

    def layer(self) -> Layer[AllKept, AllKept, StoreError]:
        """Offer the store, and what is kept in it.

        Raises:
            UsageError: It is no place for a store, or the driver is not installed.
        """
        try:
            store = postgres_store(self.text) if self.is_server else sqlite_store(self.text)
        except ConstructionError as error:
            mend = [problem.write for problem in error.problems if problem.write is not None]
            raise UsageError(f"The store {self.title} cannot be used here.", *(mend or [_ADDRESS])) from None
        return stored_sessions() | stored_conversations() | store

    def must_be_there(self) -> None:
        """Refuse a file that is missing or empty: a slip of the pen must not become an empty database.

        Raises:
            UsageError: There is no store there.
        """
        self.must_be_usable()
        if self.is_server:
            return
        if self.is_new:
            raise UsageError(f"There is no store {self.title}.", *self._nearby())
        path = Path(self.text)
        if path.is_file() and path.stat().st_size == 0:
            raise UsageError(f"The file {self.title} is empty: no session was ever kept in it.", *self._nearby())

    def must_be_usable(self) -> None:
        """Refuse a path that cannot be a file's.

        Raises:
            UsageError: It is a folder, or something else that is no file, or its folder is missing.
        """
        if self.is_server:
            return
        path = Path(self.text)
        if path.is_dir():
            hint = f"Name a file in it: --store {shlex.quote(printable(str(path / DEFAULT_STORE)))}"
            raise UsageError(f"The store {self.title} is a folder.", hint)
        if path.exists() and not path.is_file():
            raise UsageError(f"The store {self.title} is no file.", "Name a file with --store.")
        if not path.parent.is_dir():
            raise UsageError(f"There is no folder {printable(str(path.parent))} for the store.", "Make it first.")

    def _nearby(self) -> Sequence[str]:
        folder = Path(self.text).parent
        found = sorted(each.name for each in folder.glob("*.db") if each.is_file())[:4] if folder.is_dir() else []
        there = [f"There is {', '.join(map(printable, found))}."] if found else []
        return [*there, f"Name one with --store or {STORE_VARIABLE}; lamina run … --session NAME makes one."]


def store_place(given: str | None) -> StorePlace:
    """Tell where the store is: what the command line says, the environment, or the default.

    Raises:
        UsageError: The text can be no path.
    """
    text = given if given is not None else os.environ.get(STORE_VARIABLE) or None
    if text is None:
        return StorePlace(DEFAULT_STORE, chosen=False)
    source = "--store" if given is not None else STORE_VARIABLE
    if not text or "\0" in text or text == ":memory:" or len(text) > 4_096:
        raise UsageError(f"{source} has to name a file, or begin with postgresql://.")
    if "://" in text and not text.startswith(_SCHEMES):
        scheme = printable(text.partition("://")[0].rpartition(":")[2][:40])
        raise UsageError(f"There is no store of the kind {scheme}://.", "Write a path, or postgresql://…")
    if _LIKE_AN_ADDRESS.search(text) and not text.startswith(_SCHEMES):  # not quoted: it may hold a password
        raise UsageError(f"{source} is no address of a database.", _ADDRESS)
    return StorePlace(text, chosen=True, named=given is not None)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def store_trouble(title: str, error: StoreError) -> UsageError:
    """Say what is wrong with a store, and what to do about it."""
    return UsageError(f"The store {title}: {message_of(error)}", *next_for(error))


def next_for(error: object) -> tuple[str, ...]:
    """Say what to do about a store's error; nothing for any other."""
    return _NEXT.get(_kind(error), ())


_NEXT: dict[str, tuple[str, ...]] = {
    "missing": ("Look at the path, or the address: there is no such file, folder or database.",),
    "refused": ("You may not open it; look at its owner and its mode, or at the user and password.",),
    "unavailable": ("Try again in a moment.",),
    "lost": ("Is the server running, and is the address right? Then try again in a moment.",),
    "locked": ("Another process is writing; try again in a moment.",),
    "full": ("Make room on the disk; what was committed is still there.",),
    "readonly": ("It may be read only, and sessions have to be written; look at its mode and its folder's.",),
    "corrupt": ("Name another with --store, or bring it back from a copy; nothing was written.",),
    "new": ("Use a newer lamina; nothing was written.",),
    "foreign": ("Name a file of its own with --store; nothing was written.",),
}


def _kind(error: object) -> str:
    match error:
        case StoreUnavailable():
            return error.why if error.why in ("missing", "refused", "lost") else "unavailable"
        case StoreLocked():
            return "locked"
        case StoreFull():
            return "full"
        case StoreReadOnly():
            return "readonly"
        case StoreCorrupt():
            return "corrupt"
        case StoreTooNew():
            return "new"
        case StoreForeign():
            return "foreign"
        case _:
            return ""


def _without_password(address: str) -> str:
    parts = _readable(address)
    if parts is None:
        return _HIDDEN
    host, user = parts.netloc.rpartition("@")[2], parts.username
    shown = urlencode([each for each in parse_qsl(parts.query) if each[0] in _SHOWN], safe="/:,")
    path = parts.path or ("/" if shown else "")
    # Not `urlunsplit`, which leaves the slashes out where there is no host.
    return f"{parts.scheme}://{f'{user}@' if user else ''}{host}{path}{'?' if shown else ''}{shown}"


def _readable(address: str) -> SplitResult | None:
    """Take an address apart; None where it cannot be told which part of it is a password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    hosts = parts.netloc.rpartition("@")[2]
    stray = "@" in parts.path or "@" in parts.query or parts.fragment
    return parts if not stray and _HOSTS.fullmatch(hosts) else None


_HOSTS = re.compile(r"(\[[^\[\]]*\]|[^:,\[\]]*)(:[0-9]*)?(,(\[[^\[\]]*\]|[^:,\[\]]*)(:[0-9]*)?)*")
