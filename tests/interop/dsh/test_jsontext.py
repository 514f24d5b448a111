"""JSON text as a JavaScript program reads it."""

from __future__ import annotations

import pytest

from everlog.interop.dsh.jsontext import is_count, is_integer, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b' {"a": 1} \r\t', {"a": 1}),
        (b'{"a": 1.0, "b": [2e0, 1.5]}', {"a": 1, "b": [2, 1.5]}),
        (b'{"a": "1.0"}', {"a": "1.0"}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"1152921504606846976", 2**60),
        (b'"\\u0000"', "\0"),
        (b'"\\ud83d\\ude80"', "\N{ROCKET}"),
        (b'"\\ud800"', "\ufffd"),
        (b'"\xff"', "\ufffd"),
        (b'"\xf0\x9f\x9a"', "\ufffd"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'{"\xc0\xaf": 1}', {"\ufffd\ufffd": 1}),
    ],
)
def test_what_it_takes_is_taken(text: bytes, value: object) -> None:
    assert parse(text) == value


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    assert type(parse(b"34.0")) is int
    assert type(parse(b"1E3")) is int
    assert type(parse(b"1.0e300")) is float


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{bad",
        b"NaN",
        b"-Infinity",
        b"01",
        b"1.",
        b"[1,]",
        b"{'a': 1}",
        b"{} {}",
        b"\xef\xbb\xbf{}",
        b"\xc2\xa0{}",
        b"\x0c{}",
        b'"\x01"',
        b'"\0"',
        b"[" * 100_000,
        b"undefined",
        b'{"a": \xff}',
    ],
)
def test_what_it_refuses_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_numbers_that_javascript_holds_exactly() -> None:
    assert [is_integer(value) for value in (0, -5, 2**53 - 1, 2**53, 1.0, True, "1", None)] == [
        True, True, True, False, False, False, False, False,
    ]  # fmt: skip
    assert [is_count(value) for value in (0, 5, -1, True)] == [True, True, False, False]
