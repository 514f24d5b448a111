"""Reading views from bytes so that every nested view keeps the bytes it was read from.

msgspec decodes a struct in one pass, but what it decodes no longer knows its bytes. A `Reader` therefore
decodes a shell of the class, in which nested views are raw slices, and reads each slice by its own reader.
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Raw

from everlog.session.messages import Message, read_message
from everlog.session.views import View, with_bytes

T = TypeVar("T", bound=View)
_NULL = b"null"


class Reader(Generic[T]):
    """Reads views of one class from bytes.

    `read` raises ValueError, with the path of the first field that does not fit.
    """

    def __init__(self, cls: type[T]) -> None:
        self._cls = cls
        fields = msgspec.structs.fields(cls)
        hints = get_type_hints(cls)
        self._one: dict[str, Callable[[bytes], View]] = {}
        self._many: dict[str, Callable[[bytes], View]] = {}
        shell: list[tuple[str, Any, Any]] = []
        for field in fields:
            shell.append((field.name, *self._shell_type(field, hints[field.name])))
        self._names = [field.name for field in fields]
        names = {field.name: field.encode_name for field in fields}
        self._decoder = msgspec.json.Decoder(
            msgspec.defstruct(f"_{cls.__name__}", shell, rename=names, kw_only=True) if self._one or self._many else cls
        )
        self.read: Callable[[bytes], T] = self._read_nested if self._one or self._many else self._read_flat

    def _shell_type(self, field: msgspec.structs.FieldInfo, hint: Any) -> tuple[Any, Any]:
        default: Any = field.default if field.default_factory is NODEFAULT else field.default_factory()
        view, many = _nested_view(hint)
        if view is None:
            return hint, default
        read = reader(view).read
        if many:
            self._many[field.name] = read
            return list[Raw], msgspec.field(default_factory=list)
        self._one[field.name] = read
        return Raw, (NODEFAULT if default is NODEFAULT else Raw(_NULL))

    def _read_flat(self, data: bytes) -> T:
        try:
            return with_bytes(cast(T, self._decoder.decode(data)), data)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None

    def _read_nested(self, data: bytes) -> T:
        try:
            shell = self._decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None
        values = {name: getattr(shell, name) for name in self._names}
        for name, read in self._one.items():
            raw = bytes(values[name])
            values[name] = None if raw == _NULL else _at(name, read, raw)
        for name, read in self._many.items():
            values[name] = tuple(_at(name, read, bytes(raw)) for raw in values[name])
        return with_bytes(self._cls(**values), data)


def _at(name: str, read: Callable[[bytes], View], raw: bytes) -> View:
    """Read a nested view; its errors name the field that holds it."""
    try:
        return read(raw)
    except ValueError as error:
        raise ValueError(f"{error} - in `{name}`") from None


def _nested_view(hint: Any) -> tuple[type[View] | None, bool]:
    """Give the view class that a field holds, and whether it holds many."""
    if isinstance(hint, type) and issubclass(hint, View):
        return hint, False
    if get_origin(hint) is tuple:
        return _nested_view(get_args(hint)[0])[0], True
    if isinstance(hint, UnionType):
        found = [_nested_view(arg)[0] for arg in get_args(hint) if arg is not type(None)]
        return (found[0], False) if len(found) == 1 else (None, False)
    return None, False


class _MessageReader(Reader[Message]):
    """Messages have open unions, which msgspec has not; they read themselves."""

    def __init__(self) -> None:
        self.read = read_message


_readers: dict[type[View], Reader[Any]] = {Message: _MessageReader()}


def reader(cls: type[T]) -> Reader[T]:
    """Give the reader of a view class; one per class."""
    found = _readers.get(cls)
    if found is None:
        found = _readers[cls] = Reader(cls)
    return found
