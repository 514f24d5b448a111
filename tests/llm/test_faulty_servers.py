"""What breaks in the middle of an answer breaks the same way, whatever protocol the answer is in."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.llm.asking import ask, request_to, service
from tests.peers.rogue import HANG, http, rogue, sse

from everlog.llm.seam import ModelFailure


@dataclass(frozen=True)
class Protocol:
    """A protocol by its name, and a stream that begins to say `hel` in it."""

    name: str
    beginning: tuple[dict[str, Any], ...]

    def lab(self, url: str, more: str = "") -> str:
        """Give the table of an endpoint that speaks it."""
        base = url.removesuffix("/v1") if self.name.startswith("anthropic") else url
        return f'[provider.lab]\nprotocol = "{self.name}"\nbase_url = "{base}"\nneeds_key = false\n{more}\n'

    def stream(self, *more: str) -> bytes:
        """Give the beginning of an answer, and these events behind it."""
        said = [self._event(json.dumps(event), event.get("type")) for event in self.beginning]
        return http(sse(*said, *(self._event(text, None) for text in more)))

    def _event(self, text: str, type: str | None) -> str:
        named = type or self.beginning[-1].get("type")
        return f"event: {named}\ndata: {text}" if named else text


CHAT = Protocol("openai-chat", ({"choices": [{"index": 0, "delta": {"content": "hel"}, "finish_reason": None}]},))
RESPONSES = Protocol(
    "openai-responses",
    (
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "message", "id": "m", "content": []},
        },
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "m", "delta": "hel"},
    ),
)
MESSAGES = Protocol(
    "anthropic-messages",
    (
        {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}},
    ),
)

every_protocol = pytest.mark.parametrize("protocol", [CHAT, RESPONSES, MESSAGES], ids=lambda protocol: protocol.name)


async def failure_of(protocol: Protocol, *answer: bytes) -> ModelFailure:
    with rogue(answer) as server:
        async with service(protocol.lab(server.url)) as models:
            with pytest.raises(ModelFailure) as caught:
                _ = (await ask(models.resolve("lab/m"), "hi")).message
    assert "\n" not in caught.value.message
    assert len(server.bodies) == 1, "nothing may be tried again underneath"
    return caught.value


@every_protocol
async def test_a_server_that_stalls_is_given_up(protocol: Protocol) -> None:
    with rogue([protocol.stream()], [protocol.stream(), HANG]) as server:
        patient, quick = protocol.lab(server.url), protocol.lab(server.url, "idle_timeout = 3")
        async with service(patient + quick.replace("lab", "quick", 1)) as models:
            with pytest.raises(ModelFailure):
                await ask(models.resolve("lab/m"), "hi")  # which loads the library of the protocol
            with pytest.raises(ModelFailure, match="nothing came from quick for 3 s") as caught:
                await ask(models.resolve("quick/m"), "hi")
            assert await asyncio.to_thread(server.closed_by_client.wait, 30)
    assert (caught.value.code, caught.value.retryable) == ("TIMEOUT", True)


@every_protocol
async def test_an_answer_that_breaks_off_is_a_failure_of_transport(protocol: Protocol) -> None:
    failure = await failure_of(protocol, protocol.stream())
    assert (failure.code, failure.retryable) == ("TRANSPORT", True)


@every_protocol
@pytest.mark.parametrize("event", ['{"type": "tex', "[1, 2]", '"text"'])
async def test_an_event_that_is_none_is_a_failure_of_the_protocol(protocol: Protocol, event: str) -> None:
    failure = await failure_of(protocol, protocol.stream(event))
    assert failure.code == "PROTOCOL"


@every_protocol
async def test_a_server_that_is_busy_says_for_how_long(protocol: Protocol) -> None:
    busy = http(b'{"error":{"message":"slow down"}}', "application/json", "429 Too Many Requests", "Retry-After: 7\r\n")
    failure = await failure_of(protocol, busy)
    assert (failure.code, failure.status, failure.retry_after_ms) == ("RATE_LIMIT", 429, 7_000)


@every_protocol
async def test_cancelling_while_the_server_is_silent_closes_the_connection(protocol: Protocol) -> None:
    with rogue([protocol.stream(), HANG]) as server:
        async with service(protocol.lab(server.url)) as models:
            route = models.resolve("lab/m")
            request = request_to(route, "hi")
            stream = route.adapter.stream(request, route.adapter.encode(request, None))
            async for delta in stream:
                if delta.text == "hel":
                    break
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await asyncio.to_thread(server.closed_by_client.wait, 30)
