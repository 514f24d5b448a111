"""Repair passes: from the messages that a log holds to an order that every provider accepts.

Each pass is a pure function from messages to messages that does one thing, and leaves sound messages as they
are. They run in the order of `wire_order`, and the order matters: results are split apart before they are
paired with calls; calls are paired before ids change, since an id is what pairs them; and names and arguments
come last, since nothing else looks at them.

A sound log needs none of this but the ids and the arguments. The rest is for logs of other programs, for
compacted ones, and for sessions that change their provider.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from everlog.session.jsonvalue import decode, encode
from everlog.session.messages import (
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UnknownBlock,
    tool_message,
    user_message,
)

NO_RESULT = "No result was recorded for this call."
ORPHAN = "[A result that answers no call in view]"


@dataclass(frozen=True)
class Names:
    """What a protocol demands of call ids and tool names: the characters that are allowed, and how many."""

    id_pattern: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,40}")
    id_prefix: str = "call_"
    """What the id that stands for an unfitting one begins with; hexadecimal digits follow."""
    id_length: int = 29
    name_characters: str = "A-Za-z0-9_-"
    """The characters of a tool's name, as they stand in the brackets of a pattern."""
    name_length: int = 64

    def allow_name(self, name: str) -> bool:
        """Tell whether a tool's name is of the form."""
        return re.fullmatch(f"[{self.name_characters}]{{1,{self.name_length}}}", name) is not None

    def fit_name(self, name: str) -> str:
        """Give a name of the form made from one that need not be: `_` for each character that is not allowed."""
        return re.sub(f"[^{self.name_characters}]", "_", name)[: self.name_length] or "unknown"


def wire_order(messages: Iterable[Message], offered: Collection[str], names: Names) -> list[Message]:
    """Give the messages in a valid order: system first, then turns in which results follow their calls.

    `offered` are the names of the request's tools: calls to them keep their name whatever its form.
    """
    ordered = system_first(messages)
    ordered = without_unknown(ordered)
    ordered = results_apart(ordered)
    ordered = results_after_calls(ordered)
    ordered = with_valid_ids(ordered, names)
    ordered = with_valid_names(ordered, offered, names)
    return with_object_arguments(ordered)


def system_first(messages: Iterable[Message]) -> list[Message]:
    """Put system messages before all others; the order is kept within both groups."""
    held = list(messages)
    if all(message.role != "system" for message in held[1:]):
        return held
    return sorted(held, key=lambda message: message.role != "system")


def without_unknown(messages: Sequence[Message]) -> list[Message]:
    """Leave out blocks that no provider understands, empty text, and messages in which nothing is left.

    A call that is not the assistant's is such a block.
    """
    result = []
    for message in messages:
        kept = tuple(block for block in message.content if not _is_nothing(block, message.role))
        if kept:
            result.append(message if len(kept) == len(message.content) else _with_content(message, kept))
    return result


def _is_nothing(block: Block, role: str) -> bool:
    match block:
        case UnknownBlock():
            return True
        case Text():
            return not block.text
        case ToolCall():
            return role != "assistant"
        case _:
            return False


def results_apart(messages: Sequence[Message]) -> list[Message]:
    """Give each result a message of its own, a user's, before whatever else its message holds."""
    result: list[Message] = []
    for message in messages:
        found = [block for block in message.content if isinstance(block, ToolResult)]
        if not found or (len(message.content) == 1 and message.role == "user"):
            result.append(message)
            continue
        result += [user_message([block], message.source, f"{message.id}:{at}") for at, block in enumerate(found)]
        rest = tuple(block for block in message.content if not isinstance(block, ToolResult))
        if rest:
            result.append(_with_content(message, rest))
    return result


def calls_of(message: Message) -> tuple[ToolCall, ...]:
    """Give the calls of an answer; nobody else makes any."""
    return message.calls if message.role == "assistant" else ()


def result_of(message: Message) -> ToolResult | None:
    """Give the result that a message is, once `results_apart` has been over it."""
    return message.result if message.role == "user" else None


def results_after_calls(messages: Sequence[Message]) -> list[Message]:
    """Put each result right after its call's message, in call order.

    A result belongs to the latest unanswered call of its id before it. A call without a result gets one that says
    so. A result without a call becomes an ordinary message where it stands, so that what it says is not lost.
    """
    answers, orphans = _paired(messages)
    result: list[Message] = []
    for at, message in enumerate(messages):
        answer = result_of(message)
        if answer is None:
            result.append(message)
            for number, call in enumerate(calls_of(message)):
                result.append(answers.get((at, number)) or _missing(message, number, call))
        elif at in orphans:
            result.append(_as_text(message, answer))
    return result


