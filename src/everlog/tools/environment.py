"""Secrets in the environment: kept from the commands that tools run, and taken out of what tools give."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

_SECRET_NAME = re.compile(
    r"(^|_)(API_?KEY|APIKEY|ACCESS_?KEY|PRIVATE_?KEY|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|DSN)(_|$|[0-9])"
    r"|SECRET|PASSWORD|TOKEN(?!S|IZ)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"://[^/\s:@]+:[^/\s@]+@")
_HARMLESS = frozenset({"SSH_AUTH_SOCK"})
MIN_LENGTH = 8
_CERTAIN_LENGTH = 20


def is_secret(name: str) -> bool:
    """Tell by its name whether an environment variable holds a secret."""
    return name not in _HARMLESS and _SECRET_NAME.search(name) is not None


def _is_told(name: str, value: str) -> bool:
    return is_secret(name) or _LOGIN.search(value) is not None


def _is_telling(value: str) -> bool:
    """Tell whether a value is looked for in texts. An ordinary word is not: it stands where no secret is."""
    return len(value) >= _CERTAIN_LENGTH or (len(value) >= MIN_LENGTH and not value.isalpha())


def secrets_of(environ: Mapping[str, str] = os.environ, named: Collection[str] = ()) -> dict[str, str]:
    """Give the variables that hold secrets: by name, by an address with a password, or by the value of such a one.

    `named` are others that are known to, like those that hold the keys of providers.
    """
    held = dict(environ.items())  # the system's environment decodes each value at each look
    told = {name: value for name, value in held.items() if value and (name in named or _is_told(name, value))}
    values = {value for value in told.values() if _is_telling(value)}
    return told | {name: value for name, value in held.items() if value in values}


def without_secrets(environ: Mapping[str, str] = os.environ, keep: Collection[str] = ()) -> dict[str, str]:
    """Give the environment for a command; `keep` names secrets that commands may have all the same."""
    held = secrets_of(environ)
    return {name: value for name, value in environ.items() if name in keep or name not in held}


def redacted(text: str, secrets: Mapping[str, str]) -> str:
    """Take the values of secrets out of a text, longest first, and say which were there."""
    for name, value in sorted(secrets.items(), key=lambda item: -len(item[1])):
        if _is_telling(value) and value in text:
            text = text.replace(value, f"[value of {name} removed]")
    return text


class Seen(NamedTuple):
    """The environment at one moment: what commands get, and the secrets whose values no output may show."""

    for_commands: dict[str, str]
    secrets: dict[str, str]


class Surroundings:
    """What of this process's environment tools may see.

    `keep` names secrets that commands get all the same, `named` secrets that their names do not tell.
    """

    def __init__(
        self, environ: Mapping[str, str] = os.environ, keep: Collection[str] = (), named: Collection[str] = ()
    ) -> None:
        self._environ = environ
        self._keep = frozenset(keep)
        self._named = frozenset(named)
        self._held: dict[str, str] = {}
        self._seen = Seen({}, {})

    def look(self) -> Seen:
        """Give what may be seen now; not to be changed. Reading the environment costs most of it, so look once.

        What follows from the environment is worked out anew only when it has changed.
        """
        held = dict(self._environ.items())
        if held != self._held:
            found = {name: value for name, value in secrets_of(held, self._named).items() if name not in self._keep}
            allowed = {name: value for name, value in held.items() if name not in found}
            self._seen = Seen(allowed, {name: value for name, value in found.items() if _is_telling(value)})
            self._held = held
        return self._seen
