"""`@tool`: an ordinary function becomes a `Tool`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import overload

from everlog.session.jsonvalue import NotJSON, encode
from everlog.session.messages import Text
from everlog.session.views import View
from everlog.tools.schema import Signature, read_signature
from everlog.tools.seam import Arguments, Effects, Probe, Tool, ToolContext, ToolFailure, ToolOutput, output
from everlog.tools.threads import in_thread

Function = Callable[..., object]


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    effects: Effects = "mutating",
    parallel_safe: bool = False,
    timeout: float | None = None,
    paths: Sequence[str] = (),
    subject: str | None = None,
    network: bool = False,
    probe: Probe | None = None,
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    effects: Effects = "mutating",
    parallel_safe: bool = False,
    timeout: float | None = None,
    paths: Sequence[str] = (),
    subject: str | None = None,
    network: bool = False,
    probe: Probe | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: its name, docstring and annotations are what the model is told.

        @tool(effects="read-only", parallel_safe=True)
        def word_count(context: ToolContext, file_path: str) -> str:
            \"\"\"Count the words of a file.

            Args:
                file_path: The file, relative to the workspace.
            \"\"\"

    The function is async, or runs in a thread. A parameter annotated `ToolContext` gets the context. It returns
    text, blocks, a `ToolOutput`, or any other JSON value, and raises `ToolFailure` to say why it could not. The
    keywords are the attributes of `Tool`. Raises TypeError when the signature cannot be told to a model.
    """

    def declare(function: Function) -> Tool:
        signature = read_signature(function)
        return Tool(
            name=name or function.__name__,
            description=signature.description,
            parameters=signature.schema(),
            check=signature.check,
            invoke=functools.partial(_invoke, function, signature),
            effects=effects,
            parallel_safe=parallel_safe,
            timeout=timeout,
            paths=tuple(paths),
            subject=subject,
            network=network,
            probe=probe,
        )

    return declare if function is None else declare(function)


async def _invoke(function: Function, signature: Signature, context: ToolContext, arguments: Arguments) -> ToolOutput:
    if signature.context is not None:
        arguments = {**arguments, signature.context: context}
    if inspect.iscoroutinefunction(function):
        return as_output(await function(**arguments))
    return as_output(await in_thread(functools.partial(function, **arguments), context.cancelled))


def as_output(value: object) -> ToolOutput:
    """Give what a tool returned as an output: text as it is, blocks in order, other values as JSON text.

    Raises:
        ToolFailure: the value is none of these, with the place of what JSON cannot hold.
    """
    match value:
        case ToolOutput():
            return value
        case None:
            return output("Done.")
        case str():
            return output(value)
        case View():
            return ToolOutput((value,))  # type: ignore[arg-type]
        case list() | tuple() if value and all(isinstance(item, View) for item in value):
            return ToolOutput(tuple(value))
    try:
        return ToolOutput((Text(text=encode(value).decode()),))
    except NotJSON as error:
        raise ToolFailure(
            f"The tool ran, but what it returned is not JSON: {error}", code="TOOL_RESULT_INVALID"
        ) from None
