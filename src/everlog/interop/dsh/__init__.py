"""Sessions of DeepSeek Harness, a program whose logs have the same idea: one append-only file per session.

`read` gives a recording of a file; `write` gives the file back. Nothing else here is for others to use. The
modules follow the way of the bytes: `frames`, `jsontext`, `packed`, `header`, `prefix` (what of the file
counts), `admission` with `older` and `vocabulary` (what that program itself demands), `translation` with
`chunks` (names and shapes, in both directions), `reading` and `writing`.
"""

from everlog.interop.dsh.errors import LogDamaged, NotWritable, UnknownEvent, VersionUnsupported
from everlog.interop.dsh.frames import CompressionUnavailable
from everlog.interop.dsh.reading import is_compressed, is_log, read
from everlog.interop.dsh.recording import DshRecording
from everlog.interop.dsh.writing import write

__all__ = [
    "CompressionUnavailable",
    "DshRecording",
    "LogDamaged",
    "NotWritable",
    "UnknownEvent",
    "VersionUnsupported",
    "is_compressed",
    "is_log",
    "read",
    "write",
]
