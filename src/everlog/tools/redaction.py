"""The last net for secrets: their values are taken out of what a tool gives, before a log or a model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from everlog.session.jsonvalue import JSON, decode, encode
from everlog.session.messages import Text
from everlog.session.payloads import ToolError
from everlog.tools.environment import redacted
from everlog.tools.seam import Blobs, ToolOutput


def without_values(output: ToolOutput, secrets: Mapping[str, str]) -> ToolOutput:
    """Give an output in whose texts and meta no value of a secret stands."""
    if not secrets:
        return output
    content = tuple(
        Text(text=redacted(block.text, secrets)) if isinstance(block, Text) else block for block in output.content
    )
    return replace(output, content=content, meta=_in_json(output.meta, secrets), error=_in_error(output.error, secrets))


def _in_json(value: JSON, secrets: Mapping[str, str]) -> JSON:
    text = encode(value).decode()
    quoted = {name: encode(value).decode()[1:-1] for name, value in secrets.items()}
    clean = redacted(text, quoted)
    return value if clean == text else decode(clean)


def _in_error(error: ToolError | None, secrets: Mapping[str, str]) -> ToolError | None:
    if error is None or error.reason is None:
        return error
    return ToolError(name=error.name, code=error.code, reason=redacted(error.reason, secrets))


class CleanBlobs:
    """Blobs into which no value of a secret is put."""

    def __init__(self, blobs: Blobs, secrets: Mapping[str, str]) -> None:
        self._blobs = blobs
        self._values = [value.encode() for value in secrets.values()]

    def put(self, data: bytes) -> str:
        """Keep the bytes, with the values of secrets taken out."""
        for value in self._values:
            if value in data:
                data = data.replace(value, b"[secret removed]")
        return self._blobs.put(data)

    def get(self, blob: str) -> bytes:
        """Give the bytes of a hash. Raises LookupError when there are none."""
        return self._blobs.get(blob)
