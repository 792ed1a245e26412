"""
ge -> ONNX, from the tensor stage: one node an op, at the source's opset, under the source's names.

Fusions and L2 groups are written as the ops of their bodies. Names that the source gave stay wherever they are still
free; names of the graph's inputs and outputs stay in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ..dialects.ge.attributes import SplatAttr, WeightAttr
from ..dialects.ge.bodies import FusionOp, YieldOp
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.data import INLINE, array_of, find_module, weights_path
from ..dialects.ge.errors import InputError, node_name, text_of
from ..dialects.ge.gears import gears
from ..dialects.ge.interfaces import is_pure
from ..dialects.ge.opaque import OpaqueOp
from ..dialects.ge.types import nbytes, shape_of
from .described import describe
from .nodes import DEFAULT_OPSET, SPARSE, names_of_outputs, node_of, opsets_of, resolved
from .values import fill_tensor, i64_vector, is_known, tensor_of_array, value_info

SOURCE = "gecc.source_producer"
"""The key of a model's metadata that says who produced what it was made from."""

SPLAT_AS_DATA = 8 * INLINE
"""Bytes up to which one repeated element is written out; more becomes a ConstantOfShape."""


def export_model(module: ModuleOp, opset: int | None = None) -> ModelProto:
    """
    The model of a module on tensors, light: large tensors are spans of the files that hold them.

    opset      of the model; by default the source's own
    raises     InputError for what has no form in ONNX, or not in that opset
    cost       linear in ops
    """
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    if len(functions) > 1 and gears(module):
        raise InputError(f"ONNX has one graph a model, this one has {len(functions)} gears; write .mlir, or one shape")
    if len(functions) != 1:
        raise InputError(f"a model is one function, the module has {len(functions)}")
    return _ModelExporter(module, functions[0], opset).model()


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
        for op in flat(block):
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


class _ModelExporter(GraphExporter):
    def __init__(self, module: ModuleOp, function: FuncOp, opset: int | None) -> None:
        self.module, self.function = module, function
        self.opsets = opsets_of(module)
        self.source_opset = self.opsets.get("", DEFAULT_OPSET)
        super().__init__(module, opset or self.source_opset)
        if opset is not None and "" in self.opsets and opset != self.opsets[""]:
            _refuse_foreign(function, opset)
        self.opsets[""] = self.opset

    def model(self) -> ModelProto:
        graph = self.graph()
        attrs = self.module.attributes
        from .. import __version__

        model = ModelProto(
            producer_name="gecc",
            producer_version=__version__,
            domain=text_of(attrs.get("onnx.domain")) or "",
            model_version=_number(attrs, "onnx.model_version", 0),
            ir_version=self.ir_version(graph),
        )
        model.graph.CopyFrom(graph)
        for op in self.function.walk():
            if isinstance(op, GeOp) and op.onnx.domain:
                self.opsets.setdefault(op.onnx.domain, op.onnx.since)
        for domain, version in sorted(self.opsets.items()):
            model.opset_import.add(domain=domain, version=version)
        describe(model, attrs)
        producer = text_of(attrs.get("onnx.producer"))
        if producer and not producer.startswith("gecc"):
            note = next((p for p in model.metadata_props if p.key == SOURCE), None) or model.metadata_props.add(
                key=SOURCE
            )
            note.value = producer
        return model

    def ir_version(self, graph: GraphProto) -> int:
        least = next((ir for ir, opset in _IR_VERSIONS if self.opset <= opset), _IR_VERSIONS[-1][0])
        version = _number(self.module.attributes, "onnx.ir_version", least)
        if self.opset != self.source_opset:
            version = max(version, least)
        # Before version 4 an initialiser had to be an input; an input that was not one must not become one.
        inputs = {i.name for i in graph.input}
        if version < 4 and any(t.name not in inputs for t in graph.initializer):
            return 4
        return version

    def graph(self) -> GraphProto:
        graph = GraphProto(name=text_of(self.module.attributes.get("onnx.graph")) or "main")
        describe(graph, self.module.attributes, "onnx.graph_")
        block = self.function.body.block
        args = cast("Sequence[DictionaryAttr]", self.function.arg_attrs.data if self.function.arg_attrs else ())
        outs = cast("Sequence[DictionaryAttr]", self.function.res_attrs.data if self.function.res_attrs else ())
        inputs = [_said(args, k, f"input_{k}") for k in range(len(block.args))]
        last = block.last_op
        assert isinstance(last, ReturnOp)
        outputs = [_said(outs, k, f"output_{k}") for k in range(len(last.operands))]
        self.outputs.update(name for name, _ in outputs)
        self.scopes[-1].own.update(name for name, _ in (*inputs, *outputs))
        for argument, (name, said) in zip(block.args, inputs, strict=True):
            self.names[argument] = name
            graph.input.append(_info(name, argument.type, said))
            if "ge.default" in said:
                value, type_ = cast("ArrayAttr[Attribute]", said["ge.default"]).data
                graph.initializer.append(self.tensor(name, value, type_))
        added = self.claim_outputs(block, [resolved(v) for v in last.operands], [name for name, _ in outputs])
        self.fill(graph, block)
        graph.node.extend(added)
        graph.output.extend(
            _info(name, value.type, said) for value, (name, said) in zip(last.operands, outputs, strict=True)
        )
        self.restore_inputs(graph)
        return graph

    def restore_inputs(self, graph: GraphProto) -> None:
        """The list of inputs as the source had it, constants among them."""
        order = self.function.attributes.get("onnx.inputs")
        if order is None:
            return
        constants = self.function.attributes.get("onnx.constant_inputs", DictionaryAttr({}))
        held = {t.name: t for t in graph.initializer}
        inputs = {i.name: i for i in graph.input}
        for name, attr in cast(DictionaryAttr, constants).data.items():
            value, type_ = cast("ArrayAttr[Attribute]", attr).data
            if name not in held and name not in inputs:
                graph.initializer.append(self.tensor(name, value, type_))
                held[name] = graph.initializer[-1]
            inputs[name] = value_info(name, type_)
        listed = [inputs[text_of(n) or ""] for n in cast("ArrayAttr[Attribute]", order).data]
        del graph.input[:]
        graph.input.extend(listed)


