"""What a step logs before its request: prompt, conditions, header and context, each when it is new or changed.

Nothing reaches a model that the log does not hold. So whatever shapes the next request is compared with what
the log says is in force, and logged first where it differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from everlog.llm.seam import Route
from everlog.session.event import Replace
from everlog.session.jsonvalue import JSONObject
from everlog.session.live import Session
from everlog.session.messages import Message, developer_message, system_message
from everlog.session.payloads import (
    DeveloperMessage,
    RequestContext,
    RequestHeader,
    RequestHeaderEvent,
    SystemMessage,
)


def log_system_prompt(session: Session, text: str) -> None:
    """Log the rendered system prompt unless the surface holds an equal one; it takes position 0 there."""
    turns, node = session.ledger.turns, session.surface.system
    if node is None:
        if text:
            payload = SystemMessage(turn=turns.last, step=turns.step, message=system_message(text))
            session.append(payload, "append")
        return
    held = session.events[node].data
    if isinstance(held, SystemMessage) and held.message.text != text:
        # A replacement stands where the node stood, and so names that one's turn and step.
        payload = SystemMessage(turn=held.turn, step=held.step, message=system_message(text))
        session.append(payload, Replace(node, node), sources=[node])


def log_tool_changes(session: Session, schemas: Sequence[JSONObject]) -> None:
    """Tell the model which tools came and went since the last request's header, when some did."""
    header = session.request_header()
    if header is None:
        return
    before, now = _names(header.tools), _names(list(schemas))
    text = _change(sorted(now - before), sorted(before - now))
    if text and not _told_already(session, text):
        turns = session.ledger.turns
        message = developer_message(text, "tools")
        session.append(DeveloperMessage(turn=turns.last, step=turns.step, message=message), "append")


def _names(tools: object) -> set[str]:
    found = tools if isinstance(tools, list) else []
    return {str(tool.get("name")) for tool in found if isinstance(tool, dict)}


def _change(added: Iterable[str], withdrawn: Iterable[str]) -> str:
    parts = []
    if names := ", ".join(withdrawn):
        parts.append(f"These tools are no longer available: {names}. Results they gave earlier stay as they are.")
    if names := ", ".join(added):
        parts.append(f"These tools are available from now on: {names}.")
    return " ".join(parts)


def _told_already(session: Session, text: str) -> bool:
    """Tell whether a process that ended before its request has logged the same words since the last header."""
    since = session.ledger.headers.header or 0
    surface = session.surface
    for at in range(len(surface) - 1, -1, -1):
        [seq] = surface.slice(at, at + 1)
        if seq < since:
            return False
        event = session.events[seq]
        if event.type == "developer/message" and isinstance(event.data, DeveloperMessage):
            return event.data.message.text == text
    return False


def log_message(session: Session, message: Message) -> None:
    """Enter an input: from here on it is history."""
    session.append(message, "append")


def log_header(session: Session, header: RequestHeader) -> None:
    """Log the header when it is the first one, the first since a reload, changed, or a new series begins."""
    reason = _reason(session, header)
    if reason is None:
        return
    headers = session.ledger.headers
    rose = session.surface.generation > headers.generation
    session.append(RequestHeaderEvent(header=header, reason=reason, starts_series=True if rose else None))


def _reason(session: Session, header: RequestHeader) -> str | None:
    headers, held = session.ledger.headers, session.request_header()
    if held is None:
        return "initial"
    if headers.seeded:
        return "resume"
    if held != header:
        return "change"
    return "series" if session.surface.generation > headers.generation else None


def log_context(session: Session, route: Route) -> None:
    """Log the capacity of the route when it is not the one in force."""
    context = RequestContext(provider=route.provider, model=route.model, context_window=route.context_window)
    held = session.request_context()
    if held is None or held != context:
        session.append(context)
