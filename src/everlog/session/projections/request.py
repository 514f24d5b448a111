"""The exact request of every attempt, and of every side request, from the log alone.

A request is a header and the messages of the surface, both as they were at one seq: that of its
request/sent. An imported log has none; there it is the seq just before the attempt's first sign. A foreign
log without a system prompt on its surface may hold it in its header, which then begins the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from everlog.session.event import Event, Replace
from everlog.session.jsonvalue import decode_or_text
from everlog.session.log import Log
from everlog.session.messages import Message, read_message, system_message
from everlog.session.past import Past
from everlog.session.payloads import RequestHeader, RequestSent, RequestSide
from everlog.session.request import Request
from everlog.session.signs import nothing_running, sign_of

RequestState: TypeAlias = "dict[str, Any]"
AttemptKey: TypeAlias = tuple[int, int, int]

_raw_list = msgspec.json.Decoder(list[msgspec.Raw])


class AttemptRequest:
    """What one attempt asked the model.

    Attributes:
        turn, step, attempt: whose request it is.
        seq: the seq at which surface and header count; that of request/sent where the log has it.
        sent_seq: the seq of its request/sent, or None in an imported log.
        header_seq: the seq of the header in force, or None when the log had none before it.
    """

    __slots__ = ("_past", "attempt", "header_seq", "sent_seq", "seq", "step", "turn")

    def __init__(self, past: Past, row: list[Any]) -> None:
        self._past = past
        self.turn: int = row[0]
        self.step: int = row[1]
        self.attempt: int = row[2]
        self.seq: int = row[3]
        self.header_seq: int | None = row[4]
        self.sent_seq: int | None = row[5]

    @property
    def key(self) -> AttemptKey:
        """Give `(turn, step, attempt)`."""
        return self.turn, self.step, self.attempt

    @property
    def surface(self) -> tuple[int, ...]:
        """Give the nodes that the model saw, in order."""
        return self._past.surface(self.seq).nodes

    @property
    def header(self) -> RequestHeader | None:
        """Give the header in force; None when the log had none."""
        return self._past.header(self.header_seq)

    @property
    def sent(self) -> RequestSent | None:
        """Give what the log says of the body that went out; None in an imported log."""
        return self._past.sent(self.sent_seq)

    @property
    def request(self) -> Request | None:
        """Give the neutral request; None when no header was in force, as a foreign log may have it."""
        header = self.header
        if header is None:
            return None
        messages: Sequence[Message] = self._past.messages(self.seq)
        if self._past.surface(self.seq).system is None:
            messages = _with_system_of(header, f"header:{self.header_seq}", messages)
        return Request(header, messages)

    def __repr__(self) -> str:
        return f"<AttemptRequest {self.turn}.{self.step}.{self.attempt} at {self.seq}>"


def _with_system_of(header: RequestHeader, id: str, messages: Sequence[Message]) -> Sequence[Message]:
    """Put the system prompt that a foreign header holds before the messages."""
    held = decode_or_text(header.to_json())
    system = held.get("system") if isinstance(held, dict) else None
    return [system_message(system, id), *messages] if isinstance(system, str) and system else messages


class SideRequest:
    """What a request asked that belongs to no step, like that for a summary.

    Attributes:
        seq: the seq of its request/side, at which the surface counts.
        sent: the event's payload: purpose, header, digest and length of the body.
    """

    __slots__ = ("_past", "sent", "seq")

    def __init__(self, past: Past, seq: int, sent: RequestSide) -> None:
        self._past = past
        self.seq = seq
        self.sent = sent

    @property
    def id(self) -> str:
        """Give its id."""
        return self.sent.id

    @property
    def header(self) -> RequestHeader:
        """Give the header that it was sent with."""
        return self.sent.header

    @property
    def request(self) -> Request:
        """Give the neutral request: the surface, unless it stands on nothing, and then its own messages."""
        own = own_messages(self.sent)
        if self.sent.prefix != "surface":
            return Request(self.header, own)
        return Request(self.header, [*self._past.messages(self.seq), *own])

    def __repr__(self) -> str:
        return f"<SideRequest {self.id} at {self.seq}>"


def own_messages(sent: RequestSide) -> list[Message]:
    """Give the messages that follow the prefix, with their own bytes; what is no message is left out."""
    try:
        found = _raw_list.decode(memoryview(sent.messages_json)) if sent.messages_json else []
    except (msgspec.MsgspecError, RecursionError):
        return []
    return [message for raw in found if (message := _message(bytes(raw))) is not None]


def _message(data: bytes) -> Message | None:
    try:
        return read_message(data)
    except ValueError:
        return None


class Requests(Mapping[AttemptKey, AttemptRequest]):
    """The requests of a log by `(turn, step, attempt)`, in order; it stays as it is when the log goes on.

    Where a foreign log repeats a key, the last one counts.
    """

    def __init__(self, log: Log, state: RequestState) -> None:
        self._log = log
        self._past = Past(log)
        self._rows: list[list[Any]] = state["attempts"]
        self._index: dict[str, int] = state["index"]
        self._count = len(self._rows)
        self._sides: dict[str, int] = dict(state["sides"])

    def __getitem__(self, key: AttemptKey) -> AttemptRequest:
        at = self._index.get(_name(*key), self._count)
        if at >= self._count:  # none, or one that came later: look for an earlier one of that key
            at = next((i for i in range(self._count - 1, -1, -1) if tuple(self._rows[i][:3]) == tuple(key)), -1)
        if at < 0:
            raise KeyError(key)
        return AttemptRequest(self._past, self._rows[at])

    def __iter__(self) -> Iterator[AttemptKey]:
        return iter(dict.fromkeys((row[0], row[1], row[2]) for row in self._rows[: self._count]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def last(self) -> AttemptRequest | None:
        """Give the request of the attempt that began last, or None before the first."""
        return AttemptRequest(self._past, self._rows[self._count - 1]) if self._count else None

    @property
    def sides(self) -> Mapping[str, SideRequest]:
        """Give the side requests by id, in order."""
        found = {}
        for event in self._log.events.pick(self._sides.values()):
            if isinstance(event.data, RequestSide):
                found[event.data.id] = SideRequest(self._past, event.seq, event.data)
        return found

    def __repr__(self) -> str:
        return f"<Requests: {self._count} of steps, {len(self._sides)} aside>"


class RequestProjection:
    """Where each request stands. A row is `[turn, step, attempt, seq, header seq, seq of request/sent]`."""

    name = "request"
    version = 1

    def init(self) -> RequestState:
        """Give the state without requests."""
        return {"running": nothing_running(), "header": None, "attempts": [], "index": {}, "sides": {}}

    def apply(self, state: RequestState, event: Event) -> None:
        """Remember a header, a side request, or the first sign of an attempt."""
        if event.type == "request/header" and type(event.surface_op) is not Replace:
            state["header"] = event.seq
        elif event.type == "request/side":
            if isinstance(event.data, RequestSide):
                state["sides"][event.data.id] = event.seq
        else:
            sign = sign_of(state["running"], event)
            if sign is not None and sign.first:
                sent = event.seq if isinstance(sign.data, RequestSent) else None
                seq = event.seq - 1 if sent is None else sent
                state["index"][_name(*sign[:3])] = len(state["attempts"])
                state["attempts"].append([*sign[:3], seq, state["header"], sent])

    def view(self, state: RequestState, log: Log) -> Requests:
        """Give the requests; nothing is read before one is asked for."""
        return Requests(log, state)


def _name(turn: int, step: int, attempt: int) -> str:
    return f"{turn}.{step}.{attempt}"


PROJECTION = RequestProjection()
