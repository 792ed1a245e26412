"""
ge -> ONNX, from the tensor stage: one node an op, at the source's opset, under the source's names.

Fusions and L2 groups are written as the ops of their bodies. Names that the source gave stay wherever they are still
free; names of the graph's inputs and outputs stay in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from onnx import GraphProto, ModelProto, ValueInfoProto
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute

from ..dialects.ge.core import GeOp
from ..dialects.ge.errors import InputError, node_name, text_of
from ..dialects.ge.gears import gears
from ..dialects.ge.opaque import OpaqueOp
from .described import describe
from .graph_exporter import GraphExporter
from .nodes import DEFAULT_OPSET, SPARSE, opsets_of, resolved
from .values import value_info

SOURCE = "gecc.source_producer"
"""The key of a model's metadata that says who produced what it was made from."""


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
