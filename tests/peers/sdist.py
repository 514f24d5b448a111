"""Source trees that nobody of this project wrote: small source distributions from PyPI, kept where git ignores them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".sdists"


def unpacked(name: str, version: str, into: Path) -> Path:
    """Unpack the source of a release into a folder, downloading it once; give the folder of the tree."""
    archive = FOLDER / f"{name}-{version}.tar.gz"
    if not archive.exists():
        _download(name, version)
    with tarfile.open(archive) as found:
        found.extractall(into, filter="data")
    return into / f"{name}-{version}"


def _download(name: str, version: str) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", name, "--dest", str(FOLDER)]
    command = [sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip could not download {name} {version}:\n{done.stdout}{done.stderr}")
