"""
A model as ONNX has it, before it is a module: its opsets, its nodes in an order that runs, what it says of its values.
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterable, Sequence

import onnx.defs
import onnx.shape_inference
from onnx import GraphProto, ModelProto, NodeProto
from xdsl.ir import Attribute, SSAValue

from ..dialects.ge.errors import InputError
from ..dialects.ge.types import UnknownType
from .values import type_from_proto


def opsets_of(model: ModelProto) -> dict[str, int]:
    newest = onnx.defs.onnx_opset_version()
    opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    if not opsets and model.ir_version < 3:
        opsets[""] = 1  # before IR version 3 there was nothing to import
    if not 1 <= opsets.get("", 1) <= newest:
        raise InputError(f"opset {opsets['']} is not known: this version reads opset 1 to {newest}")
    return opsets


def inlined(model: ModelProto) -> ModelProto:
    if not model.functions:
        return model
    import onnx.inliner

    try:
        return onnx.inliner.inline_local_functions(model, convert_version=True)
    except Exception as err:
        raise InputError(f"local functions cannot be inlined: {err}") from None


def declared_types(model: ModelProto) -> dict[str, Attribute]:
    # It refuses some models that run; then only what they say themselves is known.
    with contextlib.suppress(Exception):
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    types: dict[str, Attribute] = {}

    def collect(graph: GraphProto) -> None:
        for info in [*graph.value_info, *graph.output]:
            if info.HasField("type"):
                type_ = type_from_proto(info.type)
                # Branches may use one name for different things.
                types[info.name] = type_ if types.get(info.name, type_) == type_ else UnknownType()
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    collect(attribute.g)

    collect(model.graph)
    return types


def in_order(graph: GraphProto, outer: dict[str, SSAValue]) -> Sequence[NodeProto]:
    """The nodes with each after those that it reads; as they stand wherever they stand right."""
    made_by: dict[str, int] = {}
    for k, node in enumerate(graph.node):
        for output in filter(None, node.output):
            if made_by.setdefault(output, k) != k:
                raise InputError(f"value {output!r} has two definitions", node=label_of(node))
    reads = [{made_by[n] for n in _reads(node) if n in made_by and n not in outer} for node in graph.node]
    if all(d < k for k, needed in enumerate(reads) for d in needed):
        return graph.node
    waiting = [len(needed) for needed in reads]
    readers: list[list[int]] = [[] for _ in reads]
    for k, needed in enumerate(reads):
        for d in needed:
            readers[d].append(k)
    ready = [k for k, n in enumerate(waiting) if not n]
    order: list[NodeProto] = []
    while ready:
        k = heapq.heappop(ready)
        order.append(graph.node[k])
        for reader in readers[k]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(reads):
        stuck = next(node for node, n in zip(graph.node, waiting, strict=True) if n)
        raise InputError("the graph has a cycle through this node", node=label_of(stuck))
    return order


def _reads(node: NodeProto) -> Iterable[str]:
    """Names that a node reads from around it, those that its bodies read included."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            graph = attribute.g
            own = {x.name for x in (*graph.input, *graph.initializer)}
            own.update(name for inner in graph.node for name in inner.output)
            for inner in graph.node:
                yield from (name for name in _reads(inner) if name not in own)
            yield from (o.name for o in graph.output if o.name not in own)


def label_of(node: NodeProto) -> str:
    return node.name or next(filter(None, node.output), "") or node.op_type
