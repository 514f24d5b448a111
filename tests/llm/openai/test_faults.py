"""Bad networks and bad servers: each gives one clear failure, and never a hang."""

from __future__ import annotations

import asyncio
import re
import socket

import pytest
from tests.llm.asking import ask, service
from tests.peers.rogue import HANG, http, rogue, sse

from everlog.llm.seam import ModelFailure

PIECE = '{"choices":[{"index":0,"delta":{"content":"hel"},"finish_reason":null}]}'
END = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
PAGE = b"<!DOCTYPE html><html><body>Welcome to nginx!</body></html>"


def lab(url: str, more: str = "") -> str:
    return f'[provider.lab]\nbase_url = "{url}"\nneeds_key = false\n{more}'


async def failure_from(url: str, more: str = "") -> ModelFailure:
    async with service(lab(url, more)) as models:
        with pytest.raises(ModelFailure) as caught:
            _ = (await ask(models.resolve("lab/m"), "hi")).message
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (http(PAGE, "text/html"), "NOT_FOUND", "a web page instead of an API.*check its base_url"),
        (http(PAGE, "text/html", "404 Not Found"), "NOT_FOUND", "a web page, not an API's answer"),
        (http(PAGE, "text/html", "502 Bad Gateway"), "SERVER", "failed \\(502\\)"),
        (http(b"", "text/event-stream"), "TRANSPORT", "ended before the answer was complete"),
        (http(b"", "text/plain"), "PROTOCOL", "instead of a stream: nothing"),
        (http(b'{"object":"chat.completion"}', "application/json"), "PROTOCOL", "application/json instead of a stream"),
        (http(sse(PIECE)), "TRANSPORT", "ended before the answer was complete"),
        (http(sse(PIECE, '{"choices":[{"ind')), "PROTOCOL", "not JSON"),
        (http(sse(PIECE, "[1, 2]")), "PROTOCOL", "list where an object should be"),
        (http(sse(PIECE, '{"choices":[{"delta":"x"}]}')), "PROTOCOL", "delta that is no object"),
        (http(sse(END)), "EMPTY_RESPONSE", "gave an empty answer"),
        (http(sse(PIECE, '{"error":{"message":"boom","code":503}}')), "SERVER", "failed \\(503\\): boom"),
        (http(sse('{"error":{"message":"m","code":"context_length_exceeded"}}')), "CONTEXT_OVERFLOW", "too long"),
        (http(sse('{"error":{"message":"wait","type":"rate_limit_error"}}')), "RATE_LIMIT", "slow down"),
        (b"", "TRANSPORT", "cannot be reached"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "TRANSPORT", "cannot be reached"),
    ],
)
async def test_what_is_no_answer_is_one_clear_failure(answer: bytes, code: str, words: str) -> None:
    with rogue([answer]) as server:
        failure = await failure_from(server.url)
    assert failure.code == code
    assert re.search(words, failure.message), failure.message
    assert len(server.bodies) == 1, "nothing may be tried again underneath"


async def test_a_refused_connection_says_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    failure = await failure_from(f"http://127.0.0.1:{port}/v1")
    assert failure.code == "TRANSPORT"
    assert f"lab cannot be reached at http://127.0.0.1:{port}/v1" in failure.message


@pytest.mark.parametrize("before", [[], [http(b"")], [http(sse(PIECE))]])
async def test_a_server_that_stalls_is_given_up(before: list[bytes]) -> None:
    with rogue([http(sse(PIECE, END))], [*before, HANG]) as server:
        async with service(lab(server.url, "idle_timeout = 1")) as models:
            route = models.resolve("lab/m")
            await ask(route, "hi")
            with pytest.raises(ModelFailure, match="nothing came from lab for 1 s") as caught:
                await ask(route, "hi")
            assert await asyncio.to_thread(server.closed_by_client.wait, 30)
    assert caught.value.code == "TIMEOUT"
    assert caught.value.retryable


async def test_an_emoji_whose_halves_come_apart_is_whole_again() -> None:
    halves = [PIECE.replace("hel", "\\ud83d"), PIECE.replace("hel", "\\ude00!")]
    with rogue([http(sse(*halves, END))]) as server:
        async with service(lab(server.url)) as models:
            answer = await ask(models.resolve("lab/m"), "hi")
    assert answer.message.text == "\U0001f600!"


async def test_a_half_emoji_at_the_end_is_replaced() -> None:
    with rogue([http(sse(PIECE.replace("hel", "a\\ud83d"), END))]) as server:
        async with service(lab(server.url)) as models:
            answer = await ask(models.resolve("lab/m"), "hi")
    assert answer.message.text == "a\ufffd"


async def test_a_date_as_the_delay_is_understood() -> None:
    busy = http(b"{}", "application/json", "429 Too Many Requests", "Retry-After: Fri, 31 Dec 2999 23:59:59 GMT\r\n")
    with rogue([busy]) as server:
        failure = await failure_from(server.url)
    assert failure.code == "RATE_LIMIT"
    assert failure.retry_after_ms is not None
    assert failure.retry_after_ms > 1e9
