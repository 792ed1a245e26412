"""
Bodies of ge as graphs of ONNX: their nodes, their constants, and names that are unique where they have to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ..dialects.ge.attributes import SplatAttr, WeightAttr
from ..dialects.ge.bodies import FusionOp, YieldOp
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.data import INLINE, array_of, find_module, weights_path
from ..dialects.ge.errors import InputError, text_of
from ..dialects.ge.interfaces import is_pure
from ..dialects.ge.opaque import OpaqueOp
from ..dialects.ge.types import nbytes, shape_of
from .described import describe
from .nodes import SPARSE, names_of_outputs, node_of, resolved
from .values import fill_tensor, i64_vector, is_known, tensor_of_array, value_info

SPLAT_AS_DATA = 8 * INLINE
"""Bytes up to which one repeated element is written out; more becomes a ConstantOfShape."""


@dataclass
class Scope:
    """Names of one graph, and of the graphs below it: two branches may use one name, a graph and its body must not."""

    block: Block | None = None
    own: set[str] = field(default_factory=set[str])
    below: set[str] = field(default_factory=set[str])


class GraphExporter:
    """
    Writes bodies as graphs.

    source     the op (module) that everything stands in
    opset      what nodes are written for
    """

    def __init__(self, source: Operation, opset: int) -> None:
        self.source, self.opset = find_module(source), opset
        self.names: dict[SSAValue, str] = {}
        self.scopes = [Scope()]
        self.copies: dict[tuple[Block | None, Attribute, Attribute, str], str] = {}
        self.numbers: Counter[str] = Counter()
        self.outputs: set[str] = set()

    def claim_outputs(self, block: Block, values: Sequence[SSAValue], names: Sequence[str]) -> list[NodeProto]:
        """
        Gives the values that a graph returns its outputs' names, each value once, and only what is made in this graph;
        returns Identity nodes for the rest.
        """
        again: list[tuple[SSAValue, str]] = []
        for value, name in zip(values, names, strict=True):
            if self.names.get(value) == name:
                continue  # an input that is an output, or the same output once more
            if value in self.names or isinstance(value, BlockArgument) or not _made_in(value, block):
                again.append((value, name))
            else:
                self.names[value] = name
        # Sources are named once all outputs are, in case a source is an output itself.
        return [
            NodeProto(op_type="Identity", name=f"{name}_copy", input=[self.name(value)], output=[name])
            for value, name in again
        ]

    def body(self, region: Region, name: str) -> GraphProto:
        graph = GraphProto(name=self.fresh(name))
        self.scopes.append(Scope(region.block))
        self.fill_body(graph, region.block)
        inner = self.scopes.pop()
        self.scopes[-1].below |= inner.own | inner.below
        return graph

    def fill_body(self, graph: GraphProto, block: Block) -> None:
        for argument in block.args:
            graph.input.append(value_info(self.name(argument), argument.type))
        last = block.last_op
        assert isinstance(last, YieldOp)
        values = [resolved(v) for v in last.operands]
        outputs = [self.fresh(_preferred(v) or "out") for v in values]
        added = self.claim_outputs(block, values, outputs)
        self.fill(graph, block)
        graph.node.extend(added)
        graph.output.extend(value_info(n, v.type) for n, v in zip(outputs, last.operands, strict=True))

    def fill(self, graph: GraphProto, block: Block) -> None:
        nodes: list[NodeProto] = []
        constants: list[ConstantOp] = []
        written: dict[str, Operation] = {}
        for op in _flat(block):
            if isinstance(op, ConstantOp):
                constants.append(op)
                continue
            if self.is_again(op, written):
                continue
            layout = getattr(op, "data_format", "NCHW") if isinstance(op, GeOp) else "NCHW"
            node = node_of(op, self.name, self.body, self.opset)
            describe(node, op.attributes)
            if SPARSE in op.attributes:
                sparse = node.attribute[0].sparse_tensor
                sparse.values.name = node.output[0]
                graph.sparse_initializer.append(sparse)
                continue
            if layout == "NCHW":
                nodes.append(node)
            else:
                nodes.extend(self.between_transposes(op, node))
            if isinstance(op, OpaqueOp):
                for result in op.results:
                    if is_known(result.type) and self.name(result) not in self.outputs:
                        graph.value_info.append(value_info(self.name(result), result.type))
        # What has no name by now is read by nobody: it was written as an attribute, or nothing needs it.
        named = {self.names[op.output]: op for op in reversed(constants) if op.output in self.names}
        for op in reversed(named.values()):
            self.constant(graph, op)
        graph.node.extend(nodes)

    def is_again(self, op: Operation, written: dict[str, Operation]) -> bool:
        """
        Whether an op is a copy of one that is written, made again in another fusion: its results have that one's names
        then. `written` has the first op of each output's ONNX name.
        """
        name = next(iter(names_of_outputs(op)), "")
        first = written.setdefault(name, op) if name else op
        if first is op or first.name != op.name or op.regions or not is_pure(op):
            return False
        if any(result in self.names for result in op.results):
            return False
        if (first.properties, first.attributes) != (op.properties, op.attributes):
            return False
        if [self.name(v) for v in first.operands] != [self.name(v) for v in op.operands]:
            return False
        self.names.update(zip(op.results, (self.name(r) for r in first.results), strict=True))
        return True

    def between_transposes(self, op: Operation, node: NodeProto) -> Iterator[NodeProto]:
        """An op on channels-last data as ONNX has it: channels first, between two transposes."""
        rank = len(shape_of(op.results[0].type))
        before, after = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
        inside = [self.fresh(f"{node.input[0]}_nchw"), self.fresh(f"{node.output[0]}_nchw")]
        for source, target, perm in ((node.input[0], inside[0], before), (inside[1], node.output[0], after)):
            transpose = NodeProto(op_type="Transpose", name=self.fresh("to_layout"), input=[source], output=[target])
            transpose.attribute.add(name="perm", type=7, ints=perm)
            if target == inside[0]:
                yield transpose
                node.input[0], node.output[0] = inside
                yield node
            else:
                yield transpose

    # ------------------------------------------------------------------ constants and names

    def constant(self, graph: GraphProto, op: ConstantOp) -> None:
        name = self.name(op.output)
        if isinstance(op.value, SplatAttr) and nbytes(op.output.type) > SPLAT_AS_DATA and self.opset >= 9:
            shape, one = shape_of(op.output.type), np.asarray(op.array().flat[0]).reshape(1)
            graph.initializer.append(tensor_of_array(i64_vector(shape), self.fresh(f"{name}_shape")))
            made = text_of(op.attributes.get("onnx.node")) or ""
            node = NodeProto(op_type="ConstantOfShape", name=made, input=[graph.initializer[-1].name], output=[name])
            node.attribute.add(name="value", type=4, t=tensor_of_array(one))
            graph.node.append(node)
        else:
            graph.initializer.append(self.tensor(name, op.value, op.output.type))

    def tensor(self, name: str, value: Attribute, type_: Attribute) -> TensorProto:
        proto = TensorProto(name=name)
        path = weights_path(self.source, value) if isinstance(value, WeightAttr) else None
        if isinstance(value, WeightAttr) and path is None:
            raise InputError(f"constant {name!r} is in a weights file that the module does not name")
        fill_tensor(proto, value, type_, array_of(value, type_, self.source), path)
        return proto

    def name(self, value: SSAValue) -> str:
        value = resolved(value)
        if value not in self.names:
            wanted = _preferred(value) or _derived(value)
            if isinstance(value.owner, ConstantOp):
                self.names[value] = self.name_of_constant(value.owner, wanted)
            else:
                self.names[value] = self.fresh(wanted, self.depth(value))
        return self.names[value]

    def name_of_constant(self, op: ConstantOp, wanted: str) -> str:
        """One name for the copies of a constant in the bodies of a graph's fusions: they are one initialiser."""
        block = op.parent_block()
        while block is not None and isinstance(fusion := block.parent_op(), FusionOp):
            block = fusion.parent_block()
        key = (block, op.value, op.output.type, wanted)
        if key not in self.copies:
            self.copies[key] = self.fresh(wanted, self.depth(op.output))
        return self.copies[key]

    def depth(self, value: SSAValue) -> int:
        """Which of the open graphs makes a value: a constant has its name from where it is read first."""
        if len(self.scopes) == 1:
            return 0
        owner: Operation | Block | None = value.owner
        at = owner.parent_block() if isinstance(owner, Operation) else owner
        open_ = {scope.block: k for k, scope in enumerate(self.scopes)}
        while at is not None and at not in open_:
            at = parent.parent_block() if (parent := at.parent_op()) is not None else None
        return 0 if at is None else open_[at]

    def fresh(self, wanted: str, depth: int = -1) -> str:
        """`wanted`, or with a number after it if that is a name in the graph at `depth`, around it or in it."""
        name = wanted
        inside = self.scopes[depth:]
        while any(name in scope.own for scope in self.scopes) or any(name in scope.below for scope in inside):
            self.numbers[wanted] += 1
            name = f"{wanted}_{self.numbers[wanted]}"
        inside[0].own.add(name)
        return name


def _flat(block: Block) -> Iterator[Operation]:
    """The ops of a body in order, fusions and groups as the ops of their bodies; without the terminator."""
    for op in block.ops:
        if isinstance(op, FusionOp):
            yield from _flat(op.body.block)
        elif op is not block.last_op or not isinstance(op, YieldOp | ReturnOp):
            yield op


def _made_in(value: SSAValue, block: Block) -> bool:
    """Whether an op of this body, or of a fusion in it, makes the value."""
    at = cast(Operation, value.owner).parent_block()
    while at is not block and at is not None and isinstance(parent := at.parent_op(), FusionOp):
        at = parent.parent_block()
    return at is block


def _preferred(value: SSAValue) -> str | None:
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    names, index = names_of_outputs(owner), cast(OpResult, value).index
    return names[index] or None if index < len(names) else None


def _derived(value: SSAValue) -> str:
    owner = value.owner
    if isinstance(owner, Operation):
        node = text_of(owner.attributes.get("onnx.node"))
        return f"{node}_out" if node else owner.name.removeprefix("ge.")
    return value.name_hint or "arg"
