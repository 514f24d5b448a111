"""Which checkpoints are worth keeping."""

from __future__ import annotations

APART = 8192
"""So many events lie between two that are kept, but for the newest."""


def crowded(seqs: list[int]) -> list[int]:
    """Give which of the checkpoints, in order, stand too near to an older one, the newest left out."""
    gone: list[int] = []
    last = 0
    for seq in seqs[:-1]:
        if seq - last < APART:
            gone.append(seq)
        else:
            last = seq
    return gone
