"""The event: one immutable entry of the log."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from everlog.session.jsonvalue import JSON, decode_or_text
from everlog.session.views import View
from everlog.session.vocabulary import CORE, EventType, Vocabulary


class Replace(msgspec.Struct, frozen=True):
    """The surface operation that puts an event in the place of the nodes from start to end, by position."""

    start_seq: int
    end_seq: int


SurfaceOp: TypeAlias = "Literal['append'] | Replace"


class _Envelope(msgspec.Struct, rename="camel"):
    seq: int
    type: str
    time: int
    data: Raw
    surface_op: Raw = Raw(b"")
    source_event_seqs: list[int] | None = None
    ignorable: bool = False


_envelope = msgspec.json.Decoder(_Envelope)
_string = msgspec.json.Encoder().encode


class Event(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One entry of a log. Attributes are read-only; `data` is made from the stored bytes.

    Attributes:
        seq: position in the log, from 0.
        type: the name of its type.
        time: milliseconds since the epoch, as the clock of the writer had it; never compared.
        data_json: the stored bytes of the data.
        surface_op: `"append"`, a `Replace`, or None for an event off the surface.
        source_event_seqs: the seqs of the events that it cites, or None.
        ignorable: whether a reader that does not know the type may skip it.
        kind: the type that this build knows for the event, or None.
    """

    seq: int
    type: str
    time: int
    data_json: bytes
    surface_op: SurfaceOp | None = None
    source_event_seqs: tuple[int, ...] | None = None
    ignorable: bool = False
    kind: EventType | None = None
    _json: bytes | None = None
    _view: View | None = None

    @property
    def data(self) -> View | JSON:
        """Give the payload: a typed view where the type is known and the data fits it, else plain JSON.

        JSON that no value can hold, like `1e400`, is given as its text; nothing here raises.
        """
        if self._view is not None:
            return self._view
        return self.kind.view(self.data_json) if self.kind is not None else decode_or_text(self.data_json)

    def to_json(self) -> bytes:
        """Give the stored bytes of the whole event."""
        own = self._json
        if own is None:
            own = event_json(self)
            force_setattr(self, "_json", own)
        return own

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.to_json() == other.to_json()

    def __ne__(self, other: object) -> bool:  # the struct underneath would compare identities
        return not self == other

    def __hash__(self) -> int:
        return hash((self.seq, self.type, self.data_json))

    def __repr__(self) -> str:
        return f"<Event {self.seq} {self.type}>"


def read_event(data: bytes, vocabulary: Vocabulary = CORE) -> Event:
    """Read an event from its stored bytes, which stay its JSON.

    Raises:
        ValueError: the bytes are not an event's envelope.
    """
    try:
        raw = _envelope.decode(data)
        op = _read_op(bytes(raw.surface_op)) if raw.surface_op else None
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("nested deeper than an event may be") from None
    sources = None if raw.source_event_seqs is None else tuple(raw.source_event_seqs)
    return Event(
        raw.seq,
        raw.type,
        raw.time,
        bytes(raw.data),
        op,
        sources,
        raw.ignorable,
        vocabulary.get(raw.type),
        data,
    )


class _Replace(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    op: Literal["replace"]
    start_seq: int
    end_seq: int


_replace = msgspec.json.Decoder(_Replace)


def _read_op(data: bytes) -> SurfaceOp:
    if data == b'"append"':
        return "append"
    raw = _replace.decode(data)
    return Replace(raw.start_seq, raw.end_seq)


def op_json(op: SurfaceOp) -> JSON:
    """Give the JSON value of a surface operation."""
    if type(op) is Replace:
        return {"op": "replace", "startSeq": op.start_seq, "endSeq": op.end_seq}
    return "append"


def event_json(event: Event) -> bytes:
    """Give what `to_json` does, without keeping it in the event: for who needs the bytes once."""
    if event._json is not None:
        return event._json
    plain = _plain.get(event.type)
    if plain is None or event.surface_op is not None or event.source_event_seqs is not None or event.ignorable:
        return _envelope_json(event)
    return plain % (event.seq, event.time, event.data_json)


_plain = {name: b'{"seq":%%d,"type":%b,"time":%%d,"data":%%b}' % _string(name) for name in CORE}
"""The whole JSON of an event of the core's types off the surface: most events are such."""


def _envelope_json(event: Event) -> bytes:
    op, sources = event.surface_op, event.source_event_seqs
    json = b'{"seq":%d,"type":%b,"time":%d,"data":%b' % (event.seq, _string(event.type), event.time, event.data_json)
    if op is not None:
        json += b',"surfaceOp":%b' % _string(op_json(op))
    if sources is not None:
        json += b',"sourceEventSeqs":[%b]' % ",".join(map(str, sources)).encode()
    if event.ignorable:
        json += b',"ignorable":true'
    return json + b"}"
