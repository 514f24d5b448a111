"""Keys: from the environment, or from the system's keyring. They are never stored in a session or a log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from everlog.errors import EverlogError

SERVICE = "everlog"
"""The service under which the keyring holds keys; the user name is the provider's."""

Source: TypeAlias = Literal["environment", "keyring"]


class KeyringUnavailable(EverlogError):
    """The system's keyring cannot be used. The text says why, and what to do instead."""


def key_variable(provider: str, key_env: str = "") -> str:
    """Give the name of the environment variable that holds a provider's key."""
    return key_env or f"{provider.upper().replace('-', '_')}_API_KEY"


def find_key(
    provider: str, variable: str, environ: Mapping[str, str] | None = None
) -> tuple[str, Source] | tuple[None, None]:
    """Give a provider's key and where it comes from; the environment comes first."""
    found = (os.environ if environ is None else environ).get(variable, "").strip()
    if found:
        return found, "environment"
    try:
        kept = read_keyring(provider)
    except KeyringUnavailable:
        kept = None
    return (kept, "keyring") if kept else (None, None)


def read_keyring(provider: str) -> str | None:
    """Give the key that the keyring holds for a provider, or None. Raises KeyringUnavailable."""
    keyring, errors = _keyring()
    try:
        found = keyring.get_password(SERVICE, provider)
    except errors.KeyringError as error:
        raise _unavailable(error) from None
    return str(found) if found else None


def write_keyring(provider: str, key: str) -> None:
    """Have the keyring hold a provider's key. Raises KeyringUnavailable."""
    keyring, errors = _keyring()
    try:
        keyring.set_password(SERVICE, provider, key)
    except errors.KeyringError as error:
        raise _unavailable(error) from None


def delete_from_keyring(provider: str) -> bool:
    """Have the keyring forget a provider's key; tell whether it held one. Raises KeyringUnavailable."""
    keyring, errors = _keyring()
    try:
        if keyring.get_password(SERVICE, provider) is None:
            return False
        keyring.delete_password(SERVICE, provider)
    except errors.KeyringError as error:
        raise _unavailable(error) from None
    return True


def _keyring() -> tuple[Any, Any]:
    """Import the library when it is first needed: it looks for backends, which takes time."""
    try:
        import keyring
        from keyring import errors
    except ImportError:
        raise KeyringUnavailable("the keyring needs an extra: pip install 'everlog[keyring]'") from None
    return keyring, errors


def _unavailable(error: Exception) -> KeyringUnavailable:
    reason = " ".join(str(error).split()) or type(error).__name__
    return KeyringUnavailable(f"the system's keyring cannot be used ({reason}); set the environment variable instead")
