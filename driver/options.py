"""
Passes and their options as text: what stands on a command line, in a pipeline string and in a RUN line.

    --l2-fusion="l2-size=32, target=910B1"        a flag of ge-opt; options separated by spaces or commas
    -p "constant-folding,l2-fusion{l2-size=32}"   xDSL's pipelines; the same options between braces
    tile=1,2,3  note="two words"  verbose         a tuple, quotes where a value holds spaces or commas, a bare switch

`l2_size` and `l2-size` are one name. Values take the type of the pass's field: a whole number is a float too.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.utils.exceptions import ArgSpecParseError

from ..dialects.ge.errors import UsageError
from .diagnostics import did_you_mean, one_line

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from .registry import Registry


@dataclass(frozen=True)
class PassRequest:
    """
    A pass as it was asked for.

    name    in any spelling
    text    its options as typed
    values  further options by name, as a configuration file or an environment variable gives them
    """

    name: str
    text: str = ""
    values: Mapping[str, object] = field(default_factory=dict[str, object])


_OPTION = re.compile(r'([A-Za-z_][\w-]*)(?:=((?:"(?:\\.|[^"\\])*"|[^\s,"])*))?(?=[\s,]|$)')
_ELEMENT = re.compile(r'((?:"(?:\\.|[^"\\])*"|[^\s,="])+)(?=[\s,]|$)')
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_GAP = re.compile(r"[\s,]+")


def parse_options(text: str, kinds: Mapping[str, Any]) -> dict[str, str | None]:
    """
    `l2-size=32 target=x` as {"l2_size": "32", "target": "x"}; None for a bare option.

    kinds   the pass's options: after one that is a list or a text, `a,b` without `=` goes on with its value,
            unless it is an option's name
    raises  ValueError: what cannot be read, or an option twice
    """
    options: dict[str, str | None] = {}
    last, at = "", 0
    while at < len(text):
        gap = _GAP.match(text, at)
        if gap:
            at = gap.end()
            continue
        element = _ELEMENT.match(text, at)
        if element and "," in text[:at][-1:] and _key(element[1]) not in kinds and _goes_on(kinds.get(last)):
            options[last] = f"{options[last] or ''},{element[1]}"
            at = element.end()
            continue
        option = _OPTION.match(text, at)
        if not option:
            raise ValueError(f"cannot read the options at '{text[at:]}'; write name=value name=value")
        last = _key(option[1])
        if last in options:
            raise ValueError(f"option '{_shown(last)}' is given twice")
        options[last] = option[2]
        at = option.end()
    return options


def parse_pipeline(text: str) -> Iterator[PassRequest | ModulePass]:
    """
    The passes of an xDSL pipeline string, in order; `mlir-opt[...]` comes as xDSL's own pass.

    raises  UsageError: what cannot be read
    """
    for element in _elements(text):
        name, brace, rest = element.partition("{")
        if "[" in name:
            yield _mlir_opt(element)
        elif brace and not rest.endswith("}"):
            raise UsageError(f"-p: '{element}' lacks its closing brace")
        elif not re.fullmatch(r"[\w.-]+", name.strip()):
            raise UsageError(f"-p: cannot read '{element}'; write pass,pass{{option=value option=value}}")
        else:
            yield PassRequest(name.strip(), rest[:-1])


def build(request: PassRequest, registry: Registry) -> ModulePass:
    """
    The pass that `request` asks for, its options checked and converted to the types of its fields.

    raises  UsageError, naming the pass, the option and what is allowed
    """
    entry = registry.require(request.name)
    cls = entry.load()
    kinds = option_types(cls)
    try:
        texts = parse_options(request.text, kinds)
        texts.update((_key(name), written(value)) for name, value in request.values.items())
        for name in texts.keys() - kinds.keys():
            raise UsageError(f"pass '{entry.name}' has no option '{_shown(name)}'; {_has(name, kinds)}")
        values = {name: _value(name, text, kinds) for name, text in texts.items()}
        for f in dataclasses.fields(cls):
            if f.name in kinds and f.name not in values and _has_no_default(f):
                if types.NoneType not in get_args(kinds[f.name]):
                    raise ValueError(f"needs the option '{_shown(f.name)}'")
                values[f.name] = None  # as xDSL has it: nothing given for `X | None` is None
        return cls(**values)
    except ValueError as error:  # ours, or the pass's own bounds
        raise UsageError(f"pass '{entry.name}': {one_line(error)}") from None


def option_types(cls: type[ModulePass]) -> dict[str, Any]:
    """The options of a pass class: name in snake case -> type."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls) if f.init and f.name != "name"}


def _has(name: str, kinds: Mapping[str, Any]) -> str:
    names = [_shown(known) for known in kinds]
    return f"it has {', '.join(names)}{did_you_mean(_shown(name), names)}" if names else "it has none"


