"""Side requests as the loop sends its own: logged, made durable, checked against the log, and only then dispatched."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from msgspec import Raw

from everlog.agent.boundary import Boundary
from everlog.agent.seam import SIDE_DISPATCH, SideOutgoing
from everlog.kernel import Context, plugin
from everlog.llm.seam import RETRY, Aside, Assembler, FailedAttempt, ModelFailure, Retry, SideAnswer, SideRequests
from everlog.session.messages import Message
from everlog.session.payloads import RequestSide
from everlog.session.records import Delta
from everlog.session.request import Request
from everlog.store.seam import DurableSession


class LoggedSideRequests(SideRequests):
    """Asks with the route that it is given; what is asked stands in the log first."""

    async def ask(self, aside: Aside) -> SideAnswer:
        """Ask, as often as the retry policy has it; see `SideRequests.ask`."""
        tried: list[str] = []
        while True:
            tried.append(aside.route.name)
            try:
                return await Try(aside).run()
            except ModelFailure as failure:
                retry = await RETRY.ask(aside.scope, FailedAttempt(aside.route, len(tried), failure, tuple(tried)))
                if retry is None:
                    raise
                aside = _again(aside, retry)
            await asyncio.sleep(retry.delay_ms / 1000)


def _again(aside: Aside, retry: Retry) -> Aside:
    if retry.route is None:
        return aside
    tools = aside.header.tools
    offered = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return replace(aside, route=retry.route, header=retry.route.header(offered))


class Try:
    """One try of a side request."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._id = str(uuid.uuid4())
        self._boundary = aside.scope[Boundary] if Boundary in aside.scope else Boundary(aside.session)
        prefix = aside.session.messages() if aside.prefix == "surface" else ()
        self._request = Request(aside.header, [*prefix, *aside.messages])
        blobs = aside.session.blobs if isinstance(aside.session, DurableSession) else None
        self._body = aside.route.adapter.encode(self._request, blobs)
        self._seq = -1

    async def run(self) -> SideAnswer:
        """Log the request, send it when it is durable, and give the answer. Raises ModelFailure."""
        aside = self._aside
        self._seq = aside.session.append(self._payload()).seq
        if isinstance(aside.session, DurableSession):
            await aside.session.when_durable()
        assembler = Assembler(aside.route.provider, aside.route.model)
        outgoing = SideOutgoing(aside.session, self._id, aside.purpose, self._request)
        stream = await SIDE_DISPATCH.around(aside.scope, self._send, outgoing)
        try:
            async for delta in stream:
                assembler.add(delta)
        finally:
            close = getattr(stream, "aclose", None)  # a generator has it; a listener's own iterator need not
            if close is not None:
                await close()
        return SideAnswer(self._id, assembler.message(), assembler.usage, assembler.finish_reason)

    def _payload(self) -> RequestSide:
        aside, adapter = self._aside, self._aside.route.adapter
        return RequestSide(
            id=self._id,
            purpose=aside.purpose,
            compaction_id=aside.compaction_id,
            prefix=aside.prefix,
            header=aside.header,
            messages_json=_joined(aside.messages),
            adapter=adapter.name,
            adapter_version=adapter.version,
            sha256=hashlib.sha256(self._body).hexdigest(),
            bytes=len(self._body),
        )

    async def _send(self, outgoing: SideOutgoing) -> AsyncIterator[Delta]:
        """Check, innermost, that the log's request is what goes out; then send the body that was digested."""
        self._boundary.check_side(outgoing.request, self._seq)
        return self._aside.route.adapter.stream(self._request, self._body)


def _joined(messages: Sequence[Message]) -> Raw:
    """Give messages as one JSON array of their own bytes."""
    return Raw(b"[%b]" % b",".join(message.to_json() for message in messages))


@plugin(provides=(SideRequests,))
async def side_requests(ctx: Context) -> AsyncIterator[None]:
    """Sends requests that belong to no step: summaries, titles."""
    ctx.provide(SideRequests, LoggedSideRequests())
    yield
