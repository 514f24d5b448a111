"""Reading a session of Codex: a file's lines to a recording.

| there | here |
|---|---|
| `session_meta` | the header; its instructions are the system prompt |
| `turn_context` | the model of the answers that follow |
| `response_item` of a person or the program | `user/message`, `developer` and the environment as the program's |
| the other `response_item`s, up to a result or a count | one `assistant/message`, and the results of its calls |
| `token_count` | the usage of the answer before: what the total grew by |
| `compacted` | a compaction; what it keeps replaces all that the model saw |
| `thread_rolled_back` | those turns leave the model's view |
| `turn_aborted` | the turn ends as aborted |
| everything else, and what each of these says besides | an event `codex/NAME`, counted |

Lines of the first versions hold the items alone, after a line with id and time.
"""

from __future__ import annotations

from typing import Any

from everlog.interop.chronicle import Chronicle, ForeignRecording, text_block, texts_of
from everlog.interop.codex.items import PROGRAM, RESULTS, blocks_of, result_of, said_by_model
from everlog.interop.documents import Document, Record, Source, Unreadable, record_of
from everlog.interop.times import milliseconds
from everlog.session.header import Header

_ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call")
_KNOWN_EVENTS = {
    "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break",
    "task_started", "task_complete", "turn_started", "turn_complete", "turn_aborted", "token_count",
    "context_compacted", "thread_rolled_back", "entered_review_mode", "exited_review_mode",
    "exec_command_begin", "exec_command_end",
    "patch_apply_begin", "patch_apply_end", "mcp_tool_call_begin", "mcp_tool_call_end", "web_search_begin",
    "web_search_end", "error", "warning", "stream_error", "undo_started", "undo_completed", "turn_diff", "plan_update",
    "item_started", "item_completed", "view_image_tool_call",
}  # fmt: skip
_KNOWN_ITEMS = {"ghost_snapshot", "compaction", "compaction_summary", "other", "context_compaction"}


