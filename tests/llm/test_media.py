"""Images and files go out whole while they fit the budget; the oldest become a line of text."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.asking import answered, called

from everlog.llm.anthropic.body import messages_body
from everlog.llm.media import Media, media_of
from everlog.llm.openai.chatbody import chat_body
from everlog.llm.openai.responsesbody import responses_body
from everlog.llm.script import script_route
from everlog.llm.seam import ModelFailure
from everlog.session.messages import File, Image, Message, Text, tool_message, user_message
from everlog.session.request import Request

BODIES = {"chat": chat_body, "responses": responses_body, "messages": messages_body}


class Held:
    """Blobs by name."""

    def __init__(self, **blobs: bytes) -> None:
        self._blobs = blobs

    def get(self, blob: str) -> bytes:
        return self._blobs[blob]


def image(blob: str) -> Image:
    return Image(blob=blob, media_type="image/png")


def body(protocol: str, *messages: Message, blobs: Held | None, **config: Any) -> dict[str, Any]:
    header = script_route([]).header()
    config = {"provider": "lab", "model": "m", "maxTokens": 9, **config}
    request = Request(header=type(header)(config_json=_raw(config)), messages=messages)
    found: dict[str, Any] = json.loads(BODIES[protocol](request, blobs))
    return found


def _raw(value: object) -> Any:
    from everlog.session.views import json_raw

    return json_raw(value)


def content(protocol: str, body: dict[str, Any], at: int = 0) -> Any:
    return body["input" if protocol == "responses" else "messages"][at]["content"]


@pytest.mark.parametrize("protocol", BODIES)
def test_an_image_goes_out_as_the_protocol_has_it(protocol: str) -> None:
    said = body(protocol, user_message([Text(text="look"), image("a")]), blobs=Held(a=b"\x89PNG"))
    data = base64.b64encode(b"\x89PNG").decode()
    url = f"data:image/png;base64,{data}"
    assert (
        content(protocol, said)[1]
        == {
            "chat": {"type": "image_url", "image_url": {"url": url}},
            "responses": {"type": "input_image", "detail": "auto", "image_url": url},
            "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        }[protocol]
    )


@pytest.mark.parametrize("protocol", BODIES)
def test_a_file_goes_out_as_text_where_it_is_text_and_as_a_document_otherwise(protocol: str) -> None:
    files = [
        File(blob="t", name="a.py", media_type="text/x-python"),
        File(blob="p", name="b.pdf", media_type="application/pdf"),
    ]
    said = content(protocol, body(protocol, user_message(files), blobs=Held(t=b"x = 1", p=b"%PDF")))
    assert said[0]["text"] == "[a.py]\nx = 1"
    assert said[1]["type"] == {"chat": "file", "responses": "input_file", "messages": "document"}[protocol]
    assert base64.b64encode(b"%PDF").decode() in json.dumps(said[1])


@pytest.mark.parametrize("protocol", BODIES)
def test_an_image_in_a_result_reaches_the_model(protocol: str) -> None:
    messages = (
        answered(called("x"), called("y")),
        tool_message("x", [Text(text="seen"), image("a")]),
        tool_message("y", "2"),
    )
    said = body(protocol, user_message("go"), *messages, blobs=Held(a=b"PIXELS"))
    assert base64.b64encode(b"PIXELS").decode() in json.dumps(said)
    if protocol == "chat":
        assert [m["role"] for m in said["messages"]] == ["user", "assistant", "tool", "tool", "user"]


@pytest.mark.parametrize("protocol", BODIES)
def test_sixty_images_stay_under_the_budget_and_the_newest_go_whole(protocol: str) -> None:
    blobs = Held(**{f"i{n}": bytes([n]) * 30_000 for n in range(60)})
    messages = [m for n in range(60) for m in (user_message([image(f"i{n}")], id=f"u{n}"), answered("ok", id=f"a{n}"))]
    said = json.dumps(body(protocol, *messages, blobs=blobs, mediaBudget=500_000))
    assert len(said) < 600_000
    assert base64.b64encode(bytes([59]) * 30_000).decode() in said
    assert said.count("left out of this request to keep it small") >= 60 - 500_000 // 40_000


@pytest.mark.parametrize("protocol", BODIES)
def test_what_cannot_be_sent_is_refused_or_said(protocol: str) -> None:
    message = user_message([Text(text="look"), image("a")])
    with pytest.raises(ModelFailure, match="no blob store") as caught:
        body(protocol, message, blobs=None)
    assert caught.value.code == "BAD_REQUEST"
    lost = json.dumps(body(protocol, message, blobs=Held()))
    blind = json.dumps(body(protocol, message, blobs=Held(a=b"x"), dialect={"media": False}))
    assert "its content is missing from the store" in lost
    assert "this model cannot see it" in blind


def kept(sizes: Iterable[int], budget: int) -> list[bool]:
    """Which of some images go whole."""
    blobs = Held(**{f"i{n}": bytes(size) for n, size in enumerate(sizes)})
    messages = [user_message([image(f"i{n}")]) for n, _ in enumerate(sizes)]
    media = Media(messages, blobs, budget, accepted=True)
    return [isinstance(media.next_content(block), bytes) for block in media_of(messages)]


SIZES = st.lists(st.integers(0, 60), max_size=20)


@given(SIZES, st.integers(1, 200))
def test_the_budget_is_never_exceeded_and_only_older_ones_give_way(sizes: list[int], budget: int) -> None:
    whole = kept(sizes, budget)
    encoded = [(size + 2) // 3 * 4 for size in sizes]
    assert sum(size for size, is_whole in zip(encoded, whole, strict=True) if is_whole) <= budget
    fitting = [is_whole for size, is_whole in zip(encoded, whole, strict=True) if size <= budget]
    assert fitting == sorted(fitting), "of those that can fit at all, the whole ones are the newest"


@given(SIZES, st.integers(0, 60), st.integers(1, 200))
def test_one_more_image_brings_none_back(sizes: list[int], more: int, budget: int) -> None:
    before, after = kept(sizes, budget), kept([*sizes, more], budget)
    assert all(earlier or not later for earlier, later in zip(before, after, strict=False))
