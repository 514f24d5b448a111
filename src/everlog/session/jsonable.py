"""Anything that reading a log gives, as JSON for other programs, under storage names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass

import msgspec


def jsonable(value: object) -> object:
    """Give a view, an event, or anything made of them as JSON: by its own stored bytes where it has them.

    Attributes of other structs and data classes become storage names. msgspec encodes what this gives.
    """
    own = getattr(value, "to_json", None)
    if own is not None:
        return msgspec.Raw(own())
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, msgspec.Struct):
        return {_camel(field.name): jsonable(getattr(value, field.name)) for field in msgspec.structs.fields(value)}
    if is_dataclass(value):
        return {_camel(field.name): jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Iterable):
        return [jsonable(item) for item in value]
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
