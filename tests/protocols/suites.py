"""The protocols' official suites and real peers, against what we serve and what we call: `noxfile.py protocols`.

Run as `python suites.py FOLDER [NAME ...]`: the folder has the Node packages of `node/package.json` installed, and the
names choose from `SUITES`. One table at the end; the exit code is 1 where something failed that `baseline.yml` does not
name, where something it names fails no more, or where scenarios are missing.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.protocols.judging import BASELINE, Ended, read_baseline, scenarios_of, verdict  # noqa: E402

KNOWN = read_baseline(BASELINE.read_text(encoding="utf-8"))
LEGACY, MODERN = "2025-11-25", "2026-07-28"
PEERS = 7
SURFACE = (sys.executable, str(HERE / "conformance_surface.py"))
CLIENT, CALL = str(HERE / "conformance_client.py"), str(HERE / "conformance_call.py")


class Place:
    """Where the Node packages are, and how programs are run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "node_modules" / ".bin"
        self.node = shutil.which("node") or "node"

    def run(self, *command: str, limit: float = 120) -> tuple[int, str]:
        """Run a program; gives its exit code and all that it said. One that takes too long is ended with its own."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            said, _ = process.communicate()
            return 124, f"{said}\nit took more than {limit} s"
        return process.returncode, said

    def conformance(self, *arguments: str, limit: float = 120) -> tuple[int, str]:
        """Run the official suite."""
        program = self.folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        return self.run(self.node, str(program), *arguments, limit=limit)


@contextmanager
def served() -> Generator[str]:
    """Serve the fixtures on a free port, and give the address."""
    process = subprocess.Popen([*SURFACE, "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 30)
        port = process.stdout.readline().strip() if ready else ""
        if not port:
            raise RuntimeError("the server of the fixtures did not begin to listen")
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# --- the official suite ---------------------------------------------------------------------------------------------


def server_suite(place: Place) -> list[Ended]:
    """Run all scenarios for servers, of each era, and the scored ones with what the suite runs beside them."""
    ended: list[Ended] = []
    # How many scenarios the pinned version has; fewer would mean that some were not run at all.
    runs = (
        (f"server {LEGACY}", ("--suite", "all", "--spec-version", LEGACY), 33),
        (f"server {MODERN}", ("--suite", "all", "--spec-version", MODERN), 40),
        (f"server {MODERN}, scored", ("--requirements", MODERN), 50),
    )
    with served() as url:
        for name, arguments, most in runs:
            _, said = place.conformance("server", "--url", url, *arguments, "--output-dir", str(place.folder / "out"))
            ended.append(_of_official(name, "server", said, most))
    return ended


def _of_official(name: str, side: str, said: str, most: int) -> Ended:
    passed, failed = scenarios_of(said)
    missing = most - passed - len(failed)
    if missing or set(failed) - set(KNOWN.get(side, {})):
        print(said)
    return Ended(name, passed, failed, side, missing)


@contextmanager
def playing() -> Generator[str]:
    """Have our client ready, and give the command that the suite runs for each scenario."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/client"
        process = subprocess.Popen([sys.executable, CLIENT, path], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "listening":
                raise RuntimeError("the client did not begin to listen")
            yield f"{sys.executable} -S {CALL} {path}"
        finally:
            process.terminate()
            process.wait(10)


def client_suite(place: Place) -> list[Ended]:
    """Run all scenarios for clients, of each era, against our client; one that fails in the crowd is tried alone."""
    ended: list[Ended] = []
    with playing() as command:
        for version, most in ((LEGACY, 19), (MODERN, 33)):
            common = ("client", "--command", command, "--spec-version", version, "--timeout", "60000")
            common = (*common, "--output-dir", str(place.folder / "out"))
            _, said = place.conformance(*common, "--suite", "all", limit=150)
            passed, failed = scenarios_of(said)
            for name in tuple(failed):
                code, alone = place.conformance(*common, "--scenario", name)
                if code == 0:
                    passed, _ = passed + 1, failed.pop(name)
                elif name not in KNOWN.get("client", {}):
                    print(alone)
            missing = most - passed - len(failed)
            if missing:
                print(said)
            ended.append(Ended(f"client {version}", passed, failed, "client", missing))
    return ended


# --- peers of our server --------------------------------------------------------------------------------------------


def inspector(place: Place) -> list[Ended]:
    """Let the inspector's command line list, call and read, on both transports and in both eras."""

    def text(result: Any) -> Any:
        return result["content"][0]["text"]

    steps: tuple[tuple[str, tuple[str, ...], Callable[[Any], bool]], ...] = (
        ("tools/list", ("--strict",), lambda result: len(result["tools"]) > 20),
        (
            "tools/call",
            ("--tool-name", "test_x_mcp_header", "--tool-arg", "region=eu"),
            lambda result: json.loads(text(result)) == {"region": "eu"},
        ),
        (
            "resources/read",
            ("--uri", "test://template/7/data"),
            lambda result: json.loads(result["contents"][0]["text"])["id"] == "7",
        ),
        (
            "prompts/get",
            ("--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"),
            lambda result: "arg1='a'" in result["messages"][0]["content"]["text"],
        ),
    )
    ended: list[Ended] = []
    with served() as url:
        for where, target in (("stdio", SURFACE), ("http", (url,))):
            transport = () if where == "stdio" else ("--transport", "http")
            passed, failed = 0, dict[str, str]()
            for era in ("legacy", "modern"):
                for method, arguments, holds in steps:
                    # Options follow the target, or they would be taken for the server's own.
                    command = (str(place.bin / "mcp-inspector"), "--cli", *target, "stdio")[: -1 if transport else None]
                    # It hands on only a few variables of its own; a checkout that is not installed needs this one.
                    found = (f"PYTHONPATH={os.environ.get('PYTHONPATH') or HERE.parents[1] / 'src'}",)
                    options = (
                        "-e",
                        *found,
                        "--protocol-era",
                        era,
                        "--format",
                        "json",
                        "-q",
                        "--method",
                        method,
                        *arguments,
                    )
                    code, said = place.run(place.node, *command, *transport, *options, limit=60)
                    if code == 0 and _holds(holds, said):
                        passed += 1
                    else:
                        failed[f"{era} {method}"] = f"exit code {code}: {said[-500:]}"
            ended.append(Ended(f"inspector, {where}", passed, failed))
    return ended


def _holds(holds: Callable[[Any], bool], said: str) -> bool:
    try:
        return holds(json.loads(said.strip().splitlines()[-1])["result"])
    except (ValueError, LookupError, TypeError):
        return False


def typescript(place: Place) -> list[Ended]:
    """Let the TypeScript client do all that it can, on both transports and in both eras."""
    ended: list[Ended] = []
    with served() as url:
        for where, target in (("stdio", (*SURFACE, "stdio")), ("http", (url,))):
            for era in (LEGACY, MODERN):
                code, said = place.run(place.node, "client.mjs", era, *target, limit=60)
                ended.append(_of_peer(f"TypeScript client, {where}, {era}", code, said))
    return ended


def peers(place: Place) -> list[Ended]:
    """Let our client list and call servers that others wrote, and ours, which speaks both eras."""
    code, said = place.run(sys.executable, str(HERE / "calling_peers.py"), str(place.bin))
    lines = [line for line in said.splitlines() if line.startswith('{"name"')]
    ended = [_of_peer(f"our client, {json.loads(line)['name']}", code, line) for line in lines]
    if code != 0 or len(ended) != PEERS:
        ended.append(Ended("our client", 0, {"all of it": f"exit code {code}: {said[-2_000:]}"}))
    return ended


def _of_peer(name: str, code: int, said: str) -> Ended:
    try:
        seen = json.loads(said.strip().splitlines()[-1])
        problems = [str(problem) for problem in seen["problems"]]
        checks = int(seen["checks"])
    except (ValueError, LookupError, TypeError):
        return Ended(name, 0, {"all of it": f"exit code {code}: {said[-500:]}"})
    return Ended(name, checks - len(problems), dict(problem.split(": ", 1) for problem in problems))


SUITES: dict[str, Callable[[Place], list[Ended]]] = {
    "server": server_suite,
    "client": client_suite,
    "inspector": inspector,
    "typescript": typescript,
    "peers": peers,
}


def main(folder: str, names: Sequence[str]) -> int:
    """Run the suites, print what they came to, and give the exit code."""
    if unknown := [name for name in names if name not in SUITES]:
        print(f"there is no suite {', '.join(unknown)}: {', '.join(SUITES)}")
        return 2
    place, ended = Place(Path(folder).resolve()), list[Ended]()
    shutil.rmtree(place.folder / "out", ignore_errors=True)
    for name in names or SUITES:
        begun = time.monotonic()
        ended += SUITES[name](place)
        print(f"{name} took {time.monotonic() - begun:.0f} s", flush=True)
    lines, wrong = verdict(ended, KNOWN)
    print("\n".join(["", *lines, *([""] if wrong else []), *(f"WRONG {each}" for each in wrong)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
