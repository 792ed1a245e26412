"""
Ops that are told apart by hand: by node, by type, or in ATC's file.

    [ByOpType]
    Gelu = high_precision          stays as it is
    [ByNodeName]
    /encoder/MatMul_3 = keep_fp16  computes in the narrow type, whatever the mode says of it

Lines before the first section are types, as older versions of ATC have them. `#` and `;` begin a comment. Another file
has only what stays, a line each:

    /encoder/MatMul_3
    OpType::Gelu
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from xdsl.ir import Operation

from ...dialects.ge.errors import UsageError, node_name
from ..fusion.names import did_you_mean, resolve, type_of

Colour: TypeAlias = Literal["black", "white", "gray"]
"""Stays, is converted whatever it reads, or is converted with what it reads."""

WORDS = {
    "high_precision": False,
    "enable_float_32_execution": False,
    "high_performance": True,
    "super_performance": True,
    "keep_fp16": True,
}
"""ATC's word -> whether the op computes in the narrow type."""

OTHERS = {
    "enable_hi_float_32_execution": "HF32 is a format of Huawei's chips",
    "support_out_of_bound_index": "indices are not checked, whatever an op's precision",
}
"""ATC's words that mean nothing here, and why."""

SECTIONS = ("ByOpType", "ByNodeName")

OF_TYPE = "OpType::"
"""What a type begins with in the file that names only what stays."""


@dataclass
class KeepList:
    """
    Whether an op is to be narrow, by node and by type; a node's word comes before its type's.

    colours    by type, what mixed precision does with ops of which nothing else is said (mixed_list.py)
    """

    nodes: dict[str, bool] = field(default_factory=dict[str, bool])
    types: dict[str, bool] = field(default_factory=dict[str, bool])
    colours: dict[str, Colour] = field(default_factory=dict[str, Colour])

    def of(self, op: Operation) -> bool | None:
        name = node_name(op) if self.nodes else None
        if name is not None and name in self.nodes:
            return self.nodes[name]
        return self.types.get(type_of(op)) if self.types else None

    def colour(self, op: Operation) -> Colour | None:
        return self.colours.get(type_of(op)) if self.colours else None

    def unmatched(self, ops: Iterable[Operation]) -> list[str]:
        """Names of nodes that none of `ops` has: mistyped, or gone with what was simplified."""
        found = {node_name(op) for op in ops} if self.nodes else set[str | None]()
        return [name for name in self.nodes if name not in found]

    def keep(self, nodes: Iterable[str], types: Iterable[str]) -> None:
        """Adds what stays as it is. Raises UsageError for a type that there is not."""
        self.nodes.update((name, False) for name in nodes)
        for name in types:
            try:
                self.types[resolve(name)] = False
            except ValueError as error:
                raise UsageError(f"keep-types: {error}") from None


def read_text(path: str) -> str:
    """Raises UsageError for a file that is no text."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None


def read_kept(path: str) -> dict[str, list[str]]:
    """
    The file that names only what stays: "nodes" and "types".

    raises  UsageError: file, line, what must stand there
    """
    nodes: list[str] = []
    types: list[str] = []
    for number, raw in enumerate(read_text(path).splitlines(), 1):
        line = raw.strip()
        if line.startswith(OF_TYPE):
            try:
                types.append(resolve(line.removeprefix(OF_TYPE).strip()))
            except ValueError as error:
                raise UsageError(f"{path}:{number}: {error}") from None
        elif line and line[0] != "#":
            nodes.append(line)
    return {"nodes": nodes, "types": types}


def read_keep_list(path: str) -> KeepList:
    """The list of ATC's file. Raises UsageError: file, line, what must stand there."""
    found = KeepList()
    for number, section, name, word in _entries(read_text(path), path):
        try:
            into, key = (found.types, resolve(name)) if section == SECTIONS[0] else (found.nodes, name)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from None
        narrow = _meaning(word, f"{path}:{number}: {name}")
        if into.setdefault(key, narrow) != narrow:
            raise UsageError(f"{path}:{number}: {name} stands there twice, with another word")
    return found


def _entries(text: str, path: str) -> Iterator[tuple[int, str, str, str]]:
    """Number, section, name and word of each line that has one."""
    section = SECTIONS[0]
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = line.strip("[]").strip()
            if section not in SECTIONS or line[-1] != "]":
                near = did_you_mean(section, SECTIONS)
                raise UsageError(f"{path}:{number}: a section must be [ByOpType] or [ByNodeName], got {line}{near}")
            continue
        name, equals, word = (part.strip() for part in line.rpartition("="))
        if not equals or not name:
            raise UsageError(f"{path}:{number}: write name=high_precision, got {line}")
        yield number, section, name, word


def _meaning(word: str, where: str) -> bool:
    if word in OTHERS:
        raise UsageError(f"{where}: {word} means nothing here: {OTHERS[word]}")
    if word not in WORDS:
        raise UsageError(f"{where}: must be one of {', '.join(WORDS)}; got '{word}'{did_you_mean(word, WORDS)}")
    return WORDS[word]
