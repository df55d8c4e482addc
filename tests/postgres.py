"""A PostgreSQL cluster of the tests' own: made in a temporary directory, on a socket there, gone when they end."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARENTS = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")


def binaries() -> Path | None:
    """Give the folder that holds `initdb` and `postgres`: of the newest release that Debian keeps, or on the PATH."""
    kept = sorted(Path(PARENTS[0]).glob("*/bin"), key=lambda path: int(path.parent.name.split(".")[0]), reverse=True)
    on_path = shutil.which("initdb")
    for folder in (*kept, *([Path(on_path).resolve().parent] if on_path else [])):
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    return None


def _unprivileged() -> str | None:
    """Name the user that runs the server when root would: `initdb` refuses root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


class Cluster:
    """A running server; `dsn(database)` says how it is reached."""

    def __init__(self, folder: Path, bin_: Path) -> None:
        self.folder = folder
        self._bin = bin_
        self._user = _unprivileged()
        self._server: subprocess.Popen[bytes] | None = None
        self._made = 0

    def make(self) -> None:
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._run(
            *("initdb", "-D", "data", "-U", "lamina", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"),
        )
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it takes connections; in the main thread, with whose end it ends."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            "shared_buffers": "32MB",
            "logging_collector": "off",
            "deadlock_timeout": "100ms",
        }
        if sys.platform == "linux":
            # After a crash every file of every database is synced; with those of hundreds of tests that takes a minute.
            settings["recovery_init_sync_method"] = "syncfs"
        options = [each for name, value in settings.items() for each in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*self._as_user(), *self._ending_with_us(), str(self._bin / "postgres"), "-D", "data", *options],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C for the tests is theirs to handle
            )
        end = time.monotonic() + 60
        while self._run("pg_isready", "-q", "-h", str(self.folder), check=False) != 0:
            if self._server.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server: SIGINT ends connections and says goodbye, SIGQUIT is as a crash."""
        if self._server is None or self._server.poll() is not None:
            return
        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, how)
        self._server.wait(30)
        self._server = None

    def dsn(self, database: str = "postgres") -> str:
        return f"postgresql://lamina@/{database}?host={self.folder}"

    def database(self) -> str:
        """Make an empty database, and say how it is reached; a server that a test left stopped is started again."""
        if self._server is None or self._server.poll() is not None:
            self.start()
        self._made += 1
        name = f"t{self._made}"
        self._run("createdb", "-h", str(self.folder), "-U", "lamina", name)
        return self.dsn(name)

    def _as_user(self) -> list[str]:
        return [] if self._user is None else ["setpriv", f"--reuid={self._user}", "--clear-groups", "--regid=nogroup"]

    def _ending_with_us(self) -> list[str]:
        """Have the kernel stop the server where the tests are killed, and can stop nothing any more."""
        return [] if shutil.which("setpriv") is None else ["setpriv", "--pdeathsig=QUIT"]

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        command = [*self._as_user(), str(self._bin / program), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")
        return done.returncode


_running: Cluster | None = None


def cluster() -> Cluster:
    """Give the cluster of this test run, which is started when the first test asks for it."""
    global _running
    if _running is None:
        found = binaries()
        assert found is not None, "the test has to be marked `needs('postgres')`"
        folder = Path(tempfile.mkdtemp(prefix="lamina-pg-"))
        made = Cluster(folder, found)
        atexit.register(_remove, made)
        made.make()
        _running = made
    return _running


def _remove(made: Cluster) -> None:
    global _running
    _running = None
    try:
        made.stop()
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)
