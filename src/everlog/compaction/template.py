"""A summary that needs no model: what the person said, what was called, and what was said last, cut to length.

It is poorer than a model's and cannot fail, which makes it the last resort as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from everlog.compaction.rendering import clipped
from everlog.compaction.seam import Assignment, Summariser, Summary
from everlog.session.messagelist import message_of
from everlog.session.messages import Message, PluginSource, UserSource

_CHARACTERS_PER_TOKEN = 3
"""Few enough for any language but those of ideographs, which the share of each part leaves room for."""


class Template(Summariser):
    """Fills in a form."""

    async def summarise(self, assignment: Assignment) -> Summary:
        """Give the form, filled in from the messages alone."""
        session = assignment.occasion.session
        events = session.events.pick(assignment.nodes)
        messages = [message for event in events if (message := message_of(event)) is not None]
        room = assignment.tokens * _CHARACTERS_PER_TOKEN
        parts = [*_parts(messages, room), *_todos(assignment, room // 10)]
        return Summary("\n\n".join(parts), "template", "template")


def _parts(messages: Sequence[Message], room: int) -> list[str]:
    earlier = [message.text for message in messages if _is_checkpoint(message)]
    asked = [message.text for message in messages if isinstance(message.source, UserSource)]
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    found = [
        ("Earlier still:", clipped(earlier[-1], room * 3 // 10) if earlier else ""),
        ("The person said:", _listed(asked, room * 3 // 10)),
        ("Tools called:", _called(messages, room // 5)),
        ("The agent said last:", clipped(said[-1], room // 5) if said else ""),
    ]
    return [f"{head}\n{text}" for head, text in found if text]


def _is_checkpoint(message: Message) -> bool:
    return isinstance(message.source, PluginSource) and message.source.compaction_id is not None


def _listed(texts: Sequence[str], room: int) -> str:
    """Give texts as a list: the first, which says what it is about, and as many of the last as there is room for."""
    if not texts:
        return ""
    first, rest = clipped(texts[0], room // 2), []
    left = room - len(first)
    for text in reversed(texts[1:]):
        short = clipped(text, room // 4)
        left -= len(short) + 3
        if left < 0:
            rest.append("…")
            break
        rest.append(short)
    return "\n".join(f"- {text}" for text in [first, *reversed(rest)])


def _called(messages: Sequence[Message], room: int) -> str:
    """Give how often each tool was called, and the last calls with their arguments."""
    calls = [call for message in messages for call in message.calls]
    if not calls:
        return ""
    counted = ", ".join(f"{name} {times} times" for name, times in Counter(call.name for call in calls).most_common(20))
    lines = [clipped(counted, room // 2), "the last ones:"]
    left = room - len(lines[0])
    last: list[str] = []
    for call in reversed(calls):
        line = f"- {call.name} {clipped(call.arguments, 120)}"
        left -= len(line) + 1
        if left < 0:
            break
        last.append(line)
    return "\n".join([*lines, *reversed(last)])


def _todos(assignment: Assignment, room: int) -> list[str]:
    todos = assignment.occasion.session.project("todos")
    if not todos:
        return []
    listed = "\n".join(f"- [{todo.status}] {todo.content}" for todo in todos)
    return [f"The to-do list:\n{clipped(listed, room)}"]
