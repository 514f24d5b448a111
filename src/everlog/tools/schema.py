"""JSON schemas from ordinary signatures and docstrings, and arguments checked against them.

The parameters of a function become a schema: types from its annotations, descriptions from its docstring
(Google, NumPy or reST style). A model's arguments are checked one by one, so that a refusal names everything
that is wrong at once, in words from which the model can mend its call.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast, get_type_hints

import docstring_parser
import msgspec

from everlog.session.jsonvalue import JSON, JSONObject, decode
from everlog.tools.seam import Arguments, ArgumentsInvalid, ToolContext


@dataclass(frozen=True)
class Parameter:
    """One parameter that the model fills in."""

    name: str
    type: Any
    description: str
    required: bool
    schema: JSONObject


@dataclass(frozen=True)
class Signature:
    """What a function's signature and docstring say to a model.

    Attributes:
        description: the docstring without its parameter sections.
        parameters: what the model fills in, in order.
        context: the name of the parameter that gets the `ToolContext`, or None.
    """

    description: str
    parameters: tuple[Parameter, ...]
    context: str | None

    def schema(self) -> JSONObject:
        """Give the JSON schema of the arguments."""
        required: list[JSON] = [parameter.name for parameter in self.parameters if parameter.required]
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            "required": required,
            "additionalProperties": False,
        }

    def check(self, given: JSONObject) -> Arguments:
        """Turn a model's JSON object into arguments of the function.

        A number or boolean that is written as a string is read as what it says. Raises ArgumentsInvalid, with
        one line for each thing that is wrong.
        """
        arguments: Arguments = {}
        wrong = [self._unknown(name) for name in given if name not in {p.name for p in self.parameters}]
        for parameter in self.parameters:
            if parameter.name not in given:
                if parameter.required:
                    wrong.append(f"`{parameter.name}` is missing: {_told(parameter)}")
                continue
            try:
                value = msgspec.convert(given[parameter.name], parameter.type, strict=False)
            except msgspec.ValidationError as error:
                wrong.append(f"`{parameter.name}`{_place(str(error))}; it is {_told(parameter)}")
            else:
                arguments[parameter.name] = value
        if wrong:
            raise ArgumentsInvalid("The arguments do not fit. " + " ".join(f"{line}." for line in wrong))
        return arguments

    def _unknown(self, name: str) -> str:
        names = [parameter.name for parameter in self.parameters]
        near = difflib.get_close_matches(name, names, n=1)
        meant = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(f'`{n}`' for n in names) or 'none'}"
        return f"`{name}` is no parameter; {meant}"


def read_signature(function: Callable[..., object]) -> Signature:
    """Give what a function says to a model.

    Raises:
        TypeError: a parameter has no annotation, takes any number of values, or has a type without a schema.
    """
    hints = get_type_hints(function, include_extras=True)
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    told = {parameter.arg_name: (parameter.description or "").strip() for parameter in doc.params}
    context, parameters = None, []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or name not in hints:
            raise TypeError(f"tool {function.__name__}: parameter {name} needs a name and an annotation of its own")
        if hints[name] is ToolContext:
            context = name
        else:
            parameters.append(_parameter(name, hints[name], parameter.default, told.get(name, "")))
    return Signature(_description(doc), tuple(parameters), context)


def _description(doc: docstring_parser.Docstring) -> str:
    return "\n\n".join(part for part in (doc.short_description, doc.long_description) if part)


def _parameter(name: str, type: Any, default: object, description: str) -> Parameter:
    required = default is inspect.Parameter.empty
    description = " ".join(description.split())
    schema = _inlined(type)
    if default is None:
        schema = _without_null(schema)
    elif not required:
        schema["default"] = cast(JSON, msgspec.to_builtins(default))
    if description:
        schema["description"] = description
    return Parameter(name, type, description, required, schema)


def _inlined(type: Any) -> JSONObject:
    """Give the schema of a type without references, which not every provider follows."""
    try:
        (schema,), definitions = msgspec.json.schema_components([type])
    except TypeError as error:
        raise TypeError(f"{type}: {error}") from None
    return cast(JSONObject, _resolved(schema, definitions, ()))


def _resolved(part: Any, definitions: dict[str, Any], above: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_resolved(item, definitions, above) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name in above:
            raise TypeError(f"{name} holds itself; a tool's parameters are finite")
        return _resolved(definitions[name], definitions, (*above, name))
    made = {key: _resolved(value, definitions, above) for key, value in part.items() if key != "title"}
    if isinstance(part.get("properties"), dict):  # a property may be called "title"
        made["properties"] = {key: _resolved(value, definitions, above) for key, value in part["properties"].items()}
    if "enum" in made and all(isinstance(value, str) for value in made["enum"]):
        made = {"type": "string", **made}
    return made


def _without_null(schema: JSONObject) -> JSONObject:
    """Leave null out of an optional parameter: a model leaves the parameter out instead."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    rest = [option for option in options if option != {"type": "null"}]
    only = rest[0] if len(rest) == 1 else None
    return dict(only) if isinstance(only, dict) else {**schema, "anyOf": rest}


def _told(parameter: Parameter) -> str:
    kind = parameter.schema.get("type", "a value")
    kind = "optional " + str(kind) if not parameter.required else str(kind)
    return f"{kind}, {parameter.description.rstrip('.')}" if parameter.description else kind


def _place(message: str) -> str:
    """Give a msgspec message as the rest of a sentence about the parameter: place within it, then what is wrong."""
    problem, _, path = message.partition(" - at `$")
    inner = re.sub(r"`$", "", path)
    return f" at `{inner}`: {problem}" if inner else f": {problem}"


def parse_arguments(raw: str) -> JSONObject:
    """Give the JSON object that a model's raw arguments hold; empty text is an object without keys.

    Raises:
        ArgumentsInvalid: they are not JSON, or JSON of another kind.
    """
    if not raw.strip():
        return {}
    try:
        value = decode(raw)
    except ValueError as error:
        raise ArgumentsInvalid(
            f"The arguments are not valid JSON: {error}. Send one JSON object, with keys in double quotes."
        ) from None
    if not isinstance(value, dict):
        raise ArgumentsInvalid(
            f"The arguments are JSON, but {_kind(value)} instead of an object. Send one JSON object."
        )
    return value


def _kind(value: JSON) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "a number"
