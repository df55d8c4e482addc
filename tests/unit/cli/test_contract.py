"""`lamina contract`: the manifest as a file that is committed, and held against the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamina.demo.todo import contract
from tests.unit.cli.commands import Commands, lamina

__all__ = ["lamina"]

TODO = "lamina.demo.todo:contract"
SHOP = """
import attrs
from lamina.contract import Contract, PlainHost

print("a module that prints")


@attrs.frozen
class Model:
    pass


@attrs.frozen
class Bought:
    pass


shop = Contract.of(Model, messages=Bought, name="shop").variant(Bought, "Buy \\u202e\\x9b2J one")
bound = shop.bind(PlainHost.of(Model()).on(Bought, lambda model, message: model))
number = 7
"""


@pytest.fixture
def shop(lamina: Commands) -> str:
    name = f"shop_{abs(hash(str(lamina.folder)))}"  # a name of its own: modules are imported once in a process
    (lamina.folder / f"{name}.py").write_text(SHOP)
    return name


def test_the_manifest_is_the_same_bytes_twice(lamina: Commands) -> None:
    first, second = lamina("contract", TODO, "--manifest"), lamina("contract", TODO, "--manifest")

    assert first == second
    assert (first.code, first.err) == (0, "")
    assert first.out == contract.manifest_json()


def test_the_page_is_the_contracts_own(lamina: Commands) -> None:
    assert lamina("contract", TODO, "--markdown").out == contract.markdown()


def test_a_manifest_that_is_as_it_was_passes(lamina: Commands) -> None:
    assert lamina("contract", TODO, "--manifest", "--output", "todo.json").code == 0
    ended = lamina("contract", TODO, "--check", "todo.json")

    assert (lamina.folder / "todo.json").read_text(encoding="utf-8") == contract.manifest_json()
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_how_a_file_is_written_is_no_difference(lamina: Commands) -> None:
    text = json.dumps(json.loads(contract.manifest_json()), sort_keys=True)
    (lamina.folder / "todo.json").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")

    assert lamina("contract", TODO, "--check", "todo.json").code == 0


def test_a_changed_description_is_a_readable_difference(lamina: Commands) -> None:
    text = contract.manifest_json().replace("Create a new todo", "Create a todo")
    (lamina.folder / "todo.json").write_text(text, encoding="utf-8")

    ended = lamina("contract", TODO, "--check", "todo.json")

    assert ended.code == 1
    assert ended.out.splitlines()[:2] == ["--- todo.json", f"+++ {TODO}"]
    changed = [line for line in ended.out.splitlines()[2:] if line[0] in "+-"]
    assert changed == ['-      "description": "Create a todo",', '+      "description": "Create a new todo",']
    assert ended.err == (
        f"lamina: {TODO} is not what todo.json says: 1 line new, 1 line gone.\n"
        f"  To accept it: lamina contract {TODO} --manifest --output todo.json\n"
    )


@pytest.mark.parametrize("other", [True, 1.0, "1", None, [], {"a": "\ud800 \u202e"}])
def test_any_other_json_is_a_difference_and_prints(lamina: Commands, other: object) -> None:
    (lamina.folder / "other.json").write_text(json.dumps(other))
    ended = lamina("contract", TODO, "--check", "other.json")

    assert ended.code == 1
    assert "\u202e" not in ended.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file m.json."),
        (b"", "m.json:1: it is no JSON: Expecting value."),
        (b"{\n  nonsense", "m.json:2: it is no JSON: "),
        (b"\xff\xfe", "m.json is no UTF-8 text."),
        (b"NaN", "m.json is no JSON that a manifest could be."),
        (b"[" * 100_000, "m.json is no JSON that a manifest could be."),
        (b"9" * 10_000, "m.json is no JSON that a manifest could be."),
    ],
)
def test_what_is_no_manifest_is_said_so(lamina: Commands, content: bytes | None, said: str) -> None:
    if content is not None:
        (lamina.folder / "m.json").write_bytes(content)
    ended = lamina("contract", TODO, "--check", "m.json")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"lamina: {said}")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_file_without_end_is_not_read_for_ever(lamina: Commands) -> None:
    ended = lamina("contract", TODO, "--check", "/dev/zero")

    assert (ended.code, ended.err) == (2, "lamina: /dev/zero is larger than any manifest.\n")


def test_files_that_cannot_be_read_or_written(lamina: Commands) -> None:
    (lamina.folder / "there").mkdir()

    read = lamina("contract", TODO, "--check", "there")
    written = lamina("contract", TODO, "--manifest", "--output", "there")
    nowhere = lamina("contract", TODO, "--markdown", "--output", "no/such/folder.md")
    both = lamina("contract", TODO, "--check", "a", "--output", "b")
    named = lamina("contract", TODO, "--check", "a\x1b[2J\n")

    assert (read.code, read.err) == (2, "lamina: there cannot be read: Is a directory.\n")
    assert (written.code, written.err) == (2, "lamina: there cannot be written: Is a directory.\n")
    assert (nowhere.code, nowhere.err) == (
        2,
        "lamina: no/such/folder.md cannot be written: No such file or directory.\n",
    )
    assert (both.code, both.err) == (2, "lamina: --check writes nothing, so --output has no use with it.\n")
    assert named.code == 2
    assert "\x1b" not in named.err


def test_what_a_module_prints_is_not_in_the_manifest(lamina: Commands, shop: str) -> None:
    ended = lamina("contract", f"{shop}:shop", "--manifest")

    assert ended.code == 0
    assert json.loads(ended.out)["capabilities"][0]["name"] == "bought"
    assert ended.err == "a module that prints\n"


def test_a_bound_contract_will_do(lamina: Commands, shop: str) -> None:
    assert lamina("contract", f"{shop}:bound", "--manifest").out == lamina("contract", f"{shop}:shop", "--manifest").out


def test_a_difference_holds_no_control_character_of_a_description(lamina: Commands, shop: str) -> None:
    (lamina.folder / "m.json").write_text("{}")
    ended = lamina("contract", f"{shop}:shop", "--check", "m.json")

    assert ended.code == 1
    assert "\u202e" not in ended.out
    assert '"description": "Buy \\u202e\\u009b2J one"' in ended.out


@pytest.mark.parametrize(
    ("target", "said", "hint"),
    [
        ("lamina.demo.todo:contrac", "The module lamina.demo.todo has no contrac.", f"There is {TODO}."),
        (
            "lamina.demo.todo:app",
            "lamina.demo.todo:app is of type RuntimeBuilder, not a Contract or BoundContract.",
            f"A Contract or BoundContract there is {TODO}.",
        ),
        (
            "lamina.demo:app",
            "lamina.demo:app is of type RuntimeBuilder, not a Contract or BoundContract.",
            "No Contract or BoundContract is in lamina.demo; write contract = Contract.of(",
        ),
        ("nonsense", "'nonsense' is not MODULE:CONTRACT.", "Write MODULE:CONTRACT, as in lamina.demo.todo:contract;"),
        ("a\x1b[2J\n:b", "'a\ufffd[2J :b' is not MODULE:CONTRACT.", "Write MODULE:CONTRACT"),
        ("shop.py:shop", "shop.py is a file, not a module.", "Write shop:shop"),
        ("no_such_module:x", "There is no module no_such_module.", ""),
    ],
)
def test_a_target_that_is_none_is_said_so(lamina: Commands, target: str, said: str, hint: str) -> None:
    ended = lamina("contract", target, "--manifest")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"lamina: {said}\n")
    assert hint in ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def", "invalid syntax"),
        ("raise SystemExit(3)", "ended the program while it was imported"),
        ("1 / 0", "could not be imported: ZeroDivisionError: division by zero"),
        ("import no_such_thing", "imports no_such_thing, which is not installed"),
        ("def __getattr__(name): raise RuntimeError('lazy')", "could not be read: RuntimeError: lazy"),
    ],
)
def test_a_module_that_breaks_is_said_so(lamina: Commands, tmp_path: Path, text: str, said: str) -> None:
    name = f"broken_{abs(hash((str(tmp_path), text)))}"
    (tmp_path / f"{name}.py").write_text(text)
    ended = lamina("contract", f"{name}:contract", "--manifest")

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err
