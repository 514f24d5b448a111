"""The estimator against a real tokenizer: that of a small model, on a llama.cpp server."""

from __future__ import annotations

from collections.abc import Iterator

from tests.compaction.tokenizing import measure, texts, tokenizer_at
from tests.peers.llamacpp import running_llamacpp

from benchmarks.figure import Figure, median_seconds
from everlog.compaction.estimator import counts_of


def figures() -> Iterator[Figure]:
    """Give the error for each kind of text, and what an estimate costs."""
    with running_llamacpp() as server:
        found = measure(tokenizer_at(server.url), "smollm")
    for kind, errors in found.items():
        note = f"{errors.chunks} texts; 19 of 20 within {errors.p95:.0%}; all together {errors.whole:+.1%}"
        yield Figure(f"mean error of an estimate, {kind}", errors.mean * 100, "%", "<= 15", note)
    code = "\n".join(texts()["code"])
    took = median_seconds(lambda: counts_of(code), 9)
    yield Figure("estimating 100,000 characters of code", took * 1e8 / len(code), "ms")
