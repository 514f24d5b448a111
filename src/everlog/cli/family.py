"""Sessions as a tree: children below the parents that they were delegated by, forked or continued from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from everlog.store.backend import Summary

Row = tuple[str, Summary]
"""The lines that lead to a session in a drawing, and the session."""


def drawn(page: Sequence[Summary]) -> list[Row]:
    """Give sessions with each child below its parent, where that is among them, in their order otherwise.

    Only delegated sessions are drawn below their parents: a fork has a life of its own.
    """
    names = {summary.id for summary in page}
    below: dict[str, list[Summary]] = {}
    roots = []
    for summary in page:
        parent = summary.parent_session
        if summary.delegation_depth and parent in names and parent != summary.id and parent is not None:
            below.setdefault(parent, []).append(summary)
        else:
            roots.append(summary)
    rows = [row for root in roots for row in _branch(root, below, "", "")]
    shown = {summary.id for _, summary in rows}
    return rows + [("", summary) for summary in page if summary.id not in shown]  # a ring has no root


def descendants(every: Iterable[Summary], id: str) -> list[Row]:
    """Give the sessions that a session delegated, and those that they did, oldest first."""
    below: dict[str, list[Summary]] = {}
    for summary in sorted(every, key=lambda found: found.created_at):
        if summary.delegation_depth and summary.parent_session and summary.id != id:
            below.setdefault(summary.parent_session, []).append(summary)
    return list(_children(id, below, ""))


def _branch(root: Summary, below: dict[str, list[Summary]], mark: str, lead: str) -> Iterator[Row]:
    yield mark, root
    yield from _children(root.id, below, lead)


def _children(id: str, below: dict[str, list[Summary]], lead: str) -> Iterator[Row]:
    children = below.pop(id, [])
    for number, child in enumerate(children):
        is_last = number == len(children) - 1
        yield from _branch(child, below, lead + ("└─ " if is_last else "├─ "), lead + ("   " if is_last else "│  "))
