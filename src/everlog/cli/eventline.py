"""One event told on one line: for the log view, for diffs, for what a request adds."""

from __future__ import annotations

from everlog.cli.output import counted
from everlog.cli.plain import harmless, one_line
from everlog.cli.telling import told_arguments, told_failure, told_reason, told_text, told_usage
from everlog.session import Event, Message, Replace
from everlog.session.payloads import (
    ApprovalAsked,
    ApprovalDecided,
    AssistantAttempt,
    AssistantChunk,
    AssistantMessage,
    DeveloperMessage,
    InboxSpliced,
    LlmRetry,
    RequestContext,
    RequestHeaderEvent,
    RequestSent,
    RequestSide,
    SessionTitle,
    StepEnd,
    StepStart,
    SystemMessage,
    TodoWrite,
    ToolCallEvent,
    ToolSettled,
    TurnEnd,
    TurnStart,
    WorkspaceSnapshot,
)
from everlog.session.records import deltas_of


def event_line(event: Event, width: int = 0) -> str:
    """Give `seq  type  what it says`, cut to `width` characters if that is more than 0."""
    return one_line_kept(f"{event.seq:>6}  {event.type:<18} {_place(event)}{gist(event)}", width)


def one_line_kept(text: str, width: int) -> str:
    """Give one harmless line whose leading columns keep their spaces."""
    plain = harmless(text.replace("\n", " ").replace("\t", " ")).rstrip()
    return plain if width <= 0 or len(plain) <= width else plain[: width - 1] + "…"


def gist(event: Event) -> str:
    """Give what an event says, in short; for an unknown payload, its JSON."""
    match event.data:
        case TurnStart() as data:
            return f"turn {data.turn}"
        case TurnEnd() as data:
            return f"turn {data.turn} {told_reason(data.reason)}"
        case StepStart() | StepEnd() as data:
            return f"step {data.turn}.{data.step}"
        case SystemMessage() | DeveloperMessage() as data:
            return one_line(data.message.text)
        case Message() as data:
            return one_line(told_text(data.content))
        case AssistantMessage() as data:
            spent = told_usage(data.usage) if data.usage is not None else ""
            usage = f" [{spent}]" if spent else ""
            cut = " (cut off)" if data.interrupted else ""
            return f"{one_line(told_text(data.message.content))}{cut}{usage}"
        case AssistantChunk():
            return _streamed(event)
        case AssistantAttempt() as data:
            return f"attempt {data.attempt}: {told_failure(data.failure)}"
        case LlmRetry() as data:
            return f"attempt {data.attempt} again in {data.delay_ms:.0f} ms: {told_failure(data.failure)}"
        case ToolCallEvent() as data:
            return f"{data.name} {told_arguments(data.arguments)}"
        case ToolSettled() as data:
            failed = f"{data.error.code}: " if data.error is not None else ""
            return failed + one_line(told_text(data.message.content))
        case _:
            return _gist_of_conditions(event)


def _gist_of_conditions(event: Event) -> str:
    """Give the gist of the events that say under which conditions the conversation goes on."""
    match event.data:
        case RequestHeaderEvent() as data:
            config = data.header.config if isinstance(data.header.config, dict) else {}
            tools = data.header.tools if isinstance(data.header.tools, list) else []
            route = f"{config.get('provider')}/{config.get('model')}"
            return f"{data.reason}: {route}, {counted(len(tools), 'tool')}"
        case RequestContext() as data:
            return f"{data.provider}/{data.model}, window {data.context_window or 'unknown'}"
        case RequestSent() as data:
            step = f"{data.turn}.{data.step}.{data.attempt}"
            return f"{step} by {data.adapter}, {data.bytes:,} bytes, sha256 {data.sha256[:12]}"
        case RequestSide() as data:
            return f"{data.purpose} by {data.adapter}, {data.bytes:,} bytes, sha256 {data.sha256[:12]}"
        case InboxSpliced() as data:
            arrived = "; ".join(one_line(told_text(item.message.content), 80) for item in data.inserted)
            outcome = f" {data.outcome}" if data.outcome else ""
            return f"{data.target} at {data.start}: -{data.removed_count}{outcome} +{len(data.inserted)} {arrived}"
        case ApprovalAsked() as data:
            return f"{data.tool_name} {data.reason or ''}"
        case ApprovalDecided() as data:
            return data.outcome
        case TodoWrite() as data:
            return "; ".join(f"{todo.status}: {one_line(todo.content)}" for todo in data.todos)
        case SessionTitle() as data:
            return one_line(data.title)
        case WorkspaceSnapshot() as data:
            return f"{data.commit[:12]}{' dirty' if data.dirty else ''}"
        case _:
            return one_line(event.data_json.decode("utf-8", "replace"), 200)


def _place(event: Event) -> str:
    """Give where on the surface an event went, when not to its tail."""
    op = event.surface_op
    return f"[in place of {op.start_seq}..{op.end_seq}] " if isinstance(op, Replace) else ""


def _streamed(event: Event) -> str:
    deltas = list(deltas_of(event))
    text = "".join(delta.text for delta in deltas)
    return f"{counted(len(deltas), 'delta')}: {one_line(text, 80)}"
