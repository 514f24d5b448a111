"""Outside text is harmless in a terminal, and JSON keeps its value while it is made so."""

import json

from hypothesis import given
from hypothesis import strategies as st

from everlog.cli.plain import harmless, harmless_json, one_line


def test_escapes_and_nuls_become_visible() -> None:
    assert harmless("a\x1b[2Jb\x00c\x07\x7f") == "a␛[2Jb␀c␇␡"


def test_controls_beyond_ascii_and_reordering_marks_become_escapes() -> None:
    assert harmless("\x9b31m \u202e\u2066 \u2028") == "\\u009b31m \\u202e\\u2066 \\u2028"


def test_a_lone_surrogate_becomes_an_escape_that_any_encoding_can_write() -> None:
    assert harmless("\ud800").encode("utf-8") == b"\\ud800"


def test_tabs_and_newlines_stay_and_windows_line_ends_become_newlines() -> None:
    assert harmless("a\tb\r\nc\rd") == "a\tb\nc␍d"


def test_one_line_joins_white_space_and_is_cut_with_an_ellipsis() -> None:
    assert one_line("  a\n b\tc ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


@given(st.text())
def test_nothing_harmful_is_left(text: str) -> None:
    left = harmless(text)
    assert not any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) <= 0x9F for c in left)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_keeps_its_value(value: object) -> None:
    text = harmless_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not any(0x7F <= ord(c) <= 0x9F for c in text)
