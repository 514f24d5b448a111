"""Files on disk: opened so that nothing hangs, replaced so that nobody sees half of one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

from everlog.tools.seam import ToolContext, ToolFailure

MAX_WHOLE_BYTES = 16_000_000
"""Files up to this size are read whole, so that they can be edited; larger ones are read by windows."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def resolve(context: ToolContext, path: str) -> Path:
    """Give the absolute path of a tool's argument; symlinks are left as they are. Raises ToolFailure."""
    if not path or "\0" in path:
        raise ToolFailure("The path is empty, or holds a NUL.", code="PATH_INVALID")
    return Path(os.path.normpath(context.cwd / os.path.expanduser(path)))


def shown(path: Path, context: ToolContext) -> str:
    """Give a path as the model is shown it: relative to the workspace where it lies there, quoted if it must be."""
    with contextlib.suppress(ValueError):
        path = path.relative_to(context.cwd)
    return quoted(str(path))


def quoted(name: str) -> str:
    """Give a name in double quotes, with escapes, when it holds characters that would garble a line."""
    if name.isprintable():
        return name
    return '"' + name.encode("unicode_escape").decode().replace('"', '\\"') + '"'


def open_regular(path: Path) -> int:
    """Open a regular file for reading and give its descriptor; never waits, whatever stands there.

    Raises:
        ToolFailure: there is nothing, something that is no regular file, or no permission to read it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise unreadable(path, error) from None
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == stat.S_IFREG:
        return descriptor
    os.close(descriptor)
    raise ToolFailure(f"{quoted(str(path))} is {_KINDS.get(kind, 'no file')}, not a file.", code="NOT_A_FILE")


def unreadable(path: Path, error: OSError) -> ToolFailure:
    """Give the failure that tells a model why a path cannot be used."""
    code = "FILE_NOT_FOUND" if isinstance(error, FileNotFoundError) else "FILE_UNREADABLE"
    if isinstance(error, FileNotFoundError):
        return ToolFailure(f"There is no file {quoted(str(path))}.{_neighbours(path)}", code=code)
    return ToolFailure(f"{quoted(str(path))}: {error.strerror or error}.", code=code)


def _neighbours(path: Path) -> str:
    import difflib

    try:
        names = os.listdir(path.parent)[:5_000]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=3)
    return f" Near it: {', '.join(map(quoted, near))}." if near else ""


def read_whole(path: Path) -> bytes:
    """Give the bytes of a regular file of at most `MAX_WHOLE_BYTES`. Raises ToolFailure."""
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(MAX_WHOLE_BYTES + 1) if size <= MAX_WHOLE_BYTES else b""
    if size > MAX_WHOLE_BYTES or len(data) > MAX_WHOLE_BYTES:
        text = f"{quoted(str(path))} has {size:,} bytes; files over {MAX_WHOLE_BYTES:,} bytes are not handled whole."
        raise ToolFailure(text, code="FILE_TOO_LARGE")
    return data


def digest(data: bytes) -> str:
    """Give the SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Put bytes at a path, as a whole: a reader sees the old file or the new one.

    A symlink is followed, the mode is kept, missing folders are made. A file with several names is written in
    place, so that they stay names of one file. Raises ToolFailure.
    """
    path = Path(os.path.realpath(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = _stat(path)
        if before is not None and before.st_nlink > 1:
            path.write_bytes(data)
        else:
            _replace(path, data, before)
    except OSError as error:
        raise unreadable(path, error) from None


def _stat(path: Path) -> os.stat_result | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise ToolFailure(f"{quoted(str(path))} is {kind}, not a file.", code="NOT_A_FILE")
    return found


def _replace(path: Path, data: bytes, before: os.stat_result | None) -> None:
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if before is not None:
                os.chmod(beside, stat.S_IMODE(before.st_mode))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
