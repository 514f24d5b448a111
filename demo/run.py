"""The demonstration that `make demo` runs: an agent mends a bug, is killed in the middle, resumes, and finishes.

Scripted: what the model says (demo/script.yaml). Live: everything else. The repository, its bug, its failing
test, the tool calls, the kill, the session in its SQLite file, and the commands are real.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODEL = "script/../script.yaml"
EVERLOG = Path(sys.executable).with_name("everlog")

FILES = {
    "mysum/__init__.py": '''
        """Sums."""


        def mysum(items):
            """Give the sum of the items."""
            total = items[0]
            for item in items[1:]:
                total += item
            return total
    ''',
    "tests/test_mysum.py": """
        import time
        from pathlib import Path

        from mysum import mysum


        def test_some_numbers():
            assert mysum([1, 2, 3]) == 6


        def test_a_slow_one():
            Path(".running").touch()
            time.sleep(3)
            assert mysum(range(1000)) == 499500


        def test_nothing():
            assert mysum([]) == 0
    """,
    ".gitignore": ".running\n__pycache__/\n.pytest_cache/\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-p no:asyncio -p no:cacheprovider"\n',
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="everlog-demo-") as folder:
        Demo(Path(folder)).play()


class Demo:
    """One demonstration in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        # The tools shall find the `python` and `pytest` of this environment, and no configuration of the user's.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = os.environ | {"PATH": path, "EVERLOG_STORE": f"sqlite:///{folder / 'sessions.db'}"}
        self.environment |= {"EVERLOG_CONFIG": str(folder / "everlog.toml"), "PYTHONUNBUFFERED": "1"}
        shutil.copy(HERE / "script.yaml", folder)
        (folder / "everlog.toml").write_text("# The demonstration is configured by options alone.\n")

    def play(self) -> None:
        """Run the whole demonstration; any step that does not come out as told raises."""
        say(
            "Scripted here: what the model says, from demo/script.yaml; no model is asked, and no key is needed.",
            "Live here: the repository, the bug, the test, every tool call, the kill, and the session on disk.",
        )
        self.make_project()
        say("1. A repository with a bug, and a test that shows it.")
        self.expect_tests(passed=False)

        say("2. The agent works on it. It is killed with SIGKILL while its call of pytest runs.")
        session = self.run_and_kill()

        say(
            "3. What the log knows of it. Nobody closed anything: the process is gone, and nothing is written here;",
            "   show works out how a resume will close the turn.",
        )
        self.everlog("show", session)
        self.everlog("show", session, "--view", "steps")

        say("4. The same session goes on in a new process, with a follow-up.")
        self.everlog(
            "resume", session, "--permissions", "full", "--follow-up", "Go on, and tell me when the tests pass."
        )

        say("5. The test passes, and the change is in the repository.")
        self.expect_tests(passed=True)
        self.run("git", "diff")

        say("6. The whole transcript, and the list of sessions.")
        self.everlog("show", session)
        self.everlog("sessions")
        say("7. Each request that the log says was sent is derived from it again, and its digest compared.")
        self.everlog("request", session)
        for step in self.steps(session):
            self.everlog("request", session, "--step", step, "--wire", quiet=True)

    def make_project(self) -> None:
        """Make the repository and commit it."""
        for name, text in FILES.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))
        identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid"]
        for command in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "Add mysum"]):
            subprocess.run(["git", *command], cwd=self.project, check=True)

    def expect_tests(self, *, passed: bool) -> None:
        """Run pytest, and insist on how it comes out."""
        done = self.run(sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=line")
        if (done == 0) is not passed:
            raise SystemExit(f"pytest ended with {done}; the demonstration is broken")

    def run_and_kill(self) -> str:
        """Have the agent begin, kill it in the middle of a tool call, and give the id of its session."""
        marker = self.project / ".running"
        marker.unlink(missing_ok=True)
        words = ["run", "--model", MODEL, "--permissions", "full", "mysum([]) fails. Mend it, and run the tests."]
        show_command(*words)
        process = subprocess.Popen([str(EVERLOG), *words], cwd=self.project, env=self.environment)
        while not marker.exists():
            if process.poll() is not None:
                raise SystemExit("the agent ended before it could be killed; the demonstration is broken")
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        print(f"\n*** killed: process {process.pid} got SIGKILL inside the call of pytest ***")
        return self.newest()

    def newest(self) -> str:
        """Give the id of the session that was used last."""
        return str(self.asked("sessions", "--limit", "1")[0]["id"])

    def steps(self, session: str) -> list[str]:
        """Give the names of the steps' requests."""
        return [row["step"] for row in self.asked("request", session)]

    def asked(self, *arguments: str) -> Any:
        """Give what a command of Everlog says as JSON."""
        command = [str(EVERLOG), *arguments, "--json"]
        done = subprocess.run(command, cwd=self.project, env=self.environment, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def everlog(self, *arguments: str, quiet: bool = False) -> None:
        """Run a command of Everlog, and insist that it succeeds; `quiet` leaves its stdout away."""
        show_command(*arguments, *([">/dev/null"] if quiet else []))
        out = subprocess.DEVNULL if quiet else None
        code = subprocess.run([str(EVERLOG), *arguments], cwd=self.project, env=self.environment, stdout=out).returncode
        if code:
            raise SystemExit(f"everlog {arguments[0]} ended with {code}; the demonstration is broken")

    def run(self, *command: str) -> int:
        """Run a command in the repository, and give its exit code."""
        print(f"$ {' '.join([Path(command[0]).name, *command[1:]])}", flush=True)
        return subprocess.run(command, cwd=self.project, env=self.environment).returncode


def show_command(*arguments: str) -> None:
    print("$ everlog " + " ".join(f'"{word}"' if " " in word else word for word in arguments), flush=True)


def say(*lines: str) -> None:
    print("\n" + "\n".join(f"=== {line}" for line in lines) + "\n", flush=True)


if __name__ == "__main__":
    main()
