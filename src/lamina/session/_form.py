"""The form of an application's metadata: a type, its version, and the way from older ones (STORE-005, STORE-011)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Problem, caller_where, tagged
from lamina.schema import JsonValue, Mismatch, codec
from lamina.session.port import Metadata

M = TypeVar("M")


@tagged("The metadata has version {found}, and the form knows {known}.")
class MetadataUnknown:
    """Metadata of a newer release, or of one for which there is no upgrade.

    Attributes:
        found: Its version.
        known: The form's own.
    """

    found: int
    known: int


class MetadataForm(Generic[M]):
    """Reads and writes the metadata of sessions as one attrs type.

    Args:
        described: The type.
        version: The version of its form, from 1; raise it whenever stored values would no longer fit.
        upgrades: For each older version, the function that makes JSON of the next one of it.

    Raises:
        ConstructionError: The type cannot be described, or an upgrade starts from a version that is not older.

    Example:
        >>> import attrs
        >>> @attrs.frozen
        ... class Settings:
        ...     topic: str
        ...     language: str
        >>> form = MetadataForm(Settings, version=2, upgrades={1: lambda old: {**old, "language": "en"}})
        >>> form.read(Metadata(1, {"topic": "tea"})).unwrap()
        Settings(topic='tea', language='en')
        >>> form.write(Settings("tea", "fr")).unwrap().version
        2
    """

    def __init__(
        self,
        described: type[M],
        *,
        version: int = 1,
        upgrades: Mapping[int, Callable[[dict[str, JsonValue]], JsonValue]] | None = None,
    ) -> None:
        self._codec = codec(described)
        self._upgrades = dict(upgrades or {})
        self.version = version
        if version < 1 or any(not 1 <= older < version for older in self._upgrades):
            line = f"versions begin at 1, and upgrades start from older ones  {caller_where()}"
            raise ConstructionError([Problem("METADATA", self._codec.name, (line,))])

    def write(self, value: M) -> Result[Metadata, Mismatch]:
        """Give the metadata of a value."""
        encoded = self._codec.encode(value)
        if isinstance(encoded, Failure):
            return Failure(encoded.failure())
        return Success(Metadata(self.version, encoded.unwrap()))

    def read(self, metadata: Metadata) -> Result[M, Mismatch | MetadataUnknown]:
        """Give the value of metadata, brought up to this version; an upgrade must not change what it is given."""
        value = metadata.value
        for version in range(metadata.version, self.version):
            upgrade = self._upgrades.get(version)
            if upgrade is None or not isinstance(value, dict):
                return Failure(MetadataUnknown(metadata.version, self.version))
            value = upgrade(value)
        if metadata.version > self.version:
            return Failure(MetadataUnknown(metadata.version, self.version))
        decoded = self._codec.decode(value)
        return Failure(decoded.failure()) if isinstance(decoded, Failure) else Success(decoded.unwrap())
