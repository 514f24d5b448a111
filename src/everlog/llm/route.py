"""A route: a model ready to be asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from everlog.llm.adapter import Adapter
from everlog.session.jsonvalue import JSONObject
from everlog.session.payloads import RequestHeader
from everlog.session.views import json_raw


@dataclass(frozen=True)
class Route:
    """A model ready to be asked.

    An agent keeps its route for as long as it uses the model: an adapter may hold a connection or a position.
    """

    adapter: Adapter
    provider: str
    """The first part of the name it was resolved by."""
    model: str
    """The rest of the name: the model as the provider knows it."""
    config: JSONObject
    """What goes into the request header's `config`: provider, model and every option that shapes the body."""
    context_window: int | None = None
    """The capacity in tokens, when it is known."""
    adapter_defaults: JSONObject | None = None
    """Which options of `config` the adapter filled in by itself, as `{option: true}`."""
    notice: str | None = None
    """One line that a face shows when the route is taken: a script answers, tools run live in a rerun."""

    @property
    def name(self) -> str:
        """Give `provider/model`."""
        return f"{self.provider}/{self.model}"

    def header(self, tools: Iterable[dict[str, Any]] = ()) -> RequestHeader:
        """Make the request header for this route with these tools, `{name, description, parameters}` each."""
        offered = list(tools)
        header: dict[str, Any] = {"config_json": json_raw(self.config)}
        if self.adapter_defaults:
            header["adapter_defaults_json"] = json_raw(self.adapter_defaults)
        if offered:
            header["tools_json"] = json_raw(offered)
        return RequestHeader(**header)
