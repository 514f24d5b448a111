"""Real texts, and by how much estimates of their tokens are off from what a real tokenizer says."""

from __future__ import annotations

import inspect
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

from everlog.compaction.estimator import counts_of, tokens_of

ROOT = Path(__file__).parents[2]
CHARACTERS = 1_500
CODE = ("argparse", "ast", "asyncio.base_events", "dataclasses", "email.message", "logging", "pathlib", "tarfile")


@dataclass(frozen=True)
class Errors:
    """How far estimates are off.

    Attributes:
        chunks: how many texts were measured.
        mean: the mean absolute error of one, as a share of its tokens.
        p95: what 19 of 20 stay under.
        whole: by how much all of them together are over- or underestimated.
    """

    chunks: int
    mean: float
    p95: float
    whole: float


def texts() -> dict[str, list[str]]:
    """Give chunks of 1,500 characters (Chinese: 500) by kind: this project's pages, library code, JSON schemas."""
    english = "\n".join(
        page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    )
    chinese = "".join(
        page.read_text(encoding="utf-8") for page in ROOT.rglob("*.zh-CN.md") if ".venv" not in page.parts
    )
    code = "\n".join(inspect.getsource(import_module(name)) for name in CODE)
    kinds = {"English": english, "code": code, "JSON": "\n".join(_schemas())}
    found = {kind: list(_chunks(text)) for kind, text in kinds.items()}
    return {**found, "Chinese": list(_chunks(chinese, CHARACTERS // 3))}


def _schemas() -> Iterator[str]:
    """Give the schemas of JSON Schema itself, as files have them and as requests do."""
    found = find_spec("jsonschema_specifications")
    folders = found.submodule_search_locations if found is not None else None
    for path in sorted(path for folder in folders or () for path in (Path(folder) / "schemas").rglob("*")):
        if path.is_file():
            value = json.loads(path.read_text(encoding="utf-8"))
            yield json.dumps(value, indent=2)
            yield json.dumps(value)


def _chunks(text: str, size: int = CHARACTERS) -> Iterator[str]:
    for start in range(0, min(len(text), 60 * size) - size // 2, size):
        yield text[start : start + size]


def measure(tokenize: Callable[[str], int], family: str) -> dict[str, Errors]:
    """Measure every kind of text, and all of them together as `all`."""
    found: dict[str, Errors] = {}
    every: list[tuple[float, int]] = []
    for kind, chunks in texts().items():
        pairs = [(tokens_of(counts_of(chunk), family), tokenize(chunk)) for chunk in chunks]
        every += pairs
        found[kind] = _errors(pairs)
    return {**found, "all": _errors(every)}


def _errors(pairs: list[tuple[float, int]]) -> Errors:
    shares = sorted(abs(estimated - real) / real for estimated, real in pairs)
    whole = sum(estimated for estimated, _ in pairs) / sum(real for _, real in pairs) - 1
    return Errors(len(pairs), statistics.mean(shares), shares[int(0.95 * (len(shares) - 1))], whole)


def tokenizer_at(url: str) -> Callable[[str], int]:
    """Give the tokenizer of a llama.cpp server."""

    def tokenize(text: str) -> int:
        body = json.dumps({"content": text}).encode()
        with urlopen(Request(f"{url}/tokenize", body, {"content-type": "application/json"})) as answer:
            return len(json.loads(answer.read())["tokens"])

    return tokenize
