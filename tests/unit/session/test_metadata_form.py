"""The form of metadata: a type, its version, and the way from older ones."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from returns.result import Failure, Success

from lamina.effect import ConstructionError
from lamina.schema import Mismatch
from lamina.session import Metadata, MetadataForm, MetadataUnknown


@attrs.frozen
class Settings:
    topic: str
    language: str = "en"
    tags: tuple[str, ...] = ()


def to_two(old: dict[str, Any]) -> Any:
    return {"topic": old["title"]}


def to_three(old: dict[str, Any]) -> Any:
    return {**old, "language": "de"}


FORM = MetadataForm(Settings, version=3, upgrades={1: to_two, 2: to_three})


def test_what_was_written_is_read() -> None:
    value = Settings("tea", "fr", ("a", "b"))
    written = FORM.write(value).unwrap()
    assert written == Metadata(3, {"topic": "tea", "language": "fr", "tags": ["a", "b"]})
    assert FORM.read(written) == Success(value)


def test_an_older_one_is_brought_up_step_by_step() -> None:
    assert FORM.read(Metadata(1, {"title": "tea"})) == Success(Settings("tea", "de"))
    assert FORM.read(Metadata(2, {"topic": "tea"})) == Success(Settings("tea", "de"))


@pytest.mark.parametrize(
    ("form", "metadata"),
    [
        (FORM, Metadata(4, {"topic": "tea"})),
        (MetadataForm(Settings, version=3, upgrades={1: to_two}), Metadata(1, {"title": "tea"})),
        (MetadataForm(Settings, version=2), Metadata(1, {"topic": "tea"})),
        (FORM, Metadata(1, ["tea"])),
    ],
)
def test_a_version_without_a_way_is_unknown(form: MetadataForm[Settings], metadata: Metadata) -> None:
    assert form.read(metadata) == Failure(MetadataUnknown(metadata.version, form.version))


def test_what_does_not_fit_is_told_by_its_path() -> None:
    read = FORM.read(Metadata(3, {"topic": 7}))
    assert isinstance(read, Failure)
    assert isinstance(read.failure(), Mismatch)
    assert isinstance(FORM.write(Settings(7)), Failure)  # type: ignore[arg-type]


@pytest.mark.parametrize(("version", "upgrades"), [(0, {}), (2, {2: to_two}), (2, {0: to_two}), (1, {1: to_two})])
def test_upgrades_start_from_older_versions(version: int, upgrades: Any) -> None:
    with pytest.raises(ConstructionError, match="versions begin at 1"):
        MetadataForm(Settings, version=version, upgrades=upgrades)
