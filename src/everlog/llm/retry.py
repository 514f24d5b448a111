"""Policies for a failed attempt: the same route again after a while, or another route.

Both answer the hook `RETRY`; the loop logs what they answer, waits, and asks again. How long to wait and when to
give up are tenacity's strategies, asked one by one: the loop owns the attempts, since each is in the log.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from everlog.errors import EverlogError
from everlog.kernel import Context, plugin
from everlog.llm.failure import AUTH, CONTENT_FILTER, NOT_FOUND, QUOTA, RETRYABLE
from everlog.llm.models import Models
from everlog.llm.seam import RETRY, FailedAttempt, Retry

if TYPE_CHECKING:
    from tenacity import RetryCallState

_log = logging.getLogger("everlog.llm")

ELSEWHERE = RETRYABLE | {AUTH, NOT_FOUND, QUOTA, CONTENT_FILTER}
"""The codes for which another route may succeed where this one did not."""


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[plugin.retry]`.

    Attributes:
        attempts: how many tries a route gets in one step.
        first_wait: seconds before the second try; each later wait is twice as long.
        longest_wait: seconds that no wait of this policy's own exceeds.
        jitter: up to how many seconds are added by chance, so that many agents do not come back at once.
        longest_asked: seconds; a provider that asks for a longer wait is not asked again.
    """

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    jitter: float = 1.0
    longest_asked: float = 300.0


class RetryPolicy:
    """Exponential backoff that heeds the provider's delay."""

    def __init__(self, settings: RetrySettings) -> None:
        self._settings = settings

    async def decide(self, failed: FailedAttempt) -> Retry | None:
        """Say when to try the same route again; None for never."""
        failure, asked = failed.failure, failed.failure.retry_after_ms or 0
        if not failure.retryable or asked > self._settings.longest_asked * 1000:
            return None
        state = self._state(failed)
        if self._stop(state):
            return None
        return Retry(delay_ms=max(asked, round(self._wait(state) * 1000)))

    def _state(self, failed: FailedAttempt) -> RetryCallState:
        """Give what tenacity's strategies look at: how many tries this route has had in the step."""
        from tenacity import RetryCallState, Retrying

        state = RetryCallState(Retrying(), None, (), {})
        state.attempt_number = failed.tried.count(failed.route.name)
        return state

    @cached_property
    def _stop(self) -> Callable[[RetryCallState], bool]:
        from tenacity import stop_after_attempt

        return stop_after_attempt(self._settings.attempts)

    @cached_property
    def _wait(self) -> Callable[[RetryCallState], float]:
        from tenacity import wait_exponential_jitter

        settings = self._settings
        return wait_exponential_jitter(
            multiplier=settings.first_wait, max=settings.longest_wait, jitter=settings.jitter
        )


@plugin()
async def retry(ctx: Context) -> AsyncIterator[None]:
    """Tries a failed request again, after a wait that grows and heeds the provider's."""
    ctx.on(RETRY, RetryPolicy(ctx.settings(RetrySettings)).decide)
    yield


class FallbackSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[plugin.fallback]`.

    Attributes:
        routes: by the name of a model, the one to go on with when it fails for good: `"a/x" = "b/y"`.
    """

    routes: dict[str, str] = {}


class FallbackPolicy:
    """Goes on with another route; never with one that this step has tried."""

    def __init__(self, settings: FallbackSettings, models: Models) -> None:
        self._routes = settings.routes
        self._models = models

    async def decide(self, failed: FailedAttempt) -> Retry | None:
        """Give the route to go on with, at once; None when there is none."""
        name = self._routes.get(failed.route.name)
        if name is None or name in failed.tried or failed.failure.code not in ELSEWHERE:
            return None
        try:
            return Retry(delay_ms=0, route=self._models.resolve(name))
        except EverlogError as error:
            _log.warning("no fallback for %s: %s", failed.route.name, error)
            return None


@plugin(requires=(Models,))
async def fallback(ctx: Context) -> AsyncIterator[None]:
    """Goes on with another model where one fails for good."""
    # Behind every other policy: the same route comes first, as long as it may succeed.
    ctx.on(RETRY, FallbackPolicy(ctx.settings(FallbackSettings), ctx[Models]).decide, order=100)
    yield
