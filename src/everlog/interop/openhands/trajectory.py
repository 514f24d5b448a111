"""Events of earlier OpenHands: each is an `action`, or the `observation` that an action caused.

| there | here |
|---|---|
| action `system` | the system prompt |
| action `message` | a message of the person or of the model |
| another action of the agent | a call; actions of one response are one answer |
| an observation with a `cause` | the result of that call |
| action `condensation` | a compaction: the events that it forgets leave the model's view |
| action `finish` | what the model said last |
| `agent_state_changed`, `recall`, actions of the person, … | an event `openhands/NAME`, counted |
"""

from __future__ import annotations

from typing import Any

from everlog.interop.chronicle import Block, Chronicle, call_block, text_block
from everlog.interop.documents import Record
from everlog.interop.openhands.parts import blocks_of, images_of, usage_of

_ASIDE = {"recall", "change_agent_state", "agent_state_changed", "null", "condensation_request", "task_tracking_state"}


class Trajectory:
    """Tells a chronicle the events of one conversation."""

    def __init__(self, told: Chronicle) -> None:
        self._told = told
        self._calls: dict[object, str] = {}
        self._model = "unknown"

    def take(self, event: Record) -> None:
        """Take the next event in."""
        rest = ("args", "content", "tool_call_metadata", "extras")
        beside = {key: value for key, value in event.items() if key not in rest}
        if isinstance(event.get("observation"), str):
            self._observation(event, beside)
            return
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        match event.get("action"):
            case "system":
                self._told.keep("system", event)
                self._told.system(str(args.get("content") or ""))
            case "message":
                self._message(event, args, beside)
            case "finish":
                self._finished(event, args, beside)
            case "condensation":
                self._condensed(event, args, beside)
            case str(name) if event.get("source") == "agent" and name not in _ASIDE:
                self._action(event, name, args, beside)
            case name:
                found = name if isinstance(name, str) and name else "event"
                self._told.keep(found, event, known=isinstance(name, str) and (name in _ASIDE or "source" in event))

    def _message(self, event: Record, args: dict[str, Any], beside: dict[str, Any]) -> None:
        content = blocks_of(self._told, args.get("content")) + images_of(self._told, args.get("image_urls"))
        tag = event.get("id")
        if event.get("source") == "user":
            self._told.user(content, beside, tag=tag)
            return
        key, model, usage = self._response(event)
        self._told.answer(key, content, model, usage, beside, tag=tag)

    def _finished(self, event: Record, args: dict[str, Any], beside: dict[str, Any]) -> None:
        text = args.get("final_thought") or args.get("thought") or event.get("message")
        key, model, usage = self._response(event)
        self._told.answer(key, blocks_of(self._told, text), model, usage, beside, tag=event.get("id"))

    def _action(self, event: Record, name: str, args: dict[str, Any], beside: dict[str, Any]) -> None:
        key, model, usage = self._response(event)
        self._calls[_name(event.get("id"))] = id = self._call_id(event)
        content = blocks_of(self._told, args.get("thought")) + self._asked(id, event, name, args)
        self._told.answer(key, content, model, usage, beside, tag=event.get("id"))

    def _asked(self, id: str, event: Record, name: str, args: dict[str, Any]) -> list[Block]:
        """Give the call of an action, with its arguments as the model wrote them where the log has them."""
        metadata = _dict(event.get("tool_call_metadata"))
        arguments: object = {key: value for key, value in args.items() if key != "thought"}
        for choice in _list(_dict(metadata.get("model_response")).get("choices")):
            for call in _list(_dict(_dict(choice).get("message")).get("tool_calls")):
                if _dict(call).get("id") == metadata.get("tool_call_id"):
                    arguments = _dict(_dict(call).get("function")).get("arguments", arguments)
        return [call_block(id, metadata.get("function_name") or name, arguments)]

    def _call_id(self, event: Record) -> str:
        return str(_dict(event.get("tool_call_metadata")).get("tool_call_id") or f"event-{event.get('id')}")

    def _response(self, event: Record) -> tuple[object, str, dict[str, int] | None]:
        """Give what names the response that an event is of, its model, and what it used."""
        response = _dict(_dict(event.get("tool_call_metadata")).get("model_response"))
        model = response.get("model")
        self._model = model if isinstance(model, str) else self._model
        return response.get("id") or f"event-{event.get('id')}", self._model, usage_of(response.get("usage"))

    def _observation(self, event: Record, beside: dict[str, Any]) -> None:
        name, cause = event["observation"], event.get("cause")
        id = self._calls.get(_name(cause)) or _dict(event.get("tool_call_metadata")).get("tool_call_id")
        if id is None or name in _ASIDE:
            self._told.keep(name or "observation", event, known=name in _ASIDE or name in ("error", "user_rejected"))
            return
        extras = _dict(event.get("extras"))
        failed = name in ("error", "user_rejected") or event.get("success") is False
        content = blocks_of(self._told, event.get("content")) + images_of(self._told, extras.get("image_urls"))
        code = "PERMISSION_DENIED" if name == "user_rejected" else "TOOL_FAILED"
        tag = event.get("id")
        if not self._told.result(id, content, is_error=failed, meta=extras or None, beside=beside, tag=tag, code=code):
            self._told.keep("lone-result", event)

    def _condensed(self, event: Record, args: dict[str, Any], beside: dict[str, Any]) -> None:
        self._told.flush()
        ids = args.get("forgotten_event_ids")
        if not isinstance(ids, list):
            start, end = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
            ids = range(start, end + 1) if isinstance(start, int) and isinstance(end, int) else ()
        places = self._told.places
        seqs = [places[id] for id in ids if isinstance(id, int | str) and id in places]
        text = str(args.get("summary") or "")
        self._told.keep("condensation", event)
        shown = text or "What stood here was forgotten."
        self._told.shortened(seqs, [text_block(shown)], text, "condenser", beside=beside)


def _name(value: object) -> str:
    """Give what an event is called by; whatever that is, it can be looked up."""
    return repr(value)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
