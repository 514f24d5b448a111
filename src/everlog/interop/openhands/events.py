"""Events of the OpenHands SDK: each names its `kind`.

| there | here |
|---|---|
| `SystemPromptEvent` | the system prompt |
| `MessageEvent` | a message of the person or of the model |
| `ActionEvent`s of one response | one answer with their calls |
| `ObservationEvent`, `UserRejectObservation`, `AgentErrorEvent` | the result of a call |
| `Condensation` | a compaction: the events that it forgets leave the model's view |
| `ConversationStateUpdateEvent` with `stats` | the usage of the answer before: what the sums grew by |
| everything else | an event `openhands/KIND`, counted |
"""

from __future__ import annotations

from typing import Any

from everlog.interop.chronicle import Block, Chronicle, call_block, text_block
from everlog.interop.documents import Record
from everlog.interop.openhands.parts import blocks_of

_KNOWN = {
    "ConversationStateUpdateEvent", "CondensationRequest", "CondensationSummaryEvent", "PauseEvent", "TokenEvent",
    "LLMCompletionLogEvent", "ConversationErrorEvent", "HookExecutionEvent",
}  # fmt: skip
_COUNTS = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "cacheReadTokens": "cache_read_tokens",
    "cacheWriteTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}


class Events:
    """Tells a chronicle the events of one conversation."""

    def __init__(self, told: Chronicle) -> None:
        self._told = told
        self._model = "unknown"
        self._spent: dict[str, int] = {}

    def take(self, event: Record) -> None:
        """Take the next event in."""
        beside = {key: value for key, value in event.items() if key in ("id", "timestamp", "source", "kind")}
        match event.get("kind"):
            case "SystemPromptEvent":
                self._told.keep("SystemPromptEvent", event)
                self._told.system(_text_of(event.get("system_prompt")))
            case "MessageEvent" if isinstance(event.get("llm_message"), dict):
                self._message(event, beside)
            case "ActionEvent":
                self._action(event, beside)
            case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
                self._result(event, beside)
            case "Condensation":
                self._condensed(event, beside)
            case kind:
                self._aside(event, kind if isinstance(kind, str) and kind else "event")

    def _message(self, event: Record, beside: dict[str, Any]) -> None:
        message = event["llm_message"]
        content = blocks_of(self._told, message.get("content")) + blocks_of(self._told, event.get("extended_content"))
        if event.get("source") == "agent" or message.get("role") == "assistant":
            key = event.get("llm_response_id") or event.get("id")
            self._told.answer(key, _reasoning(message) + content, self._model, None, beside, tag=event.get("id"))
        else:
            form = None if event.get("source") == "user" else "environment"
            self._told.user(content, beside, form, tag=event.get("id"))

    def _action(self, event: Record, beside: dict[str, Any]) -> None:
        call = event.get("tool_call")
        call = call if isinstance(call, dict) else {}
        arguments = call.get("arguments", event.get("action") or {})
        content = _reasoning(event) + blocks_of(self._told, event.get("thought"))
        id = event.get("tool_call_id") or call.get("id")
        content.append(call_block(id, event.get("tool_name") or call.get("name"), arguments))
        rest = {key: value for key, value in event.items() if key not in ("thought", "tool_call", "reasoning_content")}
        key = event.get("llm_response_id") or event.get("id")
        self._told.answer(key, content, self._model, None, rest | beside, tag=event.get("id"))

    def _result(self, event: Record, beside: dict[str, Any]) -> None:
        content, failed, code = self._outcome(event)
        observation = event.get("observation")
        meta = {k: v for k, v in observation.items() if k != "content"} if isinstance(observation, dict) else None
        call_id, tag = str(event.get("tool_call_id")), event.get("id")
        if not self._told.result(call_id, content, is_error=failed, meta=meta, beside=beside, tag=tag, code=code):
            self._told.keep("lone-result", event)

    def _outcome(self, event: Record) -> tuple[list[Block], bool, str]:
        match event:
            case {"kind": "UserRejectObservation"}:
                reason = str(event.get("rejection_reason") or "The person refused the action.")
                return [text_block(reason)], True, "PERMISSION_DENIED"
            case {"kind": "AgentErrorEvent"}:
                return [text_block(str(event.get("error")))], True, "TOOL_FAILED"
        seen = event.get("observation")
        seen = seen if isinstance(seen, dict) else {}
        content = blocks_of(self._told, seen.get("content", seen.get("output")))
        return content, seen.get("is_error") is True or bool(seen.get("error")), "TOOL_FAILED"

    def _condensed(self, event: Record, beside: dict[str, Any]) -> None:
        self._told.flush()
        forgotten = event.get("forgotten_event_ids")
        ids = forgotten if isinstance(forgotten, list) else []
        seqs = [self._told.places[id] for id in ids if isinstance(id, str) and id in self._told.places]
        summary = event.get("summary")
        text = summary if isinstance(summary, str) else ""
        self._told.keep("Condensation", event)
        shown = text or "What stood here was forgotten."
        seq = self._told.shortened(seqs, [text_block(shown)], text, "condenser", beside=beside)
        self._told.place(event.get("id"), seq)

    def _aside(self, event: Record, kind: str) -> None:
        self._told.keep(kind, event, known=kind in _KNOWN)
        value = event.get("value")
        if kind == "ConversationStateUpdateEvent" and isinstance(value, dict):
            self._state(str(event.get("key")), value)

    def _state(self, key: str, value: dict[str, Any]) -> None:
        stats = value if key == "stats" else value.get("stats")
        metrics = stats.get("usage_to_metrics") if isinstance(stats, dict) else None
        sums = dict.fromkeys(_COUNTS, 0)
        for used in metrics.values() if isinstance(metrics, dict) else ():
            tokens = used.get("accumulated_token_usage") if isinstance(used, dict) else None
            for ours, theirs in _COUNTS.items():
                count = tokens.get(theirs) if isinstance(tokens, dict) else None
                sums[ours] += count if isinstance(count, int) else 0
            if isinstance(used, dict) and isinstance(used.get("model_name"), str):
                self._model = used["model_name"]
        sums["inputTokens"] = max(sums["inputTokens"] - sums["cacheReadTokens"], 0)
        grown = {name: max(count - self._spent.get(name, 0), 0) for name, count in sums.items()}
        if any(grown.values()):
            self._spent = sums
            if not self._told.used(grown):
                self._told.remark("counts of tokens without an answer")


def _reasoning(said: Record) -> list[Block]:
    found = said.get("reasoning_content")
    if isinstance(found, str) and found:
        return [{"type": "reasoning", "text": found}]
    thoughts = said.get("thinking_blocks")
    texts = [part.get("thinking") for part in thoughts if isinstance(part, dict)] if isinstance(thoughts, list) else []
    return [{"type": "reasoning", "text": text} for text in texts if isinstance(text, str)]


def _text_of(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""
