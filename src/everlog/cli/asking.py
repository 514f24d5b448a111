"""Asks the person at the terminal: whether a call may run, and what a model wants to know."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

from everlog.cli.faces import Face
from everlog.cli.plain import one_line
from everlog.tools.seam import Answer, Approver, Question, Respondent


def is_interactive() -> bool:
    """Tell whether a person is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalApprover(Approver):
    """Asks for `y`, `n`, `a` (always) or `g` (for good), one question at a time.

    Always is for the rest of the session; for good is written to the configuration. What is typed after `n` goes
    to the model.
    """

    def __init__(self, face: Face) -> None:
        self._face = face
        self._one_at_a_time = asyncio.Lock()

    async def approve(self, question: Question) -> Answer:
        """Ask until the answer is one of these; the end of input is a no."""
        rule = one_line(question.rule or "")
        always = f", a = always {rule} in this session, g = for good" if rule else ""
        async with self._one_at_a_time:
            self._face.notice(f"{question.tool} {question.subject}: {question.reason}")
            while True:
                said = await read_line(f"may it run? y = once{always}, n = no [reason], ? = what these do: ")
                answer = _understood(said, bool(question.rule))
                if answer is not None:
                    return answer
                for line in _explained(rule):
                    self._face.notice(line)


class TerminalRespondent(Respondent):
    """Puts a model's question to the person, with the choices numbered."""

    def __init__(self, face: Face) -> None:
        self._face = face

    async def respond(self, question: str, choices: Sequence[str]) -> str:
        """Ask, and give the choice whose number was typed, or the words that were."""
        self._face.notice(question)
        for number, choice in enumerate(choices, start=1):
            self._face.notice(f"{number}. {choice}")
        said = (await read_line("answer: ") or "").strip()
        chosen = int(said) - 1 if said.isascii() and said.isdigit() else -1
        return choices[chosen] if 0 <= chosen < len(choices) else said


def _understood(said: str | None, may_be_always: bool) -> Answer | None:
    if said is None:
        return Answer("rejected")
    word, _, rest = said.strip().partition(" ")
    match word.lower():
        case "y" | "yes":
            return Answer("allowed-once")
        case "a" | "always" if may_be_always:
            return Answer("allowed-always")
        case "g" | "good" if may_be_always:
            return Answer("allowed-always", for_good=True)
        case "n" | "no":
            return Answer("rejected", note=rest.strip() or None)
        case _:
            return None


def _explained(rule: str) -> list[str]:
    """Give a line for each answer."""
    lasting = [
        f"a: it runs, and so does, in this session, every later call that matches {rule}",
        f"g: as a, and for good: {rule} is written to your configuration",
    ]
    return [
        "y: it runs, this once",
        *(lasting if rule else []),
        "n: it is refused, and so it is at the end of input (Ctrl-D); words after n are told to the model",
        "Ctrl-C cancels the turn",
    ]


async def read_line(prompt: str) -> str | None:
    """Write the prompt to stderr and give the line that is typed, or None at the end of input, which ends the line.

    Being cancelled leaves nothing waiting where the event loop can watch stdin; elsewhere a thread stays in
    its read until a line comes.
    """
    sys.stderr.write(prompt)
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()
    try:
        loop.add_reader(sys.stdin.fileno(), _take, sys.stdin.readline, typed)
    except (NotImplementedError, OSError, ValueError):
        line = await asyncio.to_thread(sys.stdin.readline)
    else:
        try:
            line = await typed
        finally:
            loop.remove_reader(sys.stdin.fileno())
    if not line:
        sys.stderr.write("\n")
        sys.stderr.flush()
    return line.rstrip("\n") if line else None


def _take(read: Callable[[], str], typed: asyncio.Future[str]) -> None:
    if not typed.done():
        typed.set_result(read())
