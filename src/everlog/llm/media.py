"""Images and files on their way to a model: which go whole, and which as a line of text in their place.

A request keeps under a budget of media bytes (`config.mediaBudget`, as encoded). When the next image or file
would exceed it, the oldest ones become stubs until half of the budget is free. Going down to half at once
makes it rare that earlier messages change, which is what a provider's prompt cache needs. All of it is a pure
function of the messages, so that the body can be derived again.
"""

from __future__ import annotations

from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator

from everlog.llm.adapter import BlobReader
from everlog.llm.failure import BAD_REQUEST, ModelFailure
from everlog.session.messages import File, Image, Message, Text, ToolResult

DEFAULT_BUDGET = 20_000_000
"""Bytes of base64 text that a request may hold when its configuration names no budget."""

Medium = Image | File


class Media:
    """Gives the media blocks of one request their form: content, or a stub.

    A medium is known by its place, counted over the request, since the same blob may stand in several.
    """

    def __init__(self, messages: Iterable[Message], blobs: BlobReader | None, budget: int, accepted: bool) -> None:
        self._blobs = blobs
        self._budget = budget
        self._accepted = accepted
        self._stubbed = self._fold(messages) if accepted else frozenset[int]()
        self._place = -1

    def next_content(self, block: Medium) -> bytes | Text:
        """Give the content of the next medium of the request, or the text that stands for it.

        Called once for each medium in the order of the request.

        Raises:
            ModelFailure: `BAD_REQUEST`; there is no blob store to read it from.
        """
        self._place += 1
        if not self._accepted:
            return stub(block, "this model cannot see it")
        if self._place in self._stubbed:
            return stub(block, "left out of this request to keep it small")
        content = self._read(block)
        return stub(block, "its content is missing from the store") if content is None else content

    def _fold(self, messages: Iterable[Message]) -> frozenset[int]:
        """Give the places of those that become stubs."""
        kept: deque[tuple[int, int]] = deque()
        stubbed: set[int] = set()
        total = 0
        for place, block in enumerate(media_of(messages)):
            size = self._encoded_size(block)
            if total + size > self._budget:
                while kept and total + size > self._budget // 2:
                    oldest, freed = kept.popleft()
                    stubbed.add(oldest)
                    total -= freed
            if size > self._budget:
                stubbed.add(place)
                continue
            kept.append((place, size))
            total += size
        return frozenset(stubbed)

    def _encoded_size(self, block: Medium) -> int:
        content = self._read(block)
        return 0 if content is None else (len(content) + 2) // 3 * 4

    def _read(self, block: Medium) -> bytes | None:
        if self._blobs is None:
            raise ModelFailure(
                "the request holds an image or a file, and this session has no blob store to read it from; "
                "take it out, or give its content as text",
                BAD_REQUEST,
            )
        try:
            return self._blobs.get(block.blob)
        except LookupError:
            return None


def media_of(messages: Iterable[Message]) -> Iterator[Medium]:
    """Give the images and files of a request in order, those inside results too; models write none."""
    for message in messages:
        for block in message.content:
            if isinstance(block, Image | File) and message.role != "assistant":
                yield block
            elif isinstance(block, ToolResult):
                yield from (inner for inner in block.content if isinstance(inner, Image | File))


def stub(block: Medium, why: str) -> Text:
    """Give the text that stands in the place of a medium."""
    what = f"file {block.name!r}" if isinstance(block, File) else "image"
    return Text(text=f"[{what} ({block.media_type}): {why}]")


def is_text(block: Medium) -> bool:
    """Tell whether it is a file that a model reads as plain text."""
    readable = block.media_type.startswith("text/") or block.media_type in ("application/json", "application/xml")
    return isinstance(block, File) and readable


def as_text(block: Medium, content: bytes) -> str:
    """Give the content of a text file under its name."""
    name = block.name if isinstance(block, File) and block.name else "file"
    return f"[{name}]\n{content.decode('utf-8', 'replace')}"


def base64_text(content: bytes) -> str:
    """Give content as base64 text."""
    return b64encode(content).decode("ascii")


def data_url(block: Medium, content: bytes) -> str:
    """Give content as a data URL."""
    return f"data:{block.media_type};base64,{base64_text(content)}"
