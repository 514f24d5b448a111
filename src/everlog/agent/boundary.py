"""The innermost check before a provider: a request is what the log says it is, or it is stopped.

It stands inside all hooks. Two things are compared. What a hook handed on is compared with what the log
derives: by identity when nothing was touched, which costs the same however long the session is. And what the
log derives is compared with the events' own bytes: each message once, when it is new.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import cast

import msgspec

from everlog.errors import EverlogError
from everlog.session.jsonvalue import JSON, equal
from everlog.session.log import Log
from everlog.session.messagelist import Messages, message_of
from everlog.session.messages import Message
from everlog.session.payloads import RequestHeader, RequestSide
from everlog.session.projections.request import own_messages
from everlog.session.request import Request
from everlog.session.views import View


class RequestDiffers(EverlogError):
    """A request that is not what the log says; it was not sent.

    Attributes:
        part: the first part that differs, like `messages[3].content[0].text` or `config.temperature`.
    """

    def __init__(self, session: str, part: str) -> None:
        super().__init__(
            f"session {session}: the request was stopped, because its {part} is not what the log says;"
            " a hook changed it after it was logged"
        )
        self.part = part


class Boundary:
    """Checks the requests of one session, and remembers what it has checked."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._checked: Messages | None = None
        self._nodes = 0
        self._known: dict[int, Message] = {}
        self._header: tuple[int | None, RequestHeader | None] = (None, None)

    def derive(self) -> Request:
        """Give the request that the log describes now: the surface under the header in force."""
        return Request(self._logged_header(), self._log.messages())

    def check(self, request: Request) -> None:
        """Return when a request is what the log describes now.

        Raises:
            RequestDiffers: it is not; the error names the first part that differs.
        """
        mine = self._log.messages()
        self._verify(mine)
        if not _is(request.messages, mine):
            self._refuse("messages", _difference_of_messages(mine, request.messages))
        self._check_header(request.header, self._logged_header())

    def check_side(self, request: Request, seq: int) -> None:
        """Return when a request is what the `request/side` event at `seq` describes, over the surface as it is now.

        Raises:
            RequestDiffers: as `check`.
        """
        logged = self._log.events[seq].data
        if not isinstance(logged, RequestSide):
            raise RuntimeError(f"event {seq} describes no side request")
        mine: Sequence[Message] = ()
        if logged.prefix == "surface":
            self._verify(self._log.messages())
            mine = self._log.messages()
        own = own_messages(logged)
        self._refuse("messages", _difference_of_messages([*mine, *own], request.messages))
        self._check_header(request.header, logged.header)

    def _logged_header(self) -> RequestHeader:
        seq = self._log.ledger.headers.header
        if self._header[0] != seq or self._header[1] is None:
            self._header = (seq, self._log.request_header())
        if self._header[1] is None:
            raise RuntimeError("a request needs a request/header in the log")
        return self._header[1]

    def _check_header(self, header: RequestHeader, logged: RequestHeader) -> None:
        if header is logged:
            return
        self._refuse("config", difference(logged.config, header.config))
        self._refuse("adapterDefaults", difference(logged.adapter_defaults, header.adapter_defaults))
        self._refuse("tools", difference(logged.tools, header.tools))
        self._refuse("header", difference(logged.value(), header.value()))

    def _verify(self, mine: Messages) -> None:
        """Compare the messages that are new since the last check with their events' bytes."""
        surface = self._log.surface
        grown = self._checked is not None and mine.grows_from(self._checked)
        start, at = (self._nodes, len(cast("Messages", self._checked))) if grown else (0, 0)
        known: dict[int, Message] = self._known if grown else {}
        for seq in surface.slice(start, len(surface)):
            message = mine[at] if at < len(mine) else None
            if message is not None and self._known.get(seq) is message:
                known[seq] = message
                at += 1
                continue
            logged = message_of(self._log.events[seq])
            if logged is None:
                continue
            self._compare(at, logged, message)
            known[seq] = cast("Message", message)
            at += 1
        if at != len(mine):
            raise RequestDiffers(self._log.id, f"messages[{at}]")
        self._checked, self._nodes, self._known = mine, len(surface), known

    def _compare(self, at: int, logged: Message, message: Message | None) -> None:
        if message is None:
            raise RequestDiffers(self._log.id, f"messages[{at}]")
        self._refuse(f"messages[{at}]", _difference_of_message(logged, message))

    def _refuse(self, part: str, where: str | None) -> None:
        if where is not None:
            raise RequestDiffers(self._log.id, part + where)


def _is(theirs: Sequence[Message], mine: Messages) -> bool:
    """Tell whether these are the very messages, in the same list or in a copy of it; messages are immutable."""
    if len(theirs) != len(mine):
        return False
    same_list = isinstance(theirs, Messages) and theirs.grows_from(mine)
    return same_list or all(map(operator.is_, theirs, mine))


def _difference_of_messages(mine: Sequence[Message], theirs: Sequence[Message]) -> str | None:
    for at, (logged, given) in enumerate(zip(mine, theirs, strict=False)):
        where = None if logged is given else _difference_of_message(logged, given)
        if where is not None:
            return f"[{at}]{where}"
    return None if len(mine) == len(theirs) else f"[{min(len(mine), len(theirs))}]"


def _difference_of_message(logged: Message, given: object) -> str | None:
    """Say where two messages differ: in their JSON, or in the attributes that an adapter reads."""
    if not isinstance(given, Message):
        return ""
    return difference(logged.value(), given.value()) or difference(_typed(logged), _typed(given))


def _typed(value: object) -> JSON:
    """Give a view as its attributes have it, whatever its bytes say."""
    if isinstance(value, View):
        return {field: _typed(getattr(value, field)) for field in value.__struct_fields__}
    if isinstance(value, tuple):
        return [_typed(item) for item in value]
    return bytes(value).decode() if isinstance(value, msgspec.Raw) else cast("JSON", value)


def difference(ours: JSON, theirs: JSON) -> str | None:
    """Give the path of the first part in which two JSON values differ, like `.a[0]`; None when they are equal."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [*ours, *(key for key in theirs if key not in ours)]
        pairs = ((f".{key}", ours.get(key, _MISSING), theirs.get(key, _MISSING)) for key in keys)
    elif isinstance(ours, list) and isinstance(theirs, list):
        longest = range(max(len(ours), len(theirs)))
        pairs = ((f"[{i}]", _item(ours, i), _item(theirs, i)) for i in longest)
    else:
        return None if _same(ours, theirs) else ""
    found = ((step, difference(mine, other)) for step, mine, other in pairs)
    return next((step + rest for step, rest in found if rest is not None), None)


_MISSING: JSON = cast("JSON", object())


def _item(values: list[JSON], at: int) -> JSON:
    return values[at] if at < len(values) else _MISSING


def _same(ours: JSON, theirs: JSON) -> bool:
    return ours is theirs if _MISSING in (ours, theirs) else equal(ours, theirs)