def _paired(messages: Sequence[Message]) -> tuple[dict[tuple[int, int], Message], set[int]]:
    """Give the results by (index of the message, number of the call), and the indexes of those that have no call."""
    waiting: dict[str, list[tuple[int, int]]] = {}
    answers: dict[tuple[int, int], Message] = {}
    orphans: set[int] = set()
    for at, message in enumerate(messages):
        for number, call in reversed(list(enumerate(calls_of(message)))):
            waiting.setdefault(call.id, []).append((at, number))
        answer = result_of(message)
        if answer is not None:
            open_calls = waiting.get(answer.tool_call_id)
            if open_calls:
                answers[open_calls.pop()] = message
            else:
                orphans.add(at)
    return answers, orphans


def _missing(message: Message, number: int, call: ToolCall) -> Message:
    return tool_message(call.id, NO_RESULT, is_error=True, id=f"{message.id}:{number}:missing")


def _as_text(message: Message, result: ToolResult) -> Message:
    return user_message([Text(text=ORPHAN), *result.content], id=message.id)


def with_valid_ids(messages: Sequence[Message], names: Names) -> list[Message]:
    """Make call ids fit the protocol, and unique in the whole request; results follow their calls.

    An id that fits and was not used before stays as it is.
    """
    used: set[str] = set()
    renamed: Iterator[str] = iter(())
    result = []
    for message in messages:
        calls, answer = calls_of(message), result_of(message)
        if calls:
            ids = [_fitting(call.id, names, used) for call in calls]
            renamed = iter(ids)
            message = _with_calls(message, calls, [_with_id(call, id) for call, id in zip(calls, ids, strict=True)])
        elif answer is not None:
            message = _answering(message, answer, next(renamed))
        result.append(message)
    return result


def _fitting(id: str, names: Names, used: set[str]) -> str:
    """Give the id, or one made from it, that fits and is not used; and note it as used."""
    fitting, again = id, 0
    while fitting in used or not names.id_pattern.fullmatch(fitting):
        digest = hashlib.sha256(f"{id}\0{again}".encode()).hexdigest()
        fitting, again = (names.id_prefix + digest)[: names.id_length], again + 1
    used.add(fitting)
    return fitting


def _with_id(call: ToolCall, id: str) -> ToolCall:
    return call if call.id == id else ToolCall(id=id, name=call.name, arguments=call.arguments)


def _answering(message: Message, result: ToolResult, call_id: str) -> Message:
    if result.tool_call_id == call_id:
        return message
    block = ToolResult(tool_call_id=call_id, content=result.content, is_error=result.is_error)
    return _with_content(message, (block,))


def with_valid_names(messages: Sequence[Message], offered: Collection[str], names: Names) -> list[Message]:
    """Make the names of calls to tools that do not exist fit the protocol: a model may ask for anything."""

    def fits(name: str) -> bool:
        return name in offered or names.allow_name(name)

    def renamed(call: ToolCall) -> ToolCall:
        if fits(call.name):
            return call
        return ToolCall(id=call.id, name=names.fit_name(call.name), arguments=call.arguments)

    return [_with_calls(m, calls, list(map(renamed, calls))) if (calls := calls_of(m)) else m for m in messages]


def with_object_arguments(messages: Sequence[Message]) -> list[Message]:
    """Make arguments that are not a JSON object into one; text that is one stays byte for byte."""

    def mended(call: ToolCall) -> ToolCall:
        arguments = object_arguments(call.arguments)
        return call if arguments == call.arguments else ToolCall(id=call.id, name=call.name, arguments=arguments)

    return [_with_calls(m, calls, list(map(mended, calls))) if (calls := calls_of(m)) else m for m in messages]


def object_arguments(raw: str) -> str:
    """Give arguments as the text of a JSON object: blank is an empty one; other text stands under one key."""
    if not raw.strip():
        return "{}"
    try:
        is_object = isinstance(decode(raw), dict)
    except ValueError:
        is_object = False
    return raw if is_object else encode({"invalid_arguments": raw}).decode()


def _with_calls(message: Message, calls: Sequence[ToolCall], renewed: Sequence[ToolCall]) -> Message:
    """Give the message with these calls in the place of its own."""
    if all(new is old for new, old in zip(renewed, calls, strict=True)):
        return message
    fresh = iter(renewed)
    return _with_content(message, tuple(next(fresh) if isinstance(b, ToolCall) else b for b in message.content))


def _with_content(message: Message, content: tuple[Block, ...]) -> Message:
    return Message(id=message.id, role=message.role, content=content, source=message.source)


def result_text(result: ToolResult) -> str:
    """Give the text of a result's content, its blocks on lines of their own."""
    return "\n".join(block.text for block in result.content if isinstance(block, Text))
