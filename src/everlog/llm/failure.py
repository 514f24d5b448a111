"""What goes wrong on the way to a model and back, as one error with a code."""

from __future__ import annotations

from typing import Final

from everlog.errors import EverlogError
from everlog.session.jsonvalue import scrub
from everlog.session.payloads import Failure

RATE_LIMIT: Final = "RATE_LIMIT"
"""The provider asks to slow down."""
QUOTA: Final = "QUOTA"
"""The account has nothing left; waiting does not help."""
AUTH: Final = "AUTH"
"""The key is missing, wrong, or not allowed to do this."""
NOT_FOUND: Final = "NOT_FOUND"
"""The provider knows no such model, or the address is not an API."""
BAD_REQUEST: Final = "BAD_REQUEST"
"""The provider, or the adapter, refuses this request as it stands."""
CONTEXT_OVERFLOW: Final = "CONTEXT_OVERFLOW"
"""The request is longer than the model's window. One code, however a provider says it."""
CONTENT_FILTER: Final = "CONTENT_FILTER"
"""The provider refuses the content."""
SERVER: Final = "SERVER"
"""The provider failed or is overloaded."""
TRANSPORT: Final = "TRANSPORT"
"""The connection failed, or ended before the answer did."""
TIMEOUT: Final = "TIMEOUT"
"""Nothing came for too long."""
EMPTY_RESPONSE: Final = "EMPTY_RESPONSE"
"""The answer ended well and held nothing."""
PROTOCOL: Final = "PROTOCOL"
"""What came is not what the protocol says."""

RETRYABLE: Final = frozenset({RATE_LIMIT, SERVER, TRANSPORT, TIMEOUT, EMPTY_RESPONSE, PROTOCOL})
"""The codes for which the same request may succeed a little later."""


class ModelFailure(EverlogError):
    """A request that gave no answer.

    Attributes:
        code: one of the codes of this module, for programs.
        status: the HTTP status, when there was one.
        retry_after_ms: how long the provider asks to wait, in milliseconds.
        request_id: the provider's name for the request, for its support.
    """

    def __init__(
        self,
        message: str,
        code: str,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(scrub(message))
        self.code = code
        self.status = status
        self.retry_after_ms = retry_after_ms
        self.request_id = request_id

    @property
    def message(self) -> str:
        """Give the one line for people."""
        return str(self)

    @property
    def retryable(self) -> bool:
        """Tell whether the same request may succeed a little later."""
        return self.code in RETRYABLE

    def to_payload(self) -> Failure:
        """Give the failure as the log keeps it."""
        return Failure(
            message=self.message,
            code=self.code,
            status=self.status,
            provider_retry_after_ms=self.retry_after_ms,
            request_id=self.request_id,
        )