_IR_VERSIONS = [(3, 8), (4, 9), (5, 10), (6, 11), (7, 14), (8, 18), (9, 20), (10, 22), (11, 23), (12, 24), (13, 26)]
"""(IR version, the newest opset that was released with it)."""


def flat(block: Block) -> Iterator[Operation]:
    """The ops of a body in order, fusions and groups as the ops of their bodies; without the terminator."""
    for op in block.ops:
        if isinstance(op, FusionOp):
            yield from flat(op.body.block)
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


def _said(attrs: Sequence[DictionaryAttr], k: int, default: str) -> tuple[str, dict[str, Attribute]]:
    said = dict(attrs[k].data) if k < len(attrs) else {}
    return text_of(said.get("onnx.name")) or default, said


def _info(name: str, type_: Attribute, said: dict[str, Attribute]) -> ValueInfoProto:
    """
    A graph's input or output as it was declared: passes may know more of a free dim by now, the interface keeps its
    symbols. A dim that was bound on purpose has lost its symbol in `ge.dims` too.
    """
    if "onnx.untyped" in said:
        return ValueInfoProto(name=name)
    declared = said.get("ge.dims")
    info = value_info(name, said.get("onnx.type", type_), declared)
    describe(info, said)
    if isinstance(declared, ArrayAttr) and info.type.HasField("tensor_type"):
        shape = info.type.tensor_type.shape
        del shape.dim[:]
        shape.SetInParent()
        for attr in cast("ArrayAttr[Attribute]", declared).data:
            dim = shape.dim.add()
            if isinstance(attr, IntegerAttr):
                dim.dim_value = cast("IntegerAttr[Any]", attr).value.data
            elif (symbol := text_of(attr)) is not None:
                dim.dim_param = symbol
    elif "onnx.unranked" in said and info.type.HasField("tensor_type"):
        info.type.tensor_type.ClearField("shape")
    return info


def _number(attrs: Any, name: str, default: int) -> int:
    attr = attrs.get(name)
    return cast("IntegerAttr[Any]", attr).value.data if isinstance(attr, IntegerAttr) else default


def _refuse_foreign(function: FuncOp, opset: int) -> None:
    """ge.opaque is written as it was read: refuses one whose operator is another one in `opset`."""
    from .nodes import since_version

    for op in function.walk():
        if isinstance(op, OpaqueOp) and op.domain is None and SPARSE not in op.attributes:
            was, now = (since_version(op.op_type.data, v) for v in (op.version.value.data, opset))
            if was != now:
                raise InputError(f"{op.op_type.data} is another operator in opset {opset}", node=node_name(op))


def node_count(model: ModelProto) -> int:
    """Nodes of a model, those of its subgraphs included."""

    def count(graph: GraphProto) -> int:
        return sum(1 + sum(count(a.g) for a in n.attribute if a.HasField("g")) for n in graph.node)

    return count(model.graph)


__all__ = ["GraphExporter", "export_model", "flat", "node_count", "resolved"]
