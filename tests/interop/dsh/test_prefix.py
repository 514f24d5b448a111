"""The accepted prefix: a torn tail is dropped, and what a completed turn follows is damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interop.dsh.samples import answer, call, closed, file, result, user

from everlog.errors import EverlogError
from everlog.interop import dsh

SOUND = file(closed(user(2), answer("c"), call("c"), result("c")))
LINES = SOUND.splitlines(keepends=True)
BAD = [b"{bad json}\n", b"\n", b"   \n", b"\0\0\0\n", b"[]\n", b"5\n", b'"x"\n', b"true\n", b"{}\n",
       b'{"seq":99,"type":"session/title","time":1,"data":{}}\n', b'{"seq":"0","type":"x","time":1,"data":{}}\n',
       b'{"seq":true,"type":"x","time":1,"data":{}}\n', b'{"seq":0.5,"type":"x","time":1,"data":{}}\n',
       b'{"type":"text-chunks","seq0":0,"time0":0,"data":{}}\n', b"\xff\xfe\n", b"[" * 50_000 + b"\n"]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_after_the_last_turn_end_ends_the_prefix(bad: bytes) -> None:
    for tail in (bad, bad + b'{"type":"session/title","seq":8,"time":1,"data":{}}\n', bad + bad, bad + b"{"):
        log = dsh.read(SOUND + tail)
        assert (len(log.events), log.committed_bytes, log.torn_bytes) == (len(LINES) - 1, len(SOUND), len(tail))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("at", [1, 4, len(LINES) - 1])
def test_a_bad_line_before_a_turn_end_is_damage_at_its_seq(bad: bytes, at: int) -> None:
    with pytest.raises(dsh.LogDamaged) as damaged:
        dsh.read(b"".join([*LINES[:at], bad, *LINES[at:]]))
    assert damaged.value.seq == at - 1


def test_a_turn_end_that_is_itself_the_bad_line_is_damage() -> None:
    with pytest.raises(dsh.LogDamaged):
        dsh.read(SOUND + LINES[-1])


def test_a_turn_end_that_is_not_complete_proves_nothing() -> None:
    log = dsh.read(SOUND + b"{bad\n" + LINES[-1].rstrip())
    assert log.committed_bytes == len(SOUND)


@pytest.mark.parametrize("at", [1, 3, len(LINES)])
def test_null_is_damage_wherever_the_prefix_reaches_it(at: int) -> None:
    with pytest.raises(dsh.LogDamaged, match="null"):
        dsh.read(b"".join([*LINES[:at], b" null \n", *LINES[at:]]))


def test_the_line_end_is_the_newline_byte_alone() -> None:
    for separator in ("\u2028", "\u2029", "\u0085", "\r"):
        data = SOUND.replace(b"hello", separator.encode() if separator != "\r" else b"\\r")
        assert dsh.read(data).messages()[0].text == separator
    crlf = SOUND.replace(b"\n", b"\r\n")
    assert dsh.read(crlf).committed_bytes == len(crlf)
    with pytest.raises(dsh.LogDamaged, match="no complete header"):
        dsh.read(SOUND.replace(b"\n", b"\r"))


@given(st.integers(0, len(SOUND)))
def test_a_cut_anywhere_keeps_exactly_the_complete_lines(cut: int) -> None:
    complete = SOUND[:cut].count(b"\n")
    if not complete:
        with pytest.raises(dsh.LogDamaged):
            dsh.read(SOUND[:cut])
        return
    log = dsh.read(SOUND[:cut])
    assert len(log.events) == complete - 1
    assert log.committed_bytes == sum(map(len, LINES[:complete]))


@given(st.binary(max_size=200), st.integers(0, len(SOUND)), st.integers(0, 40))
def test_any_bytes_give_a_recording_or_an_error_that_says_what_is_wrong(junk: bytes, at: int, gone: int) -> None:
    data = SOUND[:at] + junk + SOUND[at + gone :]
    try:
        log = dsh.read(data)
    except EverlogError:
        return  # what matters is that it is one of ours, which prints as a line that a person can act on
    assert 0 < log.committed_bytes <= len(data)
    assert [event.seq for event in log.events] == list(range(len(log.events)))
