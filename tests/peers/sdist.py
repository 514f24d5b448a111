"""Source trees that nobody of this project wrote: small source distributions from PyPI, kept where git ignores them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".sdists"

Release = tuple[str, str]
"""A name on PyPI and a version."""


def unpacked(name: str, version: str, into: Path) -> Path:
    """Unpack the source of a release into a folder, downloading it once; give the folder of the tree."""
    download([(name, version)])
    archive = _archive(name, version)
    assert archive is not None
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as found:
            found.extractall(into)
            top = found.namelist()[0].partition("/")[0]
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(into, filter="data")
            top = tar.getnames()[0].partition("/")[0]
    return into / top


def download(releases: Iterable[Release]) -> None:
    """Have the sources of releases at hand, of each project one; what is there already is not asked for again."""
    missing = [f"{name}=={version}" for name, version in releases if _archive(name, version) is None]
    if not missing:
        return
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(FOLDER)]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options, *missing]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip could not download {', '.join(missing)}:\n{done.stdout}{done.stderr}")


def _archive(name: str, version: str) -> Path | None:
    wanted = {f"{name}-{version}{ending}".lower() for ending in (".tar.gz", ".zip")}
    return next((path for path in FOLDER.glob("*") if path.name.lower() in wanted), None)
