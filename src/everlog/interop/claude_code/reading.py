"""Reading a session of Claude Code: a file's lines to a recording.

| there | here |
|---|---|
| `user` | `user/message`, or the results of calls |
| `assistant` records of one message | one `assistant/message`; its usage counts once |
| `isApiErrorMessage` | an `assistant/attempt` |
| `compact_boundary` and the summary after it | a compaction whose summary replaces all that the model saw |
| `summary`, `custom-title`, `ai-title` | `session/title` |
| a branch that was left, a sub-agent's record, everything else | an event `claude-code/NAME`, counted |
"""

from __future__ import annotations

from typing import Any

from everlog.interop.chronicle import Chronicle, ForeignRecording, texts_of
from everlog.interop.claude_code.blocks import PROGRAM, blocks_of, is_result, lightened
from everlog.interop.claude_code.path import Path, find_path
from everlog.interop.documents import Document, Record, Source, Unreadable, record_of
from everlog.interop.times import milliseconds
from everlog.session.header import Header

_KNOWN = {
    "system", "file-history-snapshot", "queue-operation", "attachment", "progress", "last-prompt", "agent-name",
    "permission-mode", "mode", "pr-link", "tag", "agent-color", "agent-setting", "bridge-session", "summary",
    "content-replacement", "worktree-state",
}  # fmt: skip
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}


def is_log(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of such a session."""
    for line in head.splitlines()[:50]:
        record = record_of(line)
        if isinstance(record, Unreadable):
            if b'"sessionId":' in line and b'"parentUuid":' in line[:4096]:  # a line that goes on after the head
                return True
            continue
        if "sessionId" in record and "uuid" in record and "parentUuid" in record:
            return True
        if record.get("type") == "summary" and "leafUuid" in record:
            return True
    return False


def read(source: Source) -> ForeignRecording:
    """Read the conversation that a file of Claude Code ends in. The file is read twice, a line at a time.

    Raises:
        OSError: the file cannot be read.
    """
    document = Document(source)
    path = find_path(document.records())
    told = Chronicle(PROGRAM, "anthropic", _header(document, path))
    for _ in range(path.missing):
        told.remark("parents that are not in the log")
    reading = _Reading(told, path)
    for number, record in enumerate(document.records()):
        reading.take(number, record)
    return told.recording()


def _header(document: Document, path: Path) -> Header:
    """Give the header: of the first record that says whose session it is."""
    for record in document.records():
        if isinstance(record, Unreadable) or not isinstance(record.get("sessionId"), str):
            continue
        cwd, agent = record.get("cwd"), record.get("agentId")
        is_agent = path.is_agent and isinstance(agent, str)
        return Header(
            id=f"{record['sessionId']}-agent-{agent}" if is_agent else record["sessionId"],
            created_at=milliseconds(record.get("timestamp")) or 0,
            cwd=cwd if isinstance(cwd, str) and cwd else None,
            parent_session=record["sessionId"] if is_agent else None,
            delegation_depth=1 if is_agent else None,
        )
    first = next(iter(document.records()), None)
    leaf = None if first is None or isinstance(first, Unreadable) else first.get("leafUuid")
    return Header(id=f"claude-code-{leaf or 'empty'}", created_at=0)


class _Reading:
    """Tells a chronicle the records of one file."""

    def __init__(self, told: Chronicle, path: Path) -> None:
        self._told = told
        self._path = path
        self._boundary: Record = {}

    def take(self, number: int, record: Record | Unreadable) -> None:
        """Take the next record in."""
        if isinstance(record, Unreadable):
            self._told.remark("lines that are no records")
            self._told.keep("unreadable", {"text": record.text}, known=False)
            return
        self._told.at(milliseconds(record.get("timestamp")))
        kind = record.get("type")
        if kind in ("user", "assistant") and isinstance(record.get("message"), dict):
            self._message(number, record, str(kind))
        elif isinstance(kind, str) and kind in _TITLES and isinstance(record.get(_TITLES[kind]), str):
            self._told.title(record[_TITLES[kind]])
        elif kind == "summary" and isinstance(record.get("summary"), str) and self._is_ours(record):
            self._told.title(record["summary"])
        else:
            self._aside(record, kind)

    def _is_ours(self, record: Record) -> bool:
        """Tell whether a summary is of this session: a file may begin with those of others."""
        return record.get("leafUuid") in self._path.names or self._path.records == 1

    def _aside(self, record: Record, kind: object) -> None:
        if record.get("subtype") == "compact_boundary":
            self._boundary = record
        known = isinstance(kind, str) and kind in _KNOWN
        self._told.keep(kind if isinstance(kind, str) and kind else "record", record, known=known)

    def _message(self, number: int, record: Record, kind: str) -> None:
        if number not in self._path.numbers:
            side = record.get("isSidechain") is True and not self._path.is_agent
            self._told.keep("sidechain" if side else "left-branch", lightened(self._told, record))
        elif kind == "assistant":
            self._answer(record)
        else:
            self._user(record)

    def _answer(self, record: Record) -> None:
        message = record["message"]
        beside = _beside(record, message)
        if record.get("isApiErrorMessage") is True:
            self._told.failed(texts_of(blocks_of(self._told, message.get("content"))), beside)
            return
        key = message.get("id") or record.get("uuid")
        model = message.get("model")
        content = blocks_of(self._told, message.get("content"))
        self._told.answer(key, content, model if isinstance(model, str) else "unknown", _usage(message), beside)

    def _user(self, record: Record) -> None:
        message = record["message"]
        content = message.get("content")
        beside = _beside(record, message)
        answered = [block for block in content if is_result(block)] if isinstance(content, list) else []
        meta = record.pop("toolUseResult", None) if answered else None
        beside.pop("toolUseResult", None)
        for block in answered:
            self._result(block, meta if len(answered) == 1 else None, beside)
        rest = blocks_of(self._told, content)
        if record.get("isCompactSummary") is True:
            self._compacted(rest, beside)
        elif rest or not answered:
            self._told.user(rest, beside, form="meta" if record.get("isMeta") is True else None)

    def _result(self, block: dict[str, Any], meta: Any, beside: dict[str, Any]) -> None:
        content = blocks_of(self._told, block.get("content"))
        told = self._told.result(
            str(block.get("tool_use_id")),
            content,
            is_error=block.get("is_error") is True,
            meta=lightened(self._told, meta),
            beside=beside,
        )
        if not told:
            self._told.keep("lone-result", {"block": lightened(self._told, block), "record": beside})

    def _compacted(self, content: list[dict[str, Any]], beside: dict[str, Any]) -> None:
        facts, self._boundary = self._boundary.get("compactMetadata"), {}
        facts = facts if isinstance(facts, dict) else {}
        tokens = facts.get("preTokens")
        text = texts_of(content)
        trigger = str(facts.get("trigger") or "unknown")
        self._told.compacted(content, text, trigger, tokens if isinstance(tokens, int) and tokens > 0 else 0, beside)


def _beside(record: Record, message: dict[str, Any]) -> dict[str, Any]:
    """Give what a record says besides the content of its message."""
    rest = {key: value for key, value in message.items() if key not in ("content", "role", "usage")}
    return {**record, "message": rest}


def _usage(message: dict[str, Any]) -> dict[str, int] | None:
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    names = {
        "inputTokens": "input_tokens",
        "outputTokens": "output_tokens",
        "cacheReadTokens": "cache_read_input_tokens",
        "cacheWriteTokens": "cache_creation_input_tokens",
    }
    return {ours: usage[name] for ours, name in names.items() if isinstance(usage.get(name), int)}
