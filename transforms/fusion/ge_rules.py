"""
A rule in GE's form: a graph of nodes and edges, as one op.

    {"RuleName": "MinMaxToClip",
     "OuterInputs":  [{"name": "x", "src": "low:0"}, ...],             which operand of which node comes from outside
     "OuterOutputs": [{"name": "y", "src": "high:0"}],                 which result of which node is read outside
     "OriginGraph":  {"Nodes": [{"name": "low", "type": ["Maximum"]}, {"name": "high", "type": ["Minimum"]}],
                      "Edges": [{"src": "low:0", "dst": "high:0"}]},
     "FusionGraph":  {"Nodes": [{"name": "clip", "type": ["ClipByValue"]}], ...},
     "Condition": "input_dtype == float32"}                            ours; may be left out

The ops that were found are the fusion's body, so what the op of FusionGraph does and which attributes it has follows
from them: its edges and attributes are checked, and its node gives the fusion its type's name (with several nodes the
rule's name is it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from ...dialects.ge import ONNX_OPS
from ...dialects.ge.opaque import OpaqueOp
from .condition import Condition
from .names import did_you_mean, resolve, type_of
from .pattern import Found, OpPattern, Pattern, Why, graph, result, value, walk
from .rules import Rule
from .schema import a_list, a_text, an_object, check_keys, keyed, shown

NEEDED = ("RuleName", "OuterInputs", "OuterOutputs", "OriginGraph", "FusionGraph")
KEYS = (*NEEDED, "Condition")
MOST_NODES = 64
MOST_OPERANDS = 64

Port = tuple[str, int]


@dataclass
class Node:
    """`operands` by position: what is known of where they come from."""

    kinds: list[str]
    operands: dict[int, Port | str] = field(default_factory=dict[int, "Port | str"])


def read_rule(
    given: Mapping[str, Any],
    name_in: Callable[[object], str],
    condition_in: Callable[[object, Sequence[str]], Condition | None],
) -> Rule:
    """Raises ValueError: key, what must stand there, what does."""
    check_keys(given, KEYS, NEEDED)
    name = keyed("RuleName", lambda: name_in(given["RuleName"]))
    nodes = keyed("OriginGraph", lambda: _origin(given["OriginGraph"]))
    inputs = keyed("OuterInputs", lambda: _outer(given["OuterInputs"], nodes))
    for outer, (node, index) in inputs:
        if index in nodes[node].operands:
            raise ValueError(f"OuterInputs: operand {index} of '{node}' comes from two places")
        nodes[node].operands[index] = outer
    outputs = keyed("OuterOutputs", lambda: _outer(given["OuterOutputs"], nodes))
    if not outputs:
        raise ValueError("OuterOutputs: must have an output at least")
    label = keyed("FusionGraph", lambda: _fusion(given["FusionGraph"], {outer for outer, _ in (*inputs, *outputs)}))
    form = keyed("OriginGraph", lambda: _form(nodes, [port for _, port in outputs]))
    kinds = [kind for node in nodes.values() for kind in node.kinds]
    condition = keyed("Condition", lambda: condition_in(given.get("Condition"), kinds))
    return Rule(name, (form,), label or name, condition, least=1)


def _origin(given: object) -> dict[str, Node]:
    content = an_object(given)
    check_keys(content, ("Nodes", "Edges"), ("Nodes",))
    nodes = {name: Node(kinds) for name, kinds in keyed("Nodes", lambda: _nodes(content["Nodes"])).items()}
    for source, target in keyed("Edges", lambda: _edges(content.get("Edges", []))):
        (node, index), source = keyed("Edges", lambda t=target: _port(t, nodes)), source
        if index in nodes[node].operands:
            raise ValueError(f"Edges: operand {index} of '{node}' comes from two places")
        nodes[node].operands[index] = keyed("Edges", lambda s=source: _port(s, nodes))
    return nodes


def _nodes(given: object) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in a_list(given):
        node = an_object(one)
        check_keys(node, ("name", "type"), ("name", "type"))
        name = keyed("name", lambda node=node: a_text(node["name"]))
        if name in found:
            raise ValueError(f"two nodes are '{name}'")
        found[name] = keyed("type", lambda node=node: [resolve(kind) for kind in _types(node["type"])])
    if not 1 <= len(found) <= MOST_NODES:
        raise ValueError(f"must have 1 to {MOST_NODES} nodes, got {len(found)}")
    return found


def _types(given: object) -> list[str]:
    """One type, or a list of those that may stand there."""
    kinds = [a_text(kind, "an operator") for kind in ([given] if isinstance(given, str) else a_list(given))]
    if not kinds:
        raise ValueError("must have a type at least")
    return kinds


def _edges(given: object) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for one in a_list(given):
        edge = an_object(one)
        check_keys(edge, ("src", "dst"), ("src", "dst"))
        found.append((keyed("src", lambda e=edge: a_text(e["src"])), keyed("dst", lambda e=edge: a_text(e["dst"]))))
    return found


def _port(text: str, nodes: Mapping[str, object]) -> Port:
    """`node:1`, where there is such a node; without a number the first."""
    name, colon, index = text.rpartition(":")
    if not colon:
        name, index = text, "0"
    if not index.isascii() or not index.isdigit() or int(index) > MOST_OPERANDS:
        raise ValueError(f"must be node:index, got {shown(text)}")
    if name not in nodes:
        raise ValueError(f"no node '{name}'; there are {', '.join(nodes)}{did_you_mean(name, nodes)}")
    return name, int(index)


def _outer(given: object, nodes: Mapping[str, object]) -> list[tuple[str, Port]]:
    found: list[tuple[str, Port]] = []
    for one in a_list(given):
        outer = an_object(one)
        check_keys(outer, ("name", "src"), ("name", "src"))
        name = keyed("name", lambda o=outer: a_text(o["name"]))
        found.append((name, keyed("src", lambda o=outer: _port(a_text(o["src"], "node:index"), nodes))))
    return found


def _fusion(given: object, outer: set[str]) -> str | None:
    """The name of the one operator that is to stand for all; None where there are several."""
    content = an_object(given)
    check_keys(content, ("Nodes", "Edges", "Attrs"), ("Nodes",))
    known: dict[str, object] = {}
    kinds: list[str] = []
    for one in keyed("Nodes", lambda: a_list(content["Nodes"])):
        node = keyed("Nodes", lambda one=one: an_object(one))
        keyed("Nodes", lambda node=node: check_keys(node, ("name", "type"), ("name", "type")))
        # Its type may be one that only the chip's library knows: no operator is looked for.
        kinds += keyed("Nodes", lambda node=node: _types(node["type"])[:1])
        known[keyed("Nodes", lambda node=node: a_text(node["name"]))] = node
    for edge in keyed("Edges", lambda: _edges(content.get("Edges", []))):
        for end in edge:
            if end not in outer:
                keyed("Edges", lambda end=end: _port(end, known))
    keyed("Attrs", lambda: _attributes(content.get("Attrs", []), known))
    return kinds[0] if len(kinds) == 1 else None


def _attributes(given: object, nodes: Mapping[str, object]) -> None:
    for one in a_list(given):
        attribute = an_object(one)
        check_keys(attribute, ("attr", "expr", "value"), ("attr", "value"))
        name, dot, _ = a_text(attribute["attr"], "node.attribute").partition(".")
        if not dot or name not in nodes:
            raise ValueError(f"must be node.attribute of a node of FusionGraph, got {shown(attribute['attr'])}")


def _form(nodes: Mapping[str, Node], ends: Sequence[Port]) -> Pattern:
    outer: dict[str, Pattern] = {}
    ops: dict[str, OpPattern] = {}
    results: dict[Port, Pattern] = {}
    open_: list[str] = []

    def of(name: str) -> OpPattern:
        if name in ops:
            return ops[name]
        if name in open_:
            raise ValueError(f"the edges go round in a circle at '{name}'")
        open_.append(name)
        node = nodes[name]
        operands = [operand(node.operands.get(k)) for k in range(max(node.operands, default=-1) + 1)]
        open_.pop()
        return ops.setdefault(name, _op_pattern(node.kinds, operands))

    def operand(source: Port | str | None) -> Pattern:
        if isinstance(source, tuple):
            return port(source)
        return value() if source is None else outer.setdefault(source, value())

    def port(source: Port) -> Pattern:
        return results.setdefault(source, result(of(source[0]), source[1]))

    by_node = {end[0]: end for end in reversed(ends)}
    first, *others = [port(by_node[name]) for name in dict.fromkeys(end[0] for end in ends)]
    form = graph(first, *others)
    reached = set(walk(form))
    for name in nodes:
        if name not in ops or ops[name] not in reached:
            raise ValueError(f"the node '{name}' leads to no outer output")
    return form


def _op_pattern(kinds: Sequence[str], operands: Sequence[Pattern]) -> OpPattern:
    classes: list[type[Any]] = [ONNX_OPS[("", kind)] for kind in kinds if ("", kind) in ONNX_OPS]
    if len(classes) == len(kinds):
        return OpPattern(tuple(classes), tuple(operands))

    def where(op: Operation, found: Found) -> Why:
        del found
        return None if type_of(op) in kinds else f"it is {type_of(op)}"

    return OpPattern((*classes, OpaqueOp), tuple(operands), where)
