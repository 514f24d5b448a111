"""The provider `local`: a GGUF file, served within this process by llama.cpp (extra `local`), without any network.

`local/PATH.gguf` loads the file when the first request comes, and serves it on a port of this machine that only
this process has the key of. It speaks chat completions, so that its bodies are made and derived again like those
of any other endpoint. A file is loaded once, however many agents use it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from everlog.kernel import Context, plugin
from everlog.llm.catalogue import in_camel_case
from everlog.llm.failure import NOT_FOUND, ModelFailure
from everlog.llm.guard import Guarded
from everlog.llm.httpfailure import Endpoint
from everlog.llm.models import Models, ProviderUnavailable, UnknownModel
from everlog.llm.openai.chat import ChatAdapter, ChatEncoder
from everlog.llm.openai.connection import OpenAIConnection
from everlog.llm.seam import Route
from everlog.session.jsonvalue import JSONObject
from everlog.session.records import Delta
from everlog.session.request import Request

DIALECT: JSONObject = {
    "developer": "user",
    "maxTokens": "max_tokens",
    "reasoning": "reasoning_content",
    "replay": "turn",
}
"""How llama.cpp differs from others that speak chat completions."""

GGUF = b"GGUF"


class LocalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[plugin.local]`.

    Attributes:
        context: the window of each request in tokens; more of it takes more memory.
        parallel: how many requests are worked on at once.
        threads: of the processor; 0 for what llama.cpp thinks best.
        gpu_layers: how many layers go to a graphics processor, where there is one; -1 for all.
        chat_template: a file with a Jinja template, for models whose own is missing or knows no tools.
        idle_timeout: seconds without a piece of an answer after which a request is given up.
    """

    context: int = 16_384
    parallel: int = 1
    threads: int = 0
    gpu_layers: int = -1
    chat_template: str = ""
    idle_timeout: float = 1800.0


class LocalAdapter(ChatEncoder):
    """One model file, loaded when it is first asked."""

    def __init__(self, path: Path, settings: LocalSettings) -> None:
        self._path = path
        self._settings = settings
        self._loading = asyncio.Lock()
        self._server: Any = None
        self._chat: ChatAdapter | None = None

    async def aclose(self) -> None:
        """Unload the model."""
        chat, self._chat = self._chat, None
        if chat is not None:
            await chat.aclose()
        server, self._server = [self._server], None
        await asyncio.to_thread(server.clear)  # the server ends with the last reference to it, which takes a moment

    async def stream(self, request: Request, body: bytes) -> AsyncIterator[Delta]:
        """Send the body and give the answer as it comes. Raises ModelFailure."""
        async with self._loading:
            chat = self._chat = self._chat or await self._load()
        async for delta in chat.stream(request, body):
            yield delta

    async def _load(self) -> ChatAdapter:
        key = secrets.token_urlsafe(32)
        try:
            self._server = await asyncio.to_thread(_serve, self._path, self._settings, key)
        except Exception as error:  # whatever the library raises
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ModelFailure(f"the model {self._path} cannot be loaded: {reason}", NOT_FOUND) from error
        endpoint = Endpoint("local", f"{self._server.listening_address}/v1", (key,))
        return ChatAdapter(OpenAIConnection(endpoint, key, {}))


def _serve(path: Path, settings: LocalSettings, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = settings.context * settings.parallel
    params.n_parallel = settings.parallel
    params.n_gpu_layers = settings.gpu_layers
    if settings.threads:
        params.cpuparams.n_threads = settings.threads
    if settings.chat_template:
        params.chat_template = Path(settings.chat_template).expanduser().read_text(encoding="utf-8")
    params.use_jinja = True
    params.api_keys = [key]
    params.verbosity = 0
    return xllamacpp.Server(params)


@plugin(requires=(Models,))
async def local(ctx: Context) -> AsyncIterator[None]:
    """Lets `local/PATH.gguf` serve a model file within the process."""
    models, settings = ctx[Models], ctx.settings(LocalSettings)
    loaded: dict[Path, Guarded] = {}

    def route(model: str) -> Route:
        path = _model_file(model)
        if path not in loaded:
            loaded[path] = Guarded(LocalAdapter(path, settings), idle_timeout=settings.idle_timeout)
        facts = models.catalogue.facts("local", model)
        dialect = {**DIALECT, **in_camel_case(facts.dialect)}
        return Route(
            adapter=loaded[path],
            provider="local",
            model=model,
            config={"provider": "local", "model": model, "dialect": dialect, **in_camel_case(facts.options)},
            context_window=settings.context,
        )

    ctx.at_end(models.add_provider("local", route))
    yield
    for adapter in loaded.values():
        await adapter.aclose()


def _model_file(model: str) -> Path:
    """Give the file of a model. Raises UnknownModel, or ProviderUnavailable when the extra is missing."""
    path = Path(model).expanduser().absolute()
    try:
        with path.open("rb") as file:
            is_model = file.read(len(GGUF)) == GGUF
    except OSError as error:
        raise UnknownModel(f"local/{model}", f"{error.strerror or error}", ["local/PATH-OF-A-GGUF-FILE"]) from None
    if not is_model:
        raise UnknownModel(f"local/{model}", "that is no GGUF file", ["local/PATH-OF-A-GGUF-FILE"])
    if find_spec("xllamacpp") is None:
        raise ProviderUnavailable("provider local needs an extra: pip install 'everlog[local]'")
    return path
