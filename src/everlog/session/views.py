"""Typed views over stored JSON: attributes for what Everlog knows, the own bytes for everything else.

A view is a frozen msgspec struct. Its attributes are snake_case names of the stored camelCase keys. A view
that came out of a log carries the bytes it was read from: those bytes are what `to_json` gives and what
`view["storedName"]` reads, so a key that this build has no attribute for is reachable and never dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from everlog.session.jsonvalue import JSON, JSONObject, decode, decode_or_text, encode, equal

Buffer: TypeAlias = "bytes | msgspec.Raw"
"""Bytes, or a slice of others; a view read from a slice shares its memory."""

T = TypeVar("T", bound="View")


class View(msgspec.Struct, frozen=True, dict=True, rename="camel", kw_only=True, eq=False):
    """The base of every typed view. Equal to another view, or to a JSON object, of the same JSON value."""

    def to_json(self) -> bytes:
        """Give the bytes this view was read from, or those of a new one."""
        own = self.__dict__.get("_json")
        if type(own) is bytes:
            return own
        if own is None:
            own = encode(_fields(self))
        elif isinstance(own, tuple):
            own = _field_of(*own)
        else:
            own = bytes(own)
        force_setattr(self, "_json", own)
        return own

    def value(self) -> JSONObject:
        """Give the view as a JSON object with stored names, decoded afresh."""
        return cast("JSONObject", decode(self.to_json()))

    def __getitem__(self, name: str) -> JSON:
        return self.value()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.value()

    def __iter__(self) -> Iterator[str]:
        return iter(self.value())

    def keys(self) -> list[str]:
        """Give the stored names."""
        return list(self.value())

    def get(self, name: str, default: JSON = None) -> JSON:
        """Give the value under a stored name, decoded afresh, or the default."""
        return self.value().get(name, default)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, View):
            mine, theirs = self.to_json(), other.to_json()
            return mine == theirs or equal(decode_or_text(mine), decode_or_text(theirs))
        if isinstance(other, dict):
            return equal(decode_or_text(self.to_json()), other)
        return NotImplemented

    def __ne__(self, other: object) -> bool:  # the struct underneath would compare identities
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, len(self.to_json())))


class Part(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The base of what is read of a payload where its view would be more than is needed; it has no bytes."""


def with_bytes(view: T, data: Buffer) -> T:
    """Give a view the bytes it was read from, which from now on are its JSON."""
    force_setattr(view, "_json", data)
    return view


def _field_of(parent: object, key: str) -> bytes:
    """Give the bytes of one field of an object, as they stand in its own, which may themselves be a field's."""
    holder = _field_of(*parent) if isinstance(parent, tuple) else cast("Buffer", parent)
    return bytes(_slices.decode(holder)[key])


_slices = msgspec.json.Decoder(dict[str, msgspec.Raw])


def json_field(raw: msgspec.Raw) -> JSON:
    """Decode a JSON-valued field of a view afresh; an absent one is None, one that no value can hold its own text."""
    return decode_or_text(memoryview(raw)) if raw else None


def json_raw(value: object) -> msgspec.Raw:
    """Encode a value for a JSON-valued field of a view."""
    return msgspec.Raw(encode(value))


def _fields(view: msgspec.Struct) -> dict[str, object]:
    """Give a new view's JSON object: nested views by their own bytes; an optional field that is None is left out."""
    config = view.__struct_config__
    result: dict[str, object] = {}
    if config.tag is not None:
        result[cast(str, config.tag_field)] = config.tag
    for name, stored, optional in _named(type(view)):
        value = getattr(view, name)
        absent = (value is None and optional) or (isinstance(value, msgspec.Raw) and not value)
        if not absent:
            result[stored] = _plain(value)
    return result


@cache
def _named(cls: type[msgspec.Struct]) -> tuple[tuple[str, str, bool], ...]:
    """Give the fields of a class as (attribute, stored name, whether None means absent), worked out once."""
    return tuple((field.name, field.encode_name, field.default is None) for field in msgspec.structs.fields(cls))


def _plain(value: object) -> object:
    match value:
        case View():
            return decode(value.to_json())
        case msgspec.Raw():
            return decode(memoryview(value))
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
