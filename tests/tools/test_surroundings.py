"""What tools may see of the environment is told anew whenever that has changed, and read once for each look."""

from __future__ import annotations

from collections.abc import Iterator

from everlog.tools.environment import Surroundings


class Watched(dict[str, str]):
    """An environment that counts how often a value is read."""

    reads = 0

    def __getitem__(self, name: str) -> str:
        self.reads += 1
        return super().__getitem__(name)

    def items(self) -> Iterator[tuple[str, str]]:  # type: ignore[override]
        return ((name, self[name]) for name in self)


def test_a_look_reads_each_variable_once_and_tells_secrets_from_the_rest() -> None:
    environ = Watched(HOME="/home/me", API_KEY="sk-123456789", COPY="sk-123456789")
    seen = Surroundings(environ).look()
    assert (seen.for_commands, set(seen.secrets)) == ({"HOME": "/home/me"}, {"API_KEY", "COPY"})
    assert environ.reads == 3


def test_what_has_not_changed_is_not_worked_out_again_and_what_has_is() -> None:
    environ = {"HOME": "/home/me"}
    surroundings = Surroundings(environ)
    first = surroundings.look()
    assert surroundings.look() is first
    environ["A_TOKEN"] = "t-123456789"
    assert surroundings.look().secrets == {"A_TOKEN": "t-123456789"}
    assert first.secrets == {}


def test_a_secret_that_the_user_lets_commands_have_is_none() -> None:
    seen = Surroundings({"A_TOKEN": "t-123456789"}, keep=["A_TOKEN"]).look()
    assert seen == ({"A_TOKEN": "t-123456789"}, {})
