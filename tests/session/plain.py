"""Views made comparable: everything that a person could read out of one, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from everlog.session import Event, Log
from everlog.session.projection import names
from everlog.session.projections.inbox import Inbox
from everlog.session.projections.request import AttemptRequest, Requests, SideRequest
from everlog.session.projections.stream import Stream
from everlog.session.projections.transcript import Line
from everlog.session.projections.usage import Spent
from everlog.session.request import Request
from everlog.session.rules.ledger import Ledger
from everlog.session.surface import Surface
from everlog.session.views import View


def plain(view: Any) -> Any:
    """Read a view out in full."""
    match view:
        case None | bool() | int() | float() | str() | bytes():
            return view
        case View() | Event() | Request():
            return view.to_json()
        case Surface():
            return view.nodes, view.generation, view.system
        case Requests():
            return [plain(view[key]) for key in view], [plain(side) for side in view.sides.values()]
        case AttemptRequest():
            return view.key, view.seq, view.header_seq, view.surface, plain(view.sent), plain(view.request)
        case SideRequest():
            return view.id, view.seq, plain(view.sent), plain(view.request)
        case Line():
            return view.seq, plain(view.message), plain(view.blocks), view.shadowed_by, plain(view.failure)
        case Inbox():
            return [(p.id, p.seq, p.target, p.position, p.wakes, p.message.to_json()) for p in view]
        case Spent():
            return plain(view.total), plain(view.side), plain(view.attempts), plain(view.steps)
        case Stream():
            return [tuple(moment) for moment in view]
        case msgspec.Struct():
            return {name: plain(getattr(view, name)) for name in view.__struct_fields__}
        case Mapping():
            return [(key, plain(value)) for key, value in view.items()]
        case Sequence() | set() | frozenset():
            return [plain(item) for item in view]
    raise TypeError(type(view))


def own(log: Log) -> tuple[Any, ...]:
    """All that a log holds."""
    events = [event.to_json() for event in log.events]
    return events, log.surface.nodes, log.surface.generation, Ledger.from_bytes(log.ledger.to_bytes())


def everything(log: Log) -> tuple[Any, ...]:
    """All that a log holds and all that can be read from it."""
    return own(log), {name: plain(log.project(name)) for name in names()}
