"""One measured figure, and how to measure it on a noisy machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A line of the table.

    Attributes:
        name: what was measured.
        value: the number, in `unit`.
        unit: `x` for a ratio within the run, else `ms`, `µs`, `MB`, …
        bound: what it should be, like `>= 1.1` or `< 5`; empty when there is no demand.
        note: what it is a ratio of.
    """

    name: str
    value: float
    unit: str
    bound: str = ""
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Tell whether the value is within its bound; None without one."""
        if not self.bound:
            return None
        sign, limit = self.bound.split()
        return self.value >= float(limit) if sign == ">=" else self.value <= float(limit)


def median_seconds(run: Callable[[], object], times: int) -> float:
    """Give the median time of one call of `run`, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def seconds(run: Callable[[], object]) -> float:
    """Give the time of one call of `run`, in seconds."""
    return median_seconds(run, 1)
