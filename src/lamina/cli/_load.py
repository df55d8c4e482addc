"""From `MODULE:APP` to the application, or to a short, exact word on what is wrong with it."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, cast

import attrs

from lamina.cli._exits import UsageError
from lamina.cli._plain import printable
from lamina.effect import ConstructionError
from lamina.runtime import RuntimeBuilder

AnyApp: TypeAlias = RuntimeBuilder[Any, Any, Any]  # Any: whatever the user's application needs, offers and fails with


@attrs.frozen
class Wanted:
    """What a command wants to find in a module.

    Attributes:
        word: What the command line calls it.
        kinds: What it may be an instance of.
        example: One that there is.
        mend: What to do where a module has none.
        called: What people call it; the names of the kinds without it.
        test: Tells what it may be, where that is no kind.
    """

    word: str
    kinds: tuple[type, ...]
    example: str
    mend: str
    called: str = ""
    test: Callable[[object], bool] | None = None

    @property
    def noun(self) -> str:
        """Say what it is."""
        return self.called or _either([one.__name__ for one in self.kinds])

    def fits(self, value: object) -> bool:
        """Tell whether something is what is wanted."""
        return isinstance(value, self.kinds) if self.test is None else self.test(value)


@attrs.frozen
class Found:
    """What was found, and where."""

    target: str
    module: ModuleType
    value: object


_APP = Wanted(
    "APP",
    (RuntimeBuilder,),
    "lamina.demo:app",
    "write app = RuntimeBuilder().provide(...).agent(...) at its top level.",
)


def load_app(target: str) -> AnyApp:
    """Import a module, from the current directory too, and give the `RuntimeBuilder` in it.

    Args:
        target: `package.module:name`; the name may go through attributes.

    Raises:
        UsageError: The text, the module or the object is not what it has to be.
        ConstructionError: The module itself puts together what cannot be.
    """
    return cast("AnyApp", load(target, _APP).value)


def load(target: str, wanted: Wanted) -> Found:
    """Import a module, from the current directory too, and give what is wanted in it.

    Args:
        target: `package.module:name`; the name may go through attributes.
        wanted: What it has to be.

    Raises:
        UsageError: The text, the module or the object is not what it has to be.
        ConstructionError: The module itself puts together what cannot be.
    """
    module_name, colon, path = target.partition(":")
    if module_name.endswith(".py") or "/" in module_name or "\\" in module_name:
        dotted = ".".join(Path(module_name).with_suffix("").parts).lstrip(".")
        raise UsageError(
            f"{printable(module_name)} is a file, not a module.",
            f"Write {printable(dotted)}:{printable(path) or wanted.word.lower()}",
        )
    if not (colon and path and all(part.isidentifier() for part in (*module_name.split("."), *path.split(".")))):
        raise UsageError(
            f"{printable(target)!r} is not MODULE:{wanted.word}.",
            f"Write MODULE:{wanted.word}, as in {wanted.example}; MODULE is imported from here too, "
            f"{wanted.word} is {_a(wanted.noun)} in it.",
        )
    module = _import(module_name)
    found: object = module
    for part in path.split("."):
        if not has_attribute(found, part):
            raise _no_attribute(module, module_name, path, wanted)
        found = getattr(found, part)
    if not wanted.fits(found):
        raise UsageError(
            f"{target} is of type {type(found).__qualname__}, not {_a(wanted.noun)}.",
            *_hint(module, module_name, wanted),
        )
    return Found(target, module, found)


def has_attribute(owner: object, name: str) -> bool:
    """Say whether something has an attribute, whatever its `__getattr__` raises.

    Raises:
        UsageError: Asking broke.
    """
    try:
        return hasattr(owner, name)
    except ConstructionError:
        raise
    except Exception as error:
        said = printable(str(error))
        raise UsageError(f"{name} could not be read: {type(error).__name__}: {said}", *_place_of(error)) from None


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ConstructionError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _no_module(name, error.name) from None
        raise UsageError(f"{name} imports {error.name}, which is not installed.", *_place_of(error)) from None
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {printable(error.msg)}") from None
    except SystemExit:
        raise UsageError(f"{name} ended the program while it was imported.", _MAIN_GUARD) from None
    except Exception as error:
        said = printable(str(error))
        raise UsageError(f"{name} could not be imported: {type(error).__name__}: {said}", *_place_of(error)) from None


_MAIN_GUARD = 'Put what it runs under `if __name__ == "__main__":`.'


def _place_of(error: Exception) -> list[str]:
    """Give the line that raised, as far as it is not the import machinery's own."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if frame.filename != __file__]
    return [f"at {own[-1].filename}:{own[-1].lineno}"] if own else []


def _no_module(name: str, missing: str) -> UsageError:
    parent, _, last = missing.rpartition(".")
    siblings = _modules_in(parent)
    near = get_close_matches(last, siblings, 3)
    before = f"{parent}." if parent else ""
    if near:
        hint = f"There is {', '.join(before + one for one in near)}."
    elif siblings and len(siblings) <= 12:
        hint = f"{'In ' + parent if parent else 'Here'} there is {', '.join(before + one for one in siblings)}."
    else:
        hint = f"Modules are looked for in {Path.cwd()} and in what is installed."
    return UsageError(
        f"There is no module {name}." if name == missing else f"There is no module {missing}, so no {name}.", hint
    )


def _modules_in(parent: str) -> list[str]:
    """List the modules beside which one was looked for: in the current directory, or in the parent package."""
    if parent:
        module = sys.modules.get(parent)
        folders = [Path(one) for one in getattr(module, "__path__", ())]
    else:
        folders = [Path.cwd()]
    found = [entry for folder in folders if folder.is_dir() for entry in folder.iterdir()]
    names = {entry.stem for entry in found if entry.suffix == ".py" or (entry / "__init__.py").is_file()}
    return sorted(name for name in names if name.isidentifier() and not name.startswith("_"))


def _no_attribute(module: ModuleType, name: str, path: str, wanted: Wanted) -> UsageError:
    # Where there is what is wanted, nothing else would do, however much its name is like the one that was given.
    names = _wanted_in(module, wanted) or [one for one in vars(module) if not one.startswith("_")]
    near = get_close_matches(path, names, 3)
    hint = [f"There is {', '.join(f'{name}:{one}' for one in near)}."] if near else _hint(module, name, wanted)
    return UsageError(f"The module {name} has no {path}.", *hint)


def _wanted_in(module: ModuleType, wanted: Wanted) -> list[str]:
    return [name for name, value in vars(module).items() if wanted.fits(value)]


def _hint(module: ModuleType, name: str, wanted: Wanted) -> Iterable[str]:
    noun = wanted.noun
    if found := _wanted_in(module, wanted):
        return [f"A{_a(noun)[1:]} there is {', '.join(f'{name}:{one}' for one in found)}."]
    return [f"No {noun} is in {name}; {wanted.mend}"]


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _a(noun: str) -> str:
    return f"{'an' if noun[0].upper() in 'AEIOU' else 'a'} {noun}"
