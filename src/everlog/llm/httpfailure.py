"""From what an HTTP API answered, or failed to answer, to a `ModelFailure`: the same for every protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from everlog.llm.catalogue import Provider
from everlog.llm.failure import (
    AUTH,
    BAD_REQUEST,
    CONTENT_FILTER,
    CONTEXT_OVERFLOW,
    NOT_FOUND,
    PROTOCOL,
    QUOTA,
    RATE_LIMIT,
    SERVER,
    TIMEOUT,
    TRANSPORT,
    ModelFailure,
)
from everlog.llm.keys import key_variable

_OVERFLOW = re.compile(
    r"context[_ ](length|size|window)|maximum context|prompt is too long|input is too long|too many (input )?tokens"
    r"|exceed_context_size|request_too_large|maximum (prompt|input) length|reduce the length of the (messages|prompt)",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient balance|credit balance", re.IGNORECASE
)
_FILTER = re.compile(r"content_filter|content_policy|content management policy", re.IGNORECASE)
_HTML = re.compile(r"^\s*(<!doctype html|<html)", re.IGNORECASE)
_LONGEST = 500


@dataclass(frozen=True)
class Endpoint:
    """Whom an adapter talks to, as far as messages about failures need to know.

    `secrets` are the values that must never stand in such a message, even when the provider says them back.
    """

    provider: str
    url: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key_hint: str = ""
    """How to give a key, as the end of a sentence."""

    def clean(self, text: str) -> str:
        """Give text on one line, not too long, without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        line = " ".join(text.split())
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def endpoint_of(provider: str, known: Provider, key: str | None, headers: Mapping[str, str]) -> Endpoint:
    """Give the endpoint of a provider of the catalogue. A value is taken for a secret when it is long enough."""
    variable = key_variable(provider, known.key_env)
    secrets = tuple(value for value in (key, *headers.values()) if value and len(value) >= 8)
    return Endpoint(provider, known.base_url, secrets, f"set {variable}, or run: everlog auth set {provider}")


def from_status(
    endpoint: Endpoint, model: str, status: int, headers: Mapping[str, str], body: object, text: str
) -> ModelFailure:
    """Give the failure for an answer with an error status. `body` is the decoded JSON, if it is any."""
    said = endpoint.clean(_said(body, text))
    code = _code(status, f"{said} {body if isinstance(body, dict) else ''}")
    delay = retry_after_ms(headers)
    return ModelFailure(
        _sentence(endpoint, model, code, status, said, delay),
        code,
        status=status,
        retry_after_ms=delay,
        request_id=headers.get("x-request-id") or headers.get("request-id"),
    )


def from_stream_error(endpoint: Endpoint, model: str, body: object, text: str) -> ModelFailure:
    """Give the failure for an error that came inside a stream which had begun well."""
    said = endpoint.clean(_said(body, text))
    error = body.get("error", body) if isinstance(body, dict) else None
    words = [str(error[key]) for key in ("type", "code") if key in error] if isinstance(error, dict) else []
    status = next((int(word) for word in words if re.fullmatch("[45][0-9][0-9]", word)), None)
    named = next((_STATUS_OF[word] for word in words if word in _STATUS_OF), 500)
    code = _code(status or named, f"{said} {' '.join(words)}")
    return ModelFailure(_sentence(endpoint, model, code, status, said, None), code, status=status)


_STATUS_OF = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
}
"""What the types and codes of errors mean that come without a status; any other is a failure of the server."""


def unreachable(endpoint: Endpoint, error: BaseException) -> ModelFailure:
    """Give the failure for a connection that did not come about, or broke."""
    reason = endpoint.clean(_root_cause(error))
    return ModelFailure(f"{endpoint.provider} cannot be reached at {endpoint.url}, or broke off: {reason}", TRANSPORT)


def timed_out(endpoint: Endpoint) -> ModelFailure:
    """Give the failure for a connection that did not answer in time."""
    return ModelFailure(f"{endpoint.provider} did not answer in time at {endpoint.url}", TIMEOUT)


def not_a_stream(endpoint: Endpoint, status: int, content_type: str, text: str) -> ModelFailure:
    """Give the failure for a good status with something else than the stream that was asked for."""
    if "html" in content_type or _HTML.match(text):
        return ModelFailure(
            f"{endpoint.provider} answered with a web page instead of an API (status {status}): check its base_url, "
            f"{endpoint.url}",
            NOT_FOUND,
            status=status,
        )
    said = endpoint.clean(text) or "nothing"
    return ModelFailure(
        f"{endpoint.provider} answered with {content_type or 'no content type'} instead of a stream: {said}",
        PROTOCOL,
        status=status,
    )


def malformed(endpoint: Endpoint, error: BaseException) -> ModelFailure:
    """Give the failure for a stream whose events cannot be read."""
    return ModelFailure(f"{endpoint.provider} sent an event that is not JSON: {endpoint.clean(str(error))}", PROTOCOL)


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """Give the delay that a provider asks for, in milliseconds, from the headers that say it; None when none does."""
    precise = headers.get("retry-after-ms")
    if precise is not None and (value := _number(precise)) is not None:
        return max(0, round(value))
    said = headers.get("retry-after")
    if said is None:
        return None
    if (value := _number(said)) is not None:
        return max(0, round(value * 1000))
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0, round((until - datetime.now(UTC)).total_seconds() * 1000))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def _code(status: int, said: str) -> str:
    if status in (401, 403):
        return AUTH
    if status != 429 and (status == 413 or _OVERFLOW.search(said)):
        return CONTEXT_OVERFLOW
    if _QUOTA.search(said) or status == 402:
        return QUOTA
    if _FILTER.search(said):
        return CONTENT_FILTER
    known = {404: NOT_FOUND, 405: NOT_FOUND, 408: TIMEOUT, 429: RATE_LIMIT}
    if status in known:
        return known[status]
    return SERVER if status >= 500 or status in (409, 425) else BAD_REQUEST


def _sentence(endpoint: Endpoint, model: str, code: str, status: int | None, said: str, delay: int | None) -> str:
    name = endpoint.provider
    number = f" ({status})" if status else ""
    match code:
        case "AUTH":
            start, end = f"{name} refused the key{number}", endpoint.key_hint
        case "NOT_FOUND":
            start = f"{name} knows no model {model!r}, or {endpoint.url} is not its API{number}"
            end = ""
        case "RATE_LIMIT":
            start = f"{name} asks to slow down{number}"
            end = f"it asks to wait {delay / 1000:g} s" if delay is not None else ""
        case "CONTEXT_OVERFLOW":
            start, end = f"the request is too long for {name}/{model}{number}", ""
        case "QUOTA":
            start, end = f"the account at {name} has nothing left{number}", ""
        case "SERVER":
            start, end = f"{name} failed{number}", ""
        case _:
            start, end = f"{name} refused the request{number}", ""
    return start + (f": {said}" if said else "") + (f"; {end}" if end else "")


def _said(body: object, text: str) -> str:
    """Give what the provider says about the failure; a web page says nothing."""
    if isinstance(body, dict):
        error = body.get("error", body)
        if isinstance(error, str):
            return error
        if isinstance(error, dict):
            message = error.get("message") or error.get("detail") or error.get("msg")
            return str(message) if message else str(error)
    return "a web page, not an API's answer" if _HTML.match(text) else text


def _root_cause(error: BaseException) -> str:
    """Give the innermost reason, which says more than the wrappings of HTTP libraries."""
    seen = error
    while (cause := seen.__cause__ or seen.__context__) is not None:
        seen = cause
    return str(seen) or type(seen).__name__
