"""Reading views from bytes so that every nested view keeps the bytes it was read from.

msgspec decodes a struct in one pass, but what it decodes no longer knows its bytes. A `Reader` therefore
tells each nested view where they are: in which field of which bytes. Where a nested view does not decode in that
pass, as a message with an unknown block does not, it decodes a shell of the class, in which nested views are
raw slices, and reads each slice by its own reader.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import UnionType
from typing import Any, Generic, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Raw, convert
from msgspec.structs import force_setattr

from everlog.session.messages import Message, read_message
from everlog.session.views import Buffer, View

T = TypeVar("T", bound=View)
Taken = TypeVar("Taken", bound=View, covariant=True)
_NULL = Raw(b"null")


class Take(Protocol[Taken]):
    """Reads a view from its bytes, faster where their JSON value, of exact types, is at hand. Raises ValueError."""

    def __call__(self, data: Buffer, value: object = None) -> Taken:
        """Give the view."""
        ...


class Reader(Generic[T]):
    """Reads views of one class from bytes.

    `read` raises ValueError, with the path of the first field that does not fit. So does
    `take`, which may be given the JSON value of the bytes as well.
    """

    def __init__(self, cls: type[T]) -> None:
        self._one: list[tuple[str, str, Reader[Any]]] = []
        self._many: list[tuple[str, Reader[Any]]] = []
        self._optional: set[str] = set()
        hints = get_type_hints(cls)
        shell = [found for f in msgspec.structs.fields(cls) if (found := self._raw_field(f, hints[f.name])) is not None]
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(cls)
        self._shell: msgspec.json.Decoder[T] = msgspec.json.Decoder(_shell_of(cls, shell) if shell else cls)
        self.read: Callable[[Buffer], T] = self._read_slices if self._many else self._read_once
        if not shell:
            self.read = self._read_flat
        self.take: Take[T] = self._taking(cls)

    def _raw_field(self, field: msgspec.structs.FieldInfo, hint: Any) -> tuple[str, Any, Any] | None:
        """Give the field of the shell that stands for one of nested views, and remember how to read it."""
        view, many = _nested_view(hint)
        if view is None:
            return None
        if many:
            self._many.append((field.name, reader(view)))
            return field.name, list[Raw], msgspec.field(default_factory=list, name=field.encode_name)
        self._one.append((field.name, field.encode_name, reader(view)))
        if not field.required:
            self._optional.add(field.name)
        default = NODEFAULT if field.required else _NULL
        return field.name, Raw, msgspec.field(default=default, name=field.encode_name)

    def _read_flat(self, data: Buffer) -> T:
        try:
            view = self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(str(error)) from None
        force_setattr(view, "_json", data)
        return view

    def _owner(self) -> Callable[[T, object], None]:
        """Give `owns`, as a function that does no more than this class needs: most have one nested view, or none."""
        if not self._one:
            return _owns_itself
        (name, key, nested), *more = self._one
        if more or nested._one or name in self._optional:
            return self.owns
        get = attrgetter(name)

        def owns(view: T, data: object) -> None:
            force_setattr(view, "_json", data)
            force_setattr(get(view), "_json", (data, key))

        return owns

    def _taking(self, cls: type[T]) -> Take[T]:
        """Give `take`. Raw slices cannot be had from a value: a class that demands one reads the bytes."""
        read, owns = self.read, self._owner()
        if self._many or any(field.required and field.type is Raw for field in msgspec.structs.fields(cls)):

            def from_bytes(data: Buffer, value: object = None) -> T:
                return read(data)

            return from_bytes

        def take(data: Buffer, value: object = None) -> T:
            if value is None:
                return read(data)
            try:
                view = convert(value, cls)
            except (msgspec.MsgspecError, RecursionError):
                return read(data)  # which says what is wrong, or takes what only bytes can give
            owns(view, data)
            return view

        return take

    def _read_once(self, data: Buffer) -> T:
        try:
            view = self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError):
            return self._read_slices(data)
        self.owns(view, data)
        return view

    def owns(self, view: T, data: object) -> None:
        """Tell a view that was just decoded, and every view in it, where its bytes are."""
        force_setattr(view, "_json", data)
        for name, key, read in self._one:
            nested = getattr(view, name)
            if nested is None:
                continue
            if read._one:
                read.owns(nested, (data, key))
            else:
                force_setattr(nested, "_json", (data, key))

    def _read_slices(self, data: Buffer) -> T:
        try:
            view = self._shell.decode(data)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(str(error)) from None
        force_setattr(view, "_json", data)
        for name, _, read in self._one:
            raw = getattr(view, name)
            absent = name in self._optional and _is_null(raw)
            force_setattr(view, name, None if absent else _at(name, read.read, raw))
        for name, read in self._many:
            force_setattr(view, name, tuple([_at(name, read.read, raw) for raw in getattr(view, name)]))
        return view


def _owns_itself(view: View, data: object) -> None:
    force_setattr(view, "_json", data)


def _shell_of(cls: type[T], fields: list[tuple[str, Any, Any]]) -> type[T]:
    """Make the subclass whose nested views are raw slices; its instances become views once those are read."""
    shell = msgspec.defstruct(cls.__name__, fields, bases=(cls,), module=cls.__module__, frozen=True, kw_only=True)
    return cast("type[T]", shell)


def _is_null(raw: Raw) -> bool:
    return len(memoryview(raw)) == 4 and bytes(raw) == b"null"


def _at(name: str, read: Callable[[Buffer], View], raw: Buffer) -> View:
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
        self._one, self._many = [], []
        self.read = read_message
        self.take = self._taking(Message)


_readers: dict[type[View], Reader[Any]] = {Message: _MessageReader()}


def reader(cls: type[T]) -> Reader[T]:
    """Give the reader of a view class; one per class."""
    found = _readers.get(cls)
    if found is None:
        found = _readers[cls] = Reader(cls)
    return found
