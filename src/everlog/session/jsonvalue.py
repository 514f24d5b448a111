"""JSON values: the one place that decides what is kept, and how bytes become values and back.

Everything that enters a log passes `encode`, which either gives bytes that decode to an equal value or
refuses with the path of the value that JSON would have changed. The policy, in full:

- Texts and numbers of a class of their own are kept as what they hold.
- Objects have string keys; arrays come from lists or tuples; nothing else is a container.
- Integers of up to 4,300 digits are kept exactly, also beyond 2**53. Floats must be finite.
- Bytes, sets, dates, enums with values of another kind, NaN and infinities are refused, never converted.
- Containers nest at most `MAX_DEPTH` deep.
- Text is Unicode without lone surrogates; `scrub` makes outside text so. NUL is legal.
- Of duplicate keys in outside JSON text the last one counts when it is decoded; the bytes keep both.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

T = TypeVar("T", bool, int, float, str)

MAX_DEPTH = 500

_encoder = msgspec.json.Encoder()
_encode = _encoder.encode
_decoder = msgspec.json.Decoder()
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotJSON(ValueError):
    """A value that JSON cannot give back equal.

    Attributes:
        path: where the value stands, like `$.message.content[0].text`.
        reason: what is wrong with it, in words.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path if len(path) < 100 else path[:60] + '…' + path[-30:]}: {reason}")
        self.path = path
        self.reason = reason


def decode(data: bytes | bytearray | memoryview | str) -> JSON:
    """Give the value of one JSON text; a fresh one at every call.

    Raises:
        ValueError: the text is not JSON, or holds a number that no Python value can hold.
    """
    try:
        return cast("JSON", _decoder.decode(data))
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None


def decode_or_text(data: bytes | memoryview) -> JSON:
    """Give the value of stored JSON; the text itself when no value can hold it, as `1e400` in a foreign log."""
    try:
        return decode(data)
    except ValueError:
        return str(data, "utf-8", "replace")


def encode(value: object) -> bytes:
    """Give the JSON bytes of a value, compact, keys in their own order.

    Raises:
        NotJSON: decoding the bytes would not give an equal value.
    """
    encoded = encode_plain(value)
    if encoded is not None:
        return encoded
    plain = _plain(value, "$", 0)
    try:
        return _encoder.encode(plain)
    except (ValueError, RecursionError) as error:
        raise NotJSON("$", str(error)) from None


def encode_plain(value: object) -> bytes | None:
    """Give the bytes of a value that is made of nothing but JSON's own types; None for one that `encode` must judge."""
    try:
        # The encoder turns some values silently into others, so what it is given is looked at first.
        if _is_plain(value, MAX_DEPTH):
            return _encode(value)
    except (ValueError, RecursionError):
        pass
    return None


def _is_plain(value: Any, depth: int, str: type = str, int: type = int, list: type = list) -> bool:
    """Tell whether a value is made of nothing but JSON's own types, at most `depth` containers deep.

    Every append waits for it. Texts and whole numbers, which most parts are, cost no call and no look into a set, a
    list in an object costs no call, and the types are arguments because a local name costs less than a built-in one.
    """
    kind = type(value)
    if kind is dict:
        if depth == 0:
            return False
        for key, item in value.items():
            if type(key) is not str:
                return False
            kind = type(item)
            if kind is str or kind is int:
                continue
            if kind is list:
                if depth == 1:
                    return False
                for part in item:
                    kind = type(part)
                    if kind is not str and kind is not int and not _is_plain(part, depth - 2):
                        return False
            elif not _is_plain(item, depth - 1):
                return False
        return True
    if kind is list:
        return _is_plain({"": value}, depth + 1)  # as one in an object is, so that its parts are looked at in one place
    if kind is float:
        return math.isfinite(value)
    return value is None or kind is bool or kind is str or kind is int


def _plain(value: object, path: str, depth: int) -> JSON:
    """Give the value with tuples as lists, or raise `NotJSON` naming the first part that JSON would change."""
    if isinstance(value, str):
        return _plain_text(value, path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _plain_integer(value, path)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJSON(path, f"{value} is not a JSON number")
        return _own(float.__float__(value), value, path)
    if isinstance(value, list | tuple | dict) and depth >= MAX_DEPTH:
        raise NotJSON(path, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list | tuple):
        items: list[JSON] = []
        for i, item in enumerate(value):  # a comprehension would take a second frame per level
            items.append(_plain(item, f"{path}[{i}]", depth + 1))
        return items
    if isinstance(value, dict):
        members: dict[str, JSON] = {}
        for key, item in value.items():
            members[_plain_key(key, path)] = _plain(item, f"{path}.{key}", depth + 1)
        return members
    raise NotJSON(path, f"a value of type {type(value).__name__} is not JSON; convert it first")


def _plain_text(value: str, path: str) -> str:
    if _SURROGATE.search(value):
        raise NotJSON(path, "the text holds a lone surrogate; pass outside text through scrub() first")
    return value if type(value) is str else _own(str.__str__(value), value, path)


def _plain_integer(value: int, path: str) -> int:
    plain = int.__int__(value)
    try:
        str(plain)
    except ValueError:
        raise NotJSON(path, "the integer has more than 4,300 digits") from None
    return _own(plain, value, path)


def _own(plain: T, value: object, path: str) -> T:
    """Give what a text or a number of a class of its own holds, whatever its class shows of it."""
    if isinstance(value, Enum) and value.value != plain:
        raise NotJSON(path, f"the value of an enum that is not what its member {type(value).__name__} holds")
    return plain


def _plain_key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise NotJSON(path, f"the key {key!r} is not a string")
    return _plain_text(key, path)


def one_line(data: bytes) -> bytes:
    """Give the bytes of a JSON text without the line breaks between its parts; strings hold none, but escaped."""
    if b"\n" in data or b"\r" in data:
        return data.replace(b"\n", b" ").replace(b"\r", b" ")
    return data


@runtime_checkable
class HasJSON(Protocol):
    """Something that has its own bytes: an event, a message, a header, a payload, a request."""

    def to_json(self) -> bytes:
        """Give the bytes."""
        ...


def to_json(value: object) -> bytes:
    """Give the JSON bytes of a value: its own where it has them, else those that `encode` makes.

    Raises:
        NotJSON: the value has no bytes of its own and is not JSON.
    """
    return value.to_json() if isinstance(value, HasJSON) else encode(value)


def scrub(text: str) -> str:
    """Make outside text safe to log: each surrogate code point that stands alone becomes U+FFFD.

    Halves that stand together are joined. Text that truncation cut inside a pair is mended the same way.
    """
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def scrub_json(value: object) -> object:
    """Give a JSON value with every text in it, keys too, made safe by `scrub`."""
    match value:
        case str():
            return scrub(value)
        case list() | tuple():
            return [scrub_json(item) for item in value]
        case dict():
            return {scrub(k) if isinstance(k, str) else k: scrub_json(v) for k, v in value.items()}
        case _:
            return value


def equal(a: JSON, b: JSON) -> bool:
    """Tell whether two values are the same JSON: `1` and `1.0` are, `1` and `true` are not; key order is free."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(v, b[k]) for k, v in a.items())
    return a == b
