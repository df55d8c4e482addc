"""The report folder on disk: nothing outside of it, whatever name is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from returns.result import Failure, Success

from lamina.demo import (
    AccessRefused,
    DiskFolder,
    FileTooLarge,
    Listing,
    Match,
    Matches,
    NoSuchFile,
    NotText,
    OutsideFolder,
    ReportFile,
    Workspace,
    copied_reports,
    triage_app,
)
from lamina.demo._disk import LARGEST_FILE, MOST_FILES, MOST_MATCHES
from lamina.runtime import build


@pytest.fixture(autouse=True)
def copies_go_with_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "a.md").write_text("# First\nIt ends with an IndexError.\n")
    (folder / "b.md").write_text("second: indexerror\n")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def folder(root: Path) -> DiskFolder:
    return DiskFolder(Workspace(root))


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_it_lists_files_by_name_with_their_labels(root: Path, folder: DiskFolder) -> None:
    (root / "b.md.label").write_text("crash\n")
    (root / ".hidden").write_text("x")
    (root / "inner").mkdir()

    listed = await folder.files()

    assert listed == Success(Listing(str(root), (ReportFile("a.md", 36), ReportFile("b.md", 19, "crash"))))


async def test_a_long_list_says_how_many_are_left_out(root: Path, folder: DiskFolder) -> None:
    for number in range(MOST_FILES):
        (root / f"n{number}.txt").touch()

    listed = (await folder.files()).unwrap()

    assert (len(listed.files), listed.left_out) == (MOST_FILES, 2)


async def test_it_reads_a_text(folder: DiskFolder) -> None:
    assert await folder.read("b.md") == Success("second: indexerror\n")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "/etc/passwd",
        "..",
        ".",
        "",
        "inner/../../secret.txt",
        "a.md/",
        "..\\secret.txt",
        "a\0.md",
        "C:x",
    ],
)
async def test_a_name_that_leads_away_is_refused(folder: DiskFolder, name: str) -> None:
    assert await folder.read(name) == Failure(OutsideFolder(name))
    assert await folder.set_label(name, "crash") == Failure(OutsideFolder(name))


async def test_links_are_not_followed(root: Path, folder: DiskFolder) -> None:
    (root / "link.md").symlink_to(root.parent / "secret.txt")
    (root / "away").symlink_to(root.parent)

    listed = (await folder.files()).unwrap()

    assert [file.name for file in listed.files] == ["a.md", "b.md"]
    assert await folder.read("link.md") == Failure(OutsideFolder("link.md"))
    assert await folder.read("away") == Failure(OutsideFolder("away"))
    assert await folder.set_label("link.md", "crash") == Failure(OutsideFolder("link.md"))
    assert (await folder.search("secret")).unwrap() == Matches(())


async def test_a_label_replaces_a_link_and_does_not_write_through_it(root: Path, folder: DiskFolder) -> None:
    (root / "a.md.label").symlink_to(root.parent / "secret.txt")

    assert await folder.set_label("a.md", "crash") == Success(None)

    assert (root.parent / "secret.txt").read_text() == "secret"
    assert (root / "a.md.label").read_text() == "crash\n"
    assert not (root / "a.md.label").is_symlink()


async def test_what_is_no_text_or_too_large_or_not_there_is_said_so(root: Path, folder: DiskFolder) -> None:
    (root / "image").write_bytes(b"\x89PNG\0")
    (root / "latin").write_bytes(b"caf\xe9")
    (root / "large").write_bytes(b"x" * (LARGEST_FILE + 1))
    (root / "inner").mkdir()
    os.mkfifo(root / "pipe")

    assert await folder.read("image") == Failure(NotText("image"))
    assert await folder.read("latin") == Failure(NotText("latin"))
    assert await folder.read("large") == Failure(FileTooLarge("large", LARGEST_FILE + 1, LARGEST_FILE))
    assert await folder.read("none.md") == Failure(NoSuchFile("none.md"))
    assert await folder.read("x" * 300) == Failure(NoSuchFile("x" * 300))
    assert await folder.read("inner") == Failure(NoSuchFile("inner"))
    assert await folder.read("pipe") == Failure(NoSuchFile("pipe"))


async def test_a_search_finds_lines_in_any_case_up_to_a_limit(root: Path, folder: DiskFolder) -> None:
    found = (await folder.search("INDEXerror")).unwrap()
    (root / "many.txt").write_text("x indexerror\n" * 50)
    many = (await folder.search("indexerror")).unwrap()

    assert found == Matches((Match("a.md", 2, "It ends with an IndexError."), Match("b.md", 1, "second: indexerror")))
    assert (len(many.matches), many.complete) == (MOST_MATCHES, False)


async def test_a_label_is_written_beside_its_report_and_over_an_earlier_one(root: Path, folder: DiskFolder) -> None:
    assert await folder.set_label("a.md", "crash") == Success(None)
    assert await folder.set_label("a.md", "slow") == Success(None)

    assert (root / "a.md.label").read_text() == "slow\n"
    assert names_in(root) == ["a.md", "a.md.label", "b.md"]


async def test_only_reports_can_be_labelled(root: Path, folder: DiskFolder) -> None:
    (root / "a.md.label").write_text("crash\n")
    (root / ".hidden").write_text("x")

    for name in ("none.md", "a.md.label", ".hidden"):
        assert await folder.set_label(name, "slow") == Failure(NoSuchFile(name))
    assert (root / "a.md.label").read_text() == "crash\n"


async def test_a_folder_that_is_gone_refuses(tmp_path: Path) -> None:
    folder = DiskFolder(Workspace(tmp_path / "gone"))

    assert await folder.files() == Failure(AccessRefused("the folder"))
    assert await folder.search("x") == Failure(AccessRefused("the folder"))
    assert await folder.read("x") == Failure(NoSuchFile("x"))


def test_the_shipped_reports_are_copied_each_time_and_the_copy_goes(tmp_path: Path) -> None:
    with copied_reports() as first, copied_reports() as second:
        names = sorted(file.name for file in first.root.iterdir())

        assert first.root != second.root
        assert len(names) == 7
        assert all(name.endswith(".md") and (first.root / name).read_text("utf-8").startswith("# ") for name in names)
        (first.root / f"{names[0]}.label").write_text("slow\n")

    assert list(tmp_path.iterdir()) == []


def test_a_copy_goes_also_where_what_it_is_for_broke(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), copied_reports():
        raise KeyboardInterrupt

    assert list(tmp_path.iterdir()) == []


def test_a_copy_can_be_kept() -> None:
    with copied_reports(keep=True) as kept:
        pass

    assert len(list(kept.root.glob("*.md"))) == 7


async def test_the_demos_application_has_a_copy_for_as_long_as_it_is_open(tmp_path: Path) -> None:
    def reports() -> int:
        return len(list(tmp_path.glob("lamina-demo-*/*.md")))

    async with build(triage_app()):
        assert reports() == 7

    assert reports() == 0
