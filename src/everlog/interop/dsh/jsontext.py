"""One JSON text, read as a JavaScript program reads it, and made safe for our log.

That program decodes its files with replacement characters, knows one kind of number, and takes lone
surrogates. Here undecodable bytes and lone surrogates become U+FFFD, and `1.0` is the integer 1. What `parse`
gives can be encoded again without a check, but for numbers out of range and too deep nesting.
"""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn, cast

import msgspec

from everlog.session.jsonvalue import JSON, MAX_DEPTH, decode, encode, scrub_json

SAFE_INTEGER = 2**53 - 1
_encode = msgspec.json.Encoder().encode
_FLOAT_LIKE = re.compile(rb"\d\.0|\d[eE]")


def parse(text: bytes) -> JSON:
    """Give the value of one JSON text.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        value = decode(text)
    except ValueError:
        value = _parse_loosely(text)
    return _integers(value) if _FLOAT_LIKE.search(text) else value


class OutOfRange:
    """Stands for a number that no value can hold, like `1e400`; it cannot be encoded again."""


def _parse_loosely(text: bytes) -> JSON:
    """Read what a strict decoder refuses: broken UTF-8, lone surrogates, numbers out of range."""
    try:
        value = json.loads(text.decode("utf-8", "replace"), parse_float=_float, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return cast("JSON", scrub_json(value))


def _float(text: str) -> float | OutOfRange:
    value = float(text)
    return value if math.isfinite(value) else OutOfRange()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integers(value: JSON) -> JSON:
    """Give the value with whole numbers as integers, however they are written."""
    match value:
        case float() if value.is_integer() and abs(value) <= SAFE_INTEGER:
            return int(value)
        case list():
            return [_integers(item) for item in value]
        case dict():
            return {key: _integers(item) for key, item in value.items()}
        case _:
            return value


def encode_parsed(value: object) -> bytes:
    """Give the JSON bytes of a value that `parse` gave, or that was put together from parts of one.

    Raises:
        ValueError: it holds a number out of range, or is nested too deep.
    """
    try:
        data = _encode(value)
    except TypeError:
        raise ValueError("it holds a number that no value can hold") from None
    return data if data.count(b"[") + data.count(b"{") <= MAX_DEPTH else encode(value)


def is_integer(value: object) -> bool:
    """Tell whether a value is a whole number that JavaScript holds exactly."""
    return type(value) is int and abs(value) <= SAFE_INTEGER


def is_count(value: object) -> bool:
    """Tell whether a value is such a number and not negative."""
    return is_integer(value) and cast(int, value) >= 0
