"""Stacked bars in the terminal. What draws them is an extra, and imported when something is drawn."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from everlog.cli.faults import UsageFault
from everlog.cli.plain import one_line

_COLOURS = ("green", "blue", "orange")
_WIDEST, _HEIGHT = 120, 18


def draw(title: str, bars: Sequence[tuple[str, Sequence[float]]], parts: Sequence[str]) -> str:
    """Give a chart of a bar for each name, stacked of so many parts. Raises UsageFault without the extra."""
    try:
        import plotext
    except ImportError:
        raise UsageFault("--plot needs an extra: pip install 'everlog[plot]'") from None
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(min(_WIDEST, shutil.get_terminal_size().columns), _HEIGHT)
    plotext.title(title)
    names = [one_line(name, 12) for name, _ in bars]
    heights = [[values[part] for _, values in bars] for part in range(len(parts))]
    plotext.stacked_bar(names, heights, labels=list(parts), color=list(_COLOURS[: len(parts)]))
    drawn: str = plotext.build()
    return drawn if sys.stdout.isatty() else plotext.uncolorize(drawn)
