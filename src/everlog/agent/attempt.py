"""One try of a step's request: logged, made durable, dispatched, and answered or not."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable

from msgspec.structs import replace

from everlog.agent.boundary import Boundary
from everlog.agent.chunks import ChunkWriter
from everlog.agent.closing import failure_of
from everlog.agent.seam import DISPATCH, Agent, Outgoing
from everlog.llm.seam import Assembler, BlobReader, Route
from everlog.session.live import Session
from everlog.session.payloads import AssistantAttempt, AssistantMessage, Failure, RequestSent, Usage
from everlog.session.records import Delta
from everlog.session.repair import interrupted_message, running_chunks


class Attempt:
    """The next attempt of the open step.

    It leaves the log without a running attempt however it ends: with an `assistant/message` when there is an
    answer, or a part of one when it was cancelled; else with an `assistant/attempt` that says why.
    """

    def __init__(self, agent: Agent, session: Session, boundary: Boundary, route: Route, blobs: BlobReader) -> None:
        turns = session.ledger.turns
        self._agent = agent
        self._session = session
        self._boundary = boundary
        self._route = route
        self._blobs = blobs
        self.turn, self.step = turns.last, turns.step
        self.number = session.ledger.attempts.last + 1
        """1, 2, … within the step."""
        self._request = boundary.derive()
        self._body = b""
        self._chunks = ChunkWriter(session, self.number)
        self._assembler = Assembler(route.provider, route.model)

    async def run(self, durable: Callable[[], Awaitable[None]]) -> AssistantMessage:
        """Ask the provider, and give the answer as it was logged.

        `durable` returns when everything appended so far is; nothing is dispatched before.

        Raises:
            ModelFailure: there is no answer.
            RequestDiffers: a hook changed the request; nothing was sent.
        """
        self._body = self._route.adapter.encode(self._request, self._blobs)
        self._log_sent()
        try:
            await durable()
            await self._receive()
            return self._log_answer()
        except asyncio.CancelledError:
            self._log_partial()
            raise
        except Exception as error:
            self._log_failure(failure_of(error))
            raise
        finally:
            self._chunks.discard()

    def _log_sent(self) -> None:
        adapter, body = self._route.adapter, self._body
        self._session.append(
            RequestSent(
                turn=self.turn,
                step=self.step,
                attempt=self.number,
                adapter=adapter.name,
                adapter_version=adapter.version,
                sha256=hashlib.sha256(body).hexdigest(),
                bytes=len(body),
            )
        )

    async def _receive(self) -> None:
        outgoing = Outgoing(self._agent, self.turn, self.step, self.number, self._request)
        stream = await DISPATCH.around(self._agent.scope, self._send, outgoing)
        try:
            async for delta in stream:
                self._chunks.add(delta)
                self._assembler.add(delta)
        finally:
            close = getattr(stream, "aclose", None)  # a generator has it; a listener's own iterator need not
            if close is not None:
                await close()
        self._chunks.close()

    async def _send(self, outgoing: Outgoing) -> AsyncIterator[Delta]:
        """Check, innermost, that the log's request is what goes out; then send the body that was digested."""
        self._boundary.check(outgoing.request)
        return self._route.adapter.stream(self._request, self._body)

    def _log_answer(self) -> AssistantMessage:
        answer = AssistantMessage(
            turn=self.turn, step=self.step, message=self._assembler.message(), usage=self._assembler.usage
        )
        self._session.append(answer, "append", sources=self._chunks.seqs)
        return answer

    def _log_partial(self) -> None:
        self._chunks.close()
        chunks = running_chunks(self._session)
        said = interrupted_message(self._session, chunks)
        if said is None:
            self._log_failure(None)
            return
        said = replace(said, usage=self._usage)
        self._session.append(said, "append", sources=[event.seq for event in chunks])

    def _log_failure(self, failure: Failure | None) -> None:
        self._chunks.close()
        payload = AssistantAttempt(
            turn=self.turn, step=self.step, attempt=self.number, failure=failure, usage=self._usage
        )
        self._session.append(payload)

    @property
    def finish_reason(self) -> str | None:
        """Give why the answer ended."""
        return self._assembler.finish_reason

    @property
    def _usage(self) -> Usage | None:
        return self._assembler.usage