def is_log(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of such a session."""
    line = head.partition(b"\n")[0]
    first = record_of(line)
    if isinstance(first, Unreadable):
        return b'"session_meta"' in line[:512] and b'"payload"' in line
    if first.get("type") in _ENVELOPES and isinstance(first.get("payload"), dict):
        return True
    return _is_first_of_old(first)


def _is_first_of_old(record: Record) -> bool:
    return isinstance(record.get("id"), str) and "timestamp" in record and "instructions" in record


def read(source: Source) -> ForeignRecording:
    """Read a session of Codex, a line at a time.

    Raises:
        OSError: the file cannot be read.
    """
    document = Document(source)
    first = next(iter(document.records()), None)
    told = Chronicle(PROGRAM, "openai", _header({} if first is None or isinstance(first, Unreadable) else first))
    reading = _Reading(told)
    for record in document.records():
        reading.take(record)
    return told.recording()


def _header(first: Record) -> Header:
    meta = first.get("payload")
    meta = meta if isinstance(meta, dict) else first
    cwd, parent = meta.get("cwd"), meta.get("forked_from_id")
    spawn = _spawn(meta.get("source"))
    parent = spawn.get("parent_thread_id") or parent
    depth = spawn.get("depth")
    return Header(
        id=str(meta.get("id") or "codex"),
        created_at=milliseconds(meta.get("timestamp")) or milliseconds(first.get("timestamp")) or 0,
        cwd=cwd if isinstance(cwd, str) and cwd else None,
        parent_session=parent if isinstance(parent, str) else None,
        delegation_depth=depth if isinstance(depth, int) else None,
    )


def _spawn(source: object) -> dict[str, Any]:
    """Give what a session's source says of the agent that began it."""
    match source:
        case {"subagent": {"thread_spawn": dict(spawn)}}:
            return spawn
    return {}


class _Reading:
    """Tells a chronicle the records of one file."""

    def __init__(self, told: Chronicle) -> None:
        self._told = told
        self._model = "unknown"
        self._answers = 0
        self._answered = False
        self._total: dict[str, int] = {}
        self._prompts: list[int] = []

    def take(self, record: Record | Unreadable) -> None:
        """Take the next line in."""
        if isinstance(record, Unreadable):
            self._told.remark("lines that are no records")
            self._told.keep("unreadable", {"text": record.text}, known=False)
            return
        self._told.at(milliseconds(record.get("timestamp")))
        payload, kind = record.get("payload"), record.get("type")
        if kind in _ENVELOPES and isinstance(payload, dict):
            self._enveloped(record, str(kind), payload)
        elif kind in _ITEMS:
            self._item(record)
        elif _is_first_of_old(record) and kind is None:
            self._meta(record, record)
        else:
            name = kind if isinstance(kind, str) and kind else "record"
            self._told.keep(name, record, known="record_type" in record)

    def _enveloped(self, record: Record, kind: str, payload: dict[str, Any]) -> None:
        match kind:
            case "session_meta":
                self._meta(record, payload)
            case "turn_context":
                self._model = str(payload.get("model") or self._model)
                self._told.keep(kind, record)
            case "response_item":
                self._item(payload)
            case "compacted":
                self._compacted(payload)
            case _:
                self._event(record, payload)

    def _meta(self, record: Record, meta: dict[str, Any]) -> None:
        base = meta.get("base_instructions")
        text = base.get("text") if isinstance(base, dict) else meta.get("instructions")
        if isinstance(text, str) and text and self._told.next_seq == 0:
            self._told.system(text)
        self._told.keep("session_meta", record)

    def _item(self, item: dict[str, Any]) -> None:
        said = said_by_model(item, self._told)
        if said is not None:
            self._answers += self._answered  # what comes after a result is another answer
            self._answered = False
            rest = {key: value for key, value in item.items() if key not in ("content", "arguments", "input")}
            self._told.answer(self._answers, said, self._model, None, rest)
        elif item.get("type") in RESULTS:
            call, content, failed = result_of(item, self._told)
            if not self._told.result(call, content, is_error=failed):
                self._told.keep("lone-result", item)
            self._answered = True
        elif item.get("type") == "message":
            self._prompt(item)
        else:
            kind = str(item.get("type") or "item")
            self._told.keep(kind, item, known=kind in _KNOWN_ITEMS)

    def _prompt(self, item: dict[str, Any]) -> None:
        role, content = item.get("role"), blocks_of(self._told, item.get("content"))
        text = texts_of(content).lstrip()
        form = None if role == "user" else str(role)
        if text.startswith(("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")):
            form = "context"
        beside = {key: value for key, value in item.items() if key not in ("content", "role", "type")}
        seq = self._told.user(content, beside or None, form)
        self._answers += 1
        if form is None:
            self._prompts.append(seq)

    def _event(self, record: Record, payload: dict[str, Any]) -> None:
        kind = str(payload.get("type") or "event")
        if kind == "token_count":
            self._count(payload)
        self._told.keep(kind, record, known=kind in _KNOWN_EVENTS)
        if kind == "thread_rolled_back":
            self._rolled_back(payload.get("num_turns"))
        elif kind == "turn_aborted":
            self._told.end_turn({"kind": "aborted", "reason": {"kind": "legacy", "reason": payload.get("reason")}})
            self._answers += 1

    def _count(self, payload: dict[str, Any]) -> None:
        """Give the answer before what the total grew by; the same total is told again when limits change."""
        info = payload.get("info")
        total = info.get("total_token_usage") if isinstance(info, dict) else None
        if not isinstance(total, dict):
            return
        counts = {key: value for key, value in total.items() if isinstance(value, int)}
        grown = {key: max(value - self._total.get(key, 0), 0) for key, value in counts.items()}
        self._total = counts
        if not any(grown.values()):
            return
        cached = grown.get("cached_input_tokens", 0)
        usage = {
            "inputTokens": max(grown.get("input_tokens", 0) - cached, 0),
            "outputTokens": grown.get("output_tokens", 0),
            "cacheReadTokens": cached,
            "reasoningTokens": grown.get("reasoning_output_tokens", 0),
        }
        if self._told.used(usage):
            self._answers += 1
        else:
            self._told.remark("counts of tokens without an answer")

    def _compacted(self, payload: dict[str, Any]) -> None:
        summary = payload.get("message")
        text = summary if isinstance(summary, str) else ""
        kept = payload.get("replacement_history")
        items = [item for item in kept if isinstance(item, dict)] if isinstance(kept, list) else []
        self._told.keep("compacted", {key: value for key, value in payload.items() if key != "replacement_history"})
        contents = [blocks_of(self._told, item.get("content")) for item in items if item.get("type") == "message"]
        for item in items:
            if item.get("type") != "message":
                self._told.keep(str(item.get("type") or "item"), item)
        first, *others = contents or [[text_block(text)]]
        self._prompts = [self._told.compacted(first, text, "unknown")]
        for content in others:
            self._prompts.append(self._told.user(content, form="kept"))
        self._answers += 1

    def _rolled_back(self, turns: object) -> None:
        """Take the last turns out of what the model sees; a line says so in their place."""
        self._told.flush()
        if not isinstance(turns, int) or turns < 1 or not self._prompts:
            return
        gone = self._prompts[-turns:]
        del self._prompts[-turns:]
        said = "The person took back what stood here."
        self._told.rolled_back(gone[0], [text_block(said)])
        self._answers += 1