def _value(name: str, text: str | None, kinds: Mapping[str, Any]) -> Any:
    try:
        return convert(text, kinds[name])
    except ValueError as error:
        raise ValueError(f"option '{_shown(name)}' {error}") from None


def convert(text: str | None, kind: Any) -> Any:
    """
    `text` as a value of the type `kind`; None is a bare option.

    raises  ValueError: "must be <what>, got '<text>'"
    """
    if get_origin(kind) in (Union, types.UnionType):
        return _convert_union(text, kind)
    if kind is bool:
        return _convert_bool(text)
    if text is None:
        raise ValueError(f"must be {expected(kind)}, but no value is given")
    if get_origin(kind) is tuple:
        return _convert_tuple(text, kind)

    plain = _unquoted(text)
    if get_origin(kind) is Literal:
        for allowed in get_args(kind):
            if plain == str(allowed):
                return allowed
    elif kind is str:
        return plain
    elif kind is int and re.fullmatch(r"[-+]?\d+", plain):
        return int(plain)
    elif kind is float and _FLOAT.fullmatch(plain) and math.isfinite(float(plain)):
        return float(plain)
    raise ValueError(f"must be {expected(kind)}, got '{plain}'")


def expected(kind: Any) -> str:
    """What a value of the type `kind` is, in words."""
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join("none" if part is types.NoneType else expected(part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(allowed) for allowed in get_args(kind))
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        if len(parts) == 2 and parts[1] is ...:
            return f"a list (a,b,c), each {expected(parts[0])}"
        return f"a list of {len(parts)}, each {expected(parts[0])}"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def flag_of(one: ModulePass) -> str:
    """The pass as a flag of ge-opt, options that differ from their defaults included, quoted for a shell."""
    parts: list[str] = []
    for f in dataclasses.fields(one):
        value = getattr(one, f.name)
        if not f.init or f.name == "name" or value == _default(f):
            continue
        parts.append(f"{_shown(f.name)}={written(value)}")
    if not parts:
        return f"--{one.name}"
    quote = "'" if any('"' in part for part in parts) else '"'
    return f"--{one.name}={quote}{' '.join(parts)}{quote}"


def _convert_union(text: str | None, kind: Any) -> Any:
    parts = get_args(kind)
    if types.NoneType in parts and (text is None or _unquoted(text).lower() == "none"):
        return None
    problem = ValueError(f"must be {expected(kind)}, got '{text}'")
    for part in sorted((p for p in parts if p is not types.NoneType), key=lambda p: p is str):
        try:
            return convert(text, part)
        except ValueError:
            continue
    raise problem


def _convert_bool(text: str | None) -> bool:
    words = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
    if text is None:
        return True
    if text.lower() not in words:
        raise ValueError(f"must be true or false, got '{text}'")
    return words[text.lower()]


def _convert_tuple(text: str, kind: Any) -> tuple[Any, ...]:
    parts = get_args(kind)
    elements = re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,"])+', text)
    if len(parts) == 2 and parts[1] is ...:
        parts = (parts[0],) * len(elements)
    if len(parts) != len(elements):
        raise ValueError(f"must be {expected(kind)}, got '{text}'")
    return tuple(convert(element, part) for element, part in zip(elements, parts, strict=True))


def _elements(text: str) -> Iterator[str]:
    """`text` cut at the commas that stand outside braces, brackets and quotes."""
    start, depth, quoted = 0, 0, False
    for at, letter in enumerate(text):
        if letter == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted and letter in "{[":
            depth += 1
        elif not quoted and letter in "}]":
            depth -= 1
        elif not quoted and letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def _mlir_opt(element: str) -> ModulePass:
    from xdsl.transforms.mlir_opt import MLIROptPass
    from xdsl.utils.arg_spec import parse_spec

    try:
        return MLIROptPass.from_spec(parse_spec(element))
    except (ArgSpecParseError, ValueError) as error:  # the first is a BaseException
        raise UsageError(f"-p: cannot read '{element}': {one_line(error)}") from None


def _has_no_default(f: dataclasses.Field[Any]) -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def _default(f: dataclasses.Field[Any]) -> Any:
    if f.default_factory is not dataclasses.MISSING:
        return f.default_factory()
    return f.default


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def written(value: object) -> str:
    """`value` as the text of an option."""
    if isinstance(value, tuple | list):
        return ",".join(written(v) for v in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, bool):
        return str(value).lower()
    text = "none" if value is None else str(value)
    if isinstance(value, str) and (not text or re.search(r'[\s,"={}\\]', text)):
        return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
    return text


def _goes_on(kind: Any) -> bool:
    """Whether a value of this type may hold commas."""
    return kind is str or get_origin(kind) is tuple or any(_goes_on(part) for part in get_args(kind))


def _key(name: str) -> str:
    return name.replace("-", "_")


def _shown(name: str) -> str:
    return name.replace("_", "-")
