"""Rules: what a pattern matches, and that a command cannot hide another behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlog.tools.permissions import Rule, RuleInvalid
from everlog.tools.permissions.modes import escaped


@pytest.mark.parametrize(
    ("rule", "command", "permitted"),
    [
        ("bash(git status)", "git status", True),
        ("bash(git status)", "git status --short", False),
        ("bash(git *)", "git log --oneline -3", True),
        ("bash(git *)", "git log; rm -rf ~", False),
        ("bash(git *)", "git log && rm -rf ~", False),
        ("bash(git *)", "git log | sh", False),
        ("bash(git *)", "git log $(rm -rf ~)", False),
        ("bash(git *)", "git log `rm -rf ~`", False),
        ("bash(git *)", "git log\nrm -rf ~", False),
        ("bash(git *)", "git log > ~/.bashrc", False),
        ("bash(make; ls)", "make; ls", True),
        ("bash(a \\* b)", "a * b", True),
        ("bash(a \\* b)", "a x b", False),
        ("bash", "anything; at all", True),
        ("bash(*)", "anything; at all", True),
        ("*", "anything", True),
        ("edit(git *)", "git log", False),
    ],
)
def test_a_rule_for_commands(rule: str, command: str, permitted: bool) -> None:
    assert Rule.parse(rule).permits_command("bash", command) is permitted


def test_a_rule_that_refuses_catches_a_command_wherever_it_stands() -> None:
    assert Rule.parse("bash(*rm -rf*)").catches("bash", "ls; rm -rf / \n&& echo")


@pytest.mark.parametrize(
    ("rule", "subject", "permitted"),
    [
        ("edit(src/*)", "src/deep/a.py", True),
        ("edit(src/*)", "tests/a.py", False),
        ("edit(*)", "src/a.py", True),
        ("edit(*)", "/etc/passwd", False),
        ("edit(/etc/*)", "/etc/passwd", True),
        ("*", "/etc/passwd", False),
        ("web_*(https://docs.python.org/*)", "https://docs.python.org/3/", False),
    ],
)
def test_a_rule_for_paths_permits_those_outside_only_when_it_says_so(rule: str, subject: str, permitted: bool) -> None:
    assert Rule.parse(rule).permits("edit", subject) is permitted


@pytest.mark.parametrize("text", ["", "(x)", "bash(x", "bash x", "ba sh(x)"])
def test_what_is_no_rule_is_refused_with_the_form_that_it_should_have(text: str) -> None:
    with pytest.raises(RuleInvalid, match=r"tool\(pattern\)"):
        Rule.parse(text)


@given(st.text(alphabet="ab*\\;(){}\n. "), st.text(alphabet="ab*\\;(){}\n. "))
def test_a_rule_made_of_a_text_matches_that_text_alone(text: str, other: str) -> None:
    rule = Rule.parse(f"bash({escaped(text)})")
    assert rule.catches("bash", text)
    assert rule.catches("bash", other) == (text == other)
    if text != "*":
        assert rule.permits_command("bash", text)
