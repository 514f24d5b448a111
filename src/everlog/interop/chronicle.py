"""Another program's story told as our events: what was said, answered and called becomes turns and steps.

A reader of a form tells a `Chronicle` what its records say, in their order. What belongs to one answer is gathered
until something else comes: its blocks, its usage, and the results of its calls, which may stand among them. Then
the step is written in our order. Nothing is left out without a count: what has no place in a conversation is kept
as an event of the program's own, `PROGRAM/NAME`, that readers may skip.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from everlog.session.event import Event, Replace
from everlog.session.header import Header
from everlog.session.jsonvalue import encode, scrub
from everlog.session.live import Session
from everlog.session.recording import Recording

Block: TypeAlias = "dict[str, Any]"
Data: TypeAlias = "dict[str, Any]"

BESIDE = "record"
"""Under which name an event keeps what its record says besides, or a list of that for several records."""

_LOST = (
    "The log has no result of this call. Whether it took effect is not known: look before you repeat it, unless it only"
    " reads."
)
_NO_TOKENS = {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0, "reasoningTokens": 0}


class ForeignRecording(Recording):
    """A log of another program.

    Attributes:
        kept: how many records were kept as events of the program's own, by name.
        unknown: how many of those are of kinds that this build does not know, by name.
        remarks: what was found wrong, in words, and how often.
        blobs: images and files that the log held, by their content hash.
        recognised: whether any record was one of the program's, by all that this build knows of it.
    """

    def __init__(self, header: Header, events: Iterable[Event], told: Chronicle) -> None:
        super().__init__(header, events)
        self.kept = dict(told.kept)
        self.unknown = dict(told.unknown)
        self.remarks = dict(told.remarks)
        self.blobs = told.blobs
        self.recognised = told.next_seq > sum(told.unknown.values())


@dataclass
class _Answer:
    """An answer that is being gathered."""

    key: object
    time: int
    provider: str
    model: str
    blocks: list[Block] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    results: dict[str, tuple[int, Data, object]] = field(default_factory=dict)
    beside: list[Data] = field(default_factory=list)
    tags: list[object] = field(default_factory=list)

    @property
    def calls(self) -> list[Block]:
        return [block for block in self.blocks if block["type"] == "tool-call"]


class Chronicle:
    """Writes a recording of what a reader tells."""

    def __init__(self, program: str, provider: str, header: Header) -> None:
        """`program` names the events of its own, and the plugin of what it said itself; `provider` its models'."""
        self._program = program
        self._provider = provider
        self._now = header.created_at
        self._session = Session(header, clock=lambda: self._now)
        self._answer: _Answer | None = None
        self._steps = 0
        self._messages = 0
        self._route: tuple[str, str] | None = None
        self._system: tuple[str, Data] | None = None
        self.kept: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.remarks: Counter[str] = Counter()
        self.blobs: dict[str, bytes] = {}
        self.places: dict[str | int, int] = {}
        """The seq of what was told under a tag, once it is written."""

    def at(self, time: int | None) -> None:
        """Say when what comes next happened, in milliseconds since the epoch; None when that is not told."""
        self._now = self._now if time is None else time

    def place(self, tag: object, seq: int) -> None:
        """Say under which tag a node can be found; what is no name names nothing."""
        if isinstance(tag, str | int):
            self.places[tag] = seq

    def blob(self, data: bytes) -> str:
        """Keep binary content, and give its hash."""
        name = hashlib.sha256(data).hexdigest()
        self.blobs[name] = data
        return name

    # What is no part of the conversation

    def keep(self, name: str, record: object, *, known: bool = True) -> Event:
        """Keep a record as an event of the program's own, and count it."""
        self.kept[name] += 1
        if not known:
            self.unknown[name] += 1
        return self._session.append_json(f"{self._program}/{name}", record, ignorable=True)

    def remark(self, what: str) -> None:
        """Count something that is wrong with the log."""
        self.remarks[what] += 1

    def title(self, title: str) -> None:
        """Say what the session is called."""
        self._session.append_json("session/title", {"title": scrub(title), "source": {"kind": self._program}})

    # What is

    def user(
        self, content: Sequence[Block], beside: Data | None = None, form: str | None = None, tag: object = None
    ) -> int:
        """Say what a person said, or the program in their place (`form` says as what). Give the seq."""
        self.flush()
        if self._session.ledger.turns.is_open and self._steps:
            self.end_turn()
        self._ensure_turn()
        seq = self._session.append_json("user/message", self._message(content, beside, form), "append").seq
        self.place(tag, seq)
        return seq

    def system(self, text: str, beside: Data | None = None) -> None:
        """Say what the system prompt was, from the next answer on."""
        self._system = (scrub(text), beside or {})

    def answer(
        self,
        key: object,
        content: Sequence[Block],
        model: str,
        usage: dict[str, int] | None = None,
        beside: Data | None = None,
        tag: object = None,
        provider: str | None = None,
    ) -> None:
        """Say what a model said. Parts with the same key are one answer; the last usage of a key counts."""
        answer = self._answer
        if answer is None or answer.key != key:
            self.flush()
            answer = self._answer = _Answer(key, self._now, provider or self._provider, model)
        answer.blocks += content
        answer.usage = usage or answer.usage
        answer.beside += [beside] if beside else []
        answer.tags.append(tag)

    def used(self, usage: dict[str, int]) -> bool:
        """Say what the answer that is being gathered used; False when there is none."""
        if self._answer is None:
            return False
        self._answer.usage = usage
        return True

    def result(
        self,
        call_id: str,
        content: Sequence[Block],
        *,
        is_error: bool,
        meta: object = None,
        beside: Data | None = None,
        tag: object = None,
        code: str = "TOOL_FAILED",
    ) -> bool:
        """Say what a call gave; False when no call of the answer before has that id, or it was answered already."""
        answer = self._answer
        wanted = answer is not None and any(call["id"] == call_id for call in answer.calls)
        if answer is None or not wanted or call_id in answer.results:
            self.remark("results of calls that are not in the log")
            return False
        block = {"type": "tool-result", "toolCallId": call_id, "content": list(content), "isError": is_error}
        data: Data = {"message": self._made("user", [block], {"kind": "tool", "callId": call_id})}
        data |= {} if meta is None else {"meta": meta}
        data |= {"error": {"name": "ToolError", "code": code}} if is_error else {}
        answer.results[call_id] = (self._now, data | ({BESIDE: beside} if beside else {}), tag)
        return True

    def failed(self, message: str, beside: Data) -> None:
        """Say that a request got no answer."""
        self.flush()
        self._ensure_turn()
        place = self._begin_step()
        failure = {"message": scrub(message), "code": "UNKNOWN"}
        self._session.append_json("assistant/attempt", {**place, "attempt": 1, "failure": failure, BESIDE: beside})
        self._session.append_json("step/end", place)

    def compacted(
        self, content: Sequence[Block], text: str, trigger: str, tokens: int = 0, beside: Data | None = None
    ) -> int:
        """Say that all that the model saw was replaced by this. Give the seq of what it sees since."""
        nodes = self._visible()
        return self.shortened(nodes, content, text, trigger, tokens, beside)

    def _visible(self) -> tuple[int, ...]:
        self.flush()
        surface = self._session.surface
        return tuple(seq for seq in surface.nodes if seq != surface.system)

    def shortened(
        self,
        seqs: Iterable[int],
        content: Sequence[Block],
        text: str,
        trigger: str,
        tokens: int = 0,
        beside: Data | None = None,
    ) -> int:
        """Say that these nodes, and what stands between them, were replaced in the model's view."""
        self.flush()
        nodes = self._run_of(seqs)
        if not nodes:
            return self.user(content, beside, form="summary")
        session, turn = self._session, self._session.ledger.turns.open_turn
        id = f"compaction-{session.next_seq}"
        start = session.append_json("compaction/start", {"compactionId": id, "turn": turn, "trigger": trigger})
        ends = {"startSeq": nodes[0], "endSeq": nodes[-1]}
        shadow = {"shadowedRange": ends, "shadowedSeqs": list(nodes), "shadowedTokens": tokens}
        said = [{"type": "text", "text": scrub(text)}]
        told = session.append_json("compaction/summary", {"compactionId": id, "summary": said, **shadow})
        source = {"kind": "plugin", "plugin": self._program, "form": "summary", "compactionId": id}
        message = self._made("user", content, source) | ({BESIDE: beside} if beside else {})
        seq = session.append_json("user/message", message, Replace(nodes[0], nodes[-1]), [start.seq, told.seq, *nodes])
        session.append_json("compaction/end", {"compactionId": id, "turn": turn})
        return seq.seq

    def rolled_back(self, start: int, content: Sequence[Block]) -> None:
        """Say that everything from this node on left the model's view, and this stands in its place."""
        self.flush()
        nodes = self._session.surface.nodes
        if start in nodes:
            gone = nodes[nodes.index(start) :]
            message = self._message(content, None, "rolled-back")
            self._session.append_json("user/message", message, Replace(gone[0], gone[-1]), list(gone))

    def _run_of(self, seqs: Iterable[int]) -> tuple[int, ...]:
        """Give the nodes from the first to the last of these, widened so that no call is parted from its result."""
        nodes = self._session.surface.nodes
        places = sorted(nodes.index(seq) for seq in set(seqs) if seq in nodes)
        if not places:
            return ()
        first, last = places[0], places[-1]
        kinds = [self._session.events[seq].type for seq in nodes]
        while kinds[first] == "tool/result" and first:
            first -= 1
        while last + 1 < len(nodes) and kinds[last + 1] == "tool/result":
            last += 1
        return nodes[first : last + 1]

    def end_turn(self, reason: Data | None = None) -> None:
        """Say that the turn ended; None says that it came to its end."""
        self.flush()
        turns = self._session.ledger.turns
        if turns.is_open:
            self._session.append_json("turn/end", {"turn": turns.last, "reason": reason or {"kind": "completed"}})

    def recording(self) -> ForeignRecording:
        """Give the whole story."""
        self.end_turn()
        return ForeignRecording(self._session.header, self._session.events, self)

    @property
    def next_seq(self) -> int:
        """Give the seq of the next event."""
        return self._session.next_seq

    # Writing

    def flush(self) -> None:
        """Write the answer that was gathered, with a result for each of its calls."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        later, self._now = self._now, answer.time
        self._ensure_turn()
        place = self._begin_step()
        self._route_to(answer.provider, answer.model)
        self._say(place, answer)
        for call in answer.calls:
            called = {**place, "callId": call["id"], "name": call["name"], "arguments": call["arguments"]}
            taken = self._session.append_json("tool/call", called)
            self._now, data, tag = answer.results.get(call["id"]) or (self._now, self._lost(call["id"]), None)
            self.place(tag, self._session.append_json("tool/result", {**place, **data}, "append", [taken.seq]).seq)
        self._session.append_json("step/end", place)
        self._now = later

    def _say(self, place: Data, answer: _Answer) -> None:
        source = {"kind": "model", "provider": answer.provider, "model": answer.model}
        self._name_apart(answer)
        data: Data = {**place, "message": self._made("assistant", answer.blocks, source)}
        used = {name: count for name, count in answer.usage.items() if type(count) is int and count >= 0}
        data |= {"usage": _NO_TOKENS | used} if used else {}
        data |= {BESIDE: answer.beside} if answer.beside else {}
        seq = self._session.append_json("assistant/message", data, "append").seq
        for tag in answer.tags:
            self.place(tag, seq)

    def _name_apart(self, answer: _Answer) -> None:
        """Give calls of one id names of their own; the first keeps it, and with it the result."""
        seen: set[str] = set()
        for number, call in enumerate(answer.calls):
            if not call["id"] or call["id"] in seen:
                call["id"] = f"{call['id'] or 'call'}-{number}"
                self.remark("calls without an id of their own")
            seen.add(call["id"])

    def _lost(self, call_id: str) -> Data:
        self.remark("calls without a result")
        said = {"type": "text", "text": _LOST}
        block = {"type": "tool-result", "toolCallId": call_id, "content": [said], "isError": True}
        error = {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
        return {"message": self._made("user", [block], {"kind": "tool", "callId": call_id}), "error": error}

    def _ensure_turn(self) -> None:
        turns = self._session.ledger.turns
        if not turns.is_open:
            self._session.append_json("turn/start", {"turn": turns.last + 1})
            self._steps = 0

    def _begin_step(self) -> Data:
        self._steps += 1
        place = {"turn": self._session.ledger.turns.last, "step": self._steps}
        self._session.append_json("step/start", place)
        if self._system is not None:
            text, beside = self._system
            message = self._made("system", [{"type": "text", "text": text}], {"kind": "system-prompt"})
            self._put_system({**place, "message": message} | ({BESIDE: beside} if beside else {}))
            self._system = None
        return place

    def _put_system(self, data: Data) -> None:
        present = self._session.surface.system
        if present is None:
            self._session.append_json("system/message", data, "append")
            return
        held = self._session.message(present)
        if held is None or held.text != data["message"]["content"][0]["text"]:
            before = self._session.events[present].data
            place = {"turn": before["turn"], "step": before["step"]}  # type: ignore[index,call-overload]
            self._session.append_json("system/message", data | place, Replace(present, present), [present])

    def _route_to(self, provider: str, model: str) -> None:
        route = (provider, model)
        if route != self._route:
            reason = "initial" if self._route is None else "change"
            header = {"config": {"provider": provider, "model": model}}
            self._session.append_json("request/header", {"header": header, "reason": reason})
            self._route = route

    def _message(self, content: Sequence[Block], beside: Data | None, form: str | None) -> Data:
        kind = {"kind": "user"} if form is None else {"kind": "plugin", "plugin": self._program, "form": form}
        return self._made("user", content, kind) | ({BESIDE: beside} if beside else {})

    def _made(self, role: str, content: Sequence[Block], source: Data) -> Data:
        self._messages += 1
        id = f"{self._session.id}-{self._messages}"
        return {"id": id, "role": role, "content": list(content), "source": source}


def text_block(text: str) -> Block:
    """Give a block of text."""
    return {"type": "text", "text": scrub(text)}


def texts_of(content: Sequence[Block]) -> str:
    """Give the texts of blocks, joined."""
    return "".join(block["text"] for block in content if isinstance(block.get("text"), str))


def foreign_block(program: str, block: object) -> Block:
    """Give a block of a kind that we have no name for, under a name of the program's own."""
    value = block if isinstance(block, dict) else {"value": block}
    return {**value, "type": f"{program}/{value.get('type') or 'block'}"}


def call_block(id: object, name: object, arguments: object) -> Block:
    """Give a call; arguments that are not text are written as JSON."""
    written = arguments if isinstance(arguments, str) else encode(arguments).decode()
    return {"type": "tool-call", "id": str(id or ""), "name": str(name or ""), "arguments": written}


__all__ = [
    "Block",
    "Chronicle",
    "ForeignRecording",
    "call_block",
    "foreign_block",
    "text_block",
    "texts_of",
]
