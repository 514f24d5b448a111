"""Which checkpoints are worth keeping."""

from __future__ import annotations

APART = 8192
"""So many events lie between two that are kept far into a log, but for the newest."""

NEAR = 2048
"""And so many between two at its beginning, where they are small and what a fork reads again counts most."""


def crowded(seqs: list[int]) -> list[int]:
    """Give which of the checkpoints, in order, stand too near to an older one, the newest left out."""
    gone: list[int] = []
    last = 0
    for seq in seqs[:-1]:
        if seq - last < apart(last):
            gone.append(seq)
        else:
            last = seq
    return gone


def apart(seq: int) -> int:
    """Give how many events follow a checkpoint before the next one that is kept."""
    return min(APART, max(NEAR, seq // 4))
