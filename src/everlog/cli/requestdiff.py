"""What changed from one request to the next: in the configuration, the tools, and the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from everlog.session.jsonvalue import JSON
from everlog.session.messages import Message
from everlog.session.request import Request

ABSENT = None


@dataclass(frozen=True)
class RequestDiff:
    """The changes between two requests.

    Attributes:
        config: changed options as `(name, before, after)`; an absent one is None.
        tools_added, tools_removed, tools_changed: names of tools, sorted.
        kept: how many leading messages both have.
        removed: the messages that only the earlier request has after those.
        added: the messages that only the later one has after those.
    """

    config: tuple[tuple[str, JSON, JSON], ...]
    tools_added: tuple[str, ...]
    tools_removed: tuple[str, ...]
    tools_changed: tuple[str, ...]
    kept: int
    removed: tuple[Message, ...]
    added: tuple[Message, ...]

    def to_json_value(self) -> dict[str, object]:
        """Give the changes as JSON."""
        return {
            "config": [{"name": name, "before": before, "after": after} for name, before, after in self.config],
            "tools": {"added": self.tools_added, "removed": self.tools_removed, "changed": self.tools_changed},
            "messages": {"kept": self.kept, "removed": self.removed, "added": self.added},
        }


def compare(before: Request, after: Request) -> RequestDiff:
    """Compare two requests by their bytes."""
    old, new = _by_name(before), _by_name(after)
    both = old.keys() & new.keys()
    kept = _common(before.messages, after.messages)
    return RequestDiff(
        config=tuple(_changed_options(before.config, after.config)),
        tools_added=tuple(sorted(new.keys() - old.keys())),
        tools_removed=tuple(sorted(old.keys() - new.keys())),
        tools_changed=tuple(sorted(name for name in both if old[name] != new[name])),
        kept=kept,
        removed=tuple(before.messages[kept:]),
        added=tuple(after.messages[kept:]),
    )


def _changed_options(old: Mapping[str, JSON], new: Mapping[str, JSON]) -> list[tuple[str, JSON, JSON]]:
    names = sorted(old.keys() | new.keys())
    found = [(name, old.get(name, ABSENT), new.get(name, ABSENT)) for name in names]
    return [(name, was, now) for name, was, now in found if was != now]


def _by_name(request: Request) -> dict[str, dict[str, JSON]]:
    return {str(tool.get("name")): tool for tool in request.tools if isinstance(tool, dict)}


def _common(old: Sequence[Message], new: Sequence[Message]) -> int:
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].to_json() == pair[1].to_json(), pairs))
