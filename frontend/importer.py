"""
ONNX -> ge: one op a node, every op with its node's name.

A node becomes the op that ONNX_OPS names for its operator, if the op's declaration covers the node's version,
attributes and operands; else ge.opaque. Constants whose data is large are references into the files that hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnx.defs
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    ValueInfoProto,
)
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects.ge.bodies import YieldOp
from ..dialects.ge.constants import ConstantOp, WeightsOp
from ..dialects.ge.control import IfOp
from ..dialects.ge.data import Array, value_of, weight_in
from ..dialects.ge.errors import InputError
from ..dialects.ge.names import set_names
from ..dialects.ge.opaque import OpaqueOp
from ..dialects.ge.text import value_name
from ..dialects.ge.types import UnknownType, element_of, is_tensor, shape_of, tensor_type
from . import wire
from .attributes import plain_value, to_mlir
from .described import described
from .graphs import declared_types, in_order, inlined, label_of, opsets_of
from .known import KnownNodes, schema_of
from .nodes import OPSETS, SPARSE, opsets_attr
from .values import dims_from_proto, tensor_from_proto, type_from_proto


def import_model(source: Path | ModelProto) -> ModuleOp:
    """
    The module of a model, its weights left in the files that hold them.

    source     a file, or a model in memory (its large tensors are spooled to a temporary file)
    raises     InputError, which names the file, the node and what is wrong
    cost       linear in nodes; about 60 us a node
    """
    name = source if isinstance(source, Path) else None
    light = wire.read_light(source) if isinstance(source, Path) else wire.lighten(source, wire.shared_spool())
    try:
        return _Importer(light).module()
    except InputError as err:
        raise InputError(err.message, err.file or name, err.node) from None


class _Importer:
    def __init__(self, model: ModelProto) -> None:
        self.opsets = opsets_of(model)
        self.proto = inlined(model)
        self.symbols: dict[str, str] = {}
        self.types: dict[str, Attribute] | None = None
        self.depth = 0
        self.nodes = KnownNodes(self.opsets, self.symbol)

    # ------------------------------------------------------------------ the module

    def module(self) -> ModuleOp:
        function = self.function(self.proto.graph)
        weights = [WeightsOp(symbol, path, Path(path).stat().st_size) for path, symbol in self.symbols.items()]
        module = ModuleOp([*weights, function])
        proto = self.proto
        said = {
            "onnx.ir_version": IntegerAttr(proto.ir_version, i64),
            OPSETS: opsets_attr(self.opsets),
            "onnx.producer": StringAttr(" ".join(filter(None, (proto.producer_name, proto.producer_version)))),
            "onnx.domain": StringAttr(proto.domain),
            "onnx.graph": StringAttr(proto.graph.name),
            "onnx.model_version": IntegerAttr(proto.model_version, i64),
        }
        empty = (StringAttr(""), DictionaryAttr({}), IntegerAttr(0, i64))
        module.attributes.update({k: v for k, v in said.items() if v not in empty})
        module.attributes.update(described(proto) | described(proto.graph, "onnx.graph_"))
        return module

    def symbol(self, path: str) -> str:
        return self.symbols.setdefault(path, f"w{len(self.symbols)}")

    def function(self, graph: GraphProto) -> FuncOp:
        initialisers = {t.name: t for t in graph.initializer}
        inputs = [i for i in graph.input if i.name not in initialisers]
        # Before IR version 4 every initialiser had to be an input too; since then one that is can be overridden.
        listed = [i for i in graph.input if i.name in initialisers]
        overridable = listed if self.proto.ir_version >= 4 else []
        block = Block(arg_types=[type_from_proto(i.type) for i in [*inputs, *overridable]])
        attrs: list[DictionaryAttr] = []
        scope: dict[str, SSAValue] = {}
        for info, argument in zip([*inputs, *overridable], block.args, strict=True):
            said = _described(info)
            if info.name in initialisers:
                said["ge.default"] = ArrayAttr(tensor_from_proto(initialisers.pop(info.name), self.symbol))
            attrs.append(DictionaryAttr(said))
            argument.name_hint = value_name(info.name)
            scope[info.name] = argument
        self.fill(block, graph, scope, initialisers.values())
        results = [_lookup(scope, o.name, "the graph's output") for o in graph.output]
        block.add_op(ReturnOp(*results))
        function = FuncOp(
            "main",
            FunctionType.from_lists(list(block.arg_types), [r.type for r in results]),
            Region(block),
            arg_attrs=ArrayAttr(attrs),
            res_attrs=ArrayAttr([DictionaryAttr(_described(o)) for o in graph.output]),
        )
        if len(overridable) != len(listed) or [i.name for i in graph.input] != [
            i.name for i in [*inputs, *overridable]
        ]:
            self.note_inputs(function, graph)
        return function

    def note_inputs(self, function: FuncOp, graph: GraphProto) -> None:
        """The list of inputs as it stood, with the constants among them: an export gives the same list."""
        held = {t.name: t for t in graph.initializer}
        function.attributes["onnx.inputs"] = ArrayAttr([StringAttr(i.name) for i in graph.input])
        if self.proto.ir_version < 4:
            constants = {i.name: held[i.name] for i in graph.input if i.name in held}
            function.attributes["onnx.constant_inputs"] = DictionaryAttr(
                {n: ArrayAttr(tensor_from_proto(t, self.symbol)) for n, t in constants.items()}
            )

    # ------------------------------------------------------------------ graphs

    def fill(
        self, block: Block, graph: GraphProto, scope: dict[str, SSAValue], initialisers: Iterable[TensorProto]
    ) -> None:
        """Adds a graph's constants and nodes to `block`; `scope` maps names to values, outer ones included."""
        tensors = [*graph.initializer, *(s.values for s in graph.sparse_initializer)]
        _refuse_twice([t.name for t in tensors], "initialiser")
        _refuse_twice([i.name for i in graph.input], "input")
        for tensor in initialisers:
            op = ConstantOp(*tensor_from_proto(tensor, self.symbol))
            set_names(op, None, [tensor.name])
            block.add_op(op)
            scope[tensor.name] = op.output
        for sparse in graph.sparse_initializer:
            op = self.sparse(sparse)
            block.add_op(op)
            scope[sparse.values.name] = op.results[0]
        for node in in_order(graph, scope):
            try:
                self.node(block, node, scope)
            except InputError as err:
                raise InputError(err.message, err.file, err.node or label_of(node)) from None
            except VerifyException as err:
                # The message names the node already where it has a name.
                text = str(err).partition("\n\n")[0] if "\n\n" in str(err) else str(err)
                raise InputError(text.removeprefix(f'node "{label_of(node)}": '), node=label_of(node)) from None

    def sparse(self, sparse: SparseTensorProto) -> Operation:
        """A sparse initialiser: the constant that ONNX has an operator for, with a mark of where an export puts it."""
        attribute = AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse)
        try:
            type_ = tensor_type(element_of(sparse.values.data_type).type, tuple(sparse.dims))
        except KeyError:
            raise InputError(f"sparse initialiser {sparse.values.name!r} has no element type") from None
        attrs = {"sparse_value": to_mlir(attribute, self.symbol)}
        # Constant has sparse values since opset 11; an initialiser may be sparse in a model of any opset.
        op = OpaqueOp("Constant", max(self.opsets.get("", 1), 11), [], [type_], attrs=attrs, pure=True)
        op.attributes[SPARSE] = UnitAttr()
        set_names(op, None, [sparse.values.name])
        return op

    def node(self, block: Block, node: NodeProto, scope: dict[str, SSAValue]) -> None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        operands = [_lookup(scope, name, "an input") if name else None for name in node.input]
        while operands and operands[-1] is None:
            operands.pop()
        outputs = list(node.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        built: dict[str, Region] = {}
        op = (
            self.constant(node, domain)
            or self.conditional(node, domain, operands, outputs, scope, built)
            or self.known(block, node, list(operands), outputs, scope)
            or self.opaque(node, domain, operands, outputs, scope, built)
        )
        block.add_op(op)
        set_names(op, node.name, [o for o in outputs if o])
        op.attributes.update(described(node))
        for name, value in zip((o for o in outputs if o), op.results, strict=True):
            if name in scope:
                raise InputError(f"value {name!r} has two definitions")
            scope[name] = value

    def constant(self, node: NodeProto, domain: str) -> Operation | None:
        if domain or node.op_type != "Constant" or len(node.attribute) != 1:
            return None
        attribute = node.attribute[0]
        if attribute.name == "value" and attribute.HasField("t"):
            return ConstantOp(*tensor_from_proto(attribute.t, self.symbol))
        dtype = _CONSTANTS.get(attribute.name)
        try:
            if dtype is None:
                return None
            array: Array = np.array(plain_value(attribute), dtype)
        except ValueError:
            return None  # of another kind than its name says, or no text
        if array.nbytes > wire.INLINE and array.dtype != object:
            path, offset = wire.shared_spool()(array.tobytes())
            value: Attribute = weight_in(self.symbol(path), offset)
        else:
            value = value_of(array)
        return ConstantOp(value, tensor_type(element_of(array.dtype).type, array.shape))

    def conditional(
        self,
        node: NodeProto,
        domain: str,
        operands: Sequence[SSAValue | None],
        outputs: Sequence[str],
        scope: dict[str, SSAValue],
        built: dict[str, Region],
    ) -> Operation | None:
        """A ge.if, or None; then `built` has the bodies by attribute, since they use what is around them already."""
        condition = operands[0] if len(operands) == 1 else None
        if domain or node.op_type != "If" or condition is None or not all(outputs):
            return None
        type_ = condition.type
        if not is_tensor(type_) or type_.element_type != i1:
            return None
        if any(d not in (1, DYNAMIC_INDEX) for d in shape_of(type_)):
            return None
        if {a.name for a in node.attribute} != {"then_branch", "else_branch"}:
            return None
        built.update((a.name, self.body(a.g, scope)) for a in node.attribute)
        then, other = built["then_branch"], built["else_branch"]
        given = [cast(YieldOp, body.block.last_op).values.types for body in (then, other)]
        if not len(given[0]) == len(given[1]) == len(outputs):
            raise InputError(f"both branches must give {len(outputs)} values, got {[len(g) for g in given]}")
        types = [_common(a, b) for a, b in zip(*given, strict=True)]
        if any(isinstance(t, UnknownType) for t in types):
            return None
        return IfOp(condition, types, then, other)

    def body(self, graph: GraphProto, outer: dict[str, SSAValue]) -> Region:
        block = Block(arg_types=[type_from_proto(i.type) for i in graph.input])
        scope = dict(outer)
        scope.update(zip((i.name for i in graph.input), block.args, strict=True))
        self.depth += 1
        self.fill(block, graph, scope, graph.initializer)
        self.depth -= 1
        block.add_op(YieldOp(*(_lookup(scope, o.name, "an output") for o in graph.output)))
        return Region(block)

    # ------------------------------------------------------------------ nodes

    def known(
        self,
        block: Block,
        node: NodeProto,
        operands: list[SSAValue | None],
        outputs: Sequence[str],
        scope: dict[str, SSAValue],
    ) -> Operation | None:
        # A branch that never runs may contradict itself.
        lenient = self.depth > 0
        found = self.nodes.read(node, operands, outputs, lambda graph: self.body(graph, scope), lenient=lenient)
        if found is None:
            return None
        constants, op = found
        for constant in constants:
            block.add_op(constant)
        return op

    def opaque(
        self,
        node: NodeProto,
        domain: str,
        operands: Sequence[SSAValue | None],
        outputs: Sequence[str],
        scope: dict[str, SSAValue],
        built: dict[str, Region],
    ) -> Operation:
        attrs: dict[str, Attribute] = {}
        bodies: list[tuple[str, Region]] = []
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
                bodies.append((attribute.name, built.get(attribute.name) or self.body(attribute.g, scope)))
            else:
                attrs[attribute.name] = to_mlir(attribute, self.symbol)
        if domain not in self.opsets:
            raise InputError(f"operator {node.op_type} is of domain {domain!r}, which the model does not import")
        schema = schema_of(node.op_type, domain, self.opsets[domain])
        if schema is None and not domain:
            raise InputError(f"opset {self.opsets['']} has no operator {node.op_type}")
        return OpaqueOp(
            node.op_type,
            self.opsets[domain],
            operands,
            [self.type_of(o) if o else None for o in outputs],
            domain=domain,
            attrs=attrs,
            bodies=bodies,
            pure=schema is not None and _deterministic(schema, bool(bodies)),
        )

    def type_of(self, name: str) -> Attribute:
        """What ONNX's own inference, or the model, says of a value; asked for what only ge.opaque gives."""
        if self.types is None:
            self.types = declared_types(self.proto)
        return self.types.get(name, UnknownType())


_CONSTANTS: dict[str, Any] = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_string": object,
    "value_strings": object,
}
"""Attributes of Constant that are numbers or strings -> dtype."""


# ------------------------------------------------------------------ small things


def _deterministic(schema: onnx.defs.OpSchema, has_bodies: bool) -> bool:
    # ONNX calls If, Loop and Scan nondeterministic for what their bodies may hold: those are looked at themselves.
    # onnx's stubs leave `node_determinism` out.
    return has_bodies or cast(Any, schema).node_determinism.name == "Deterministic"


def _described(info: ValueInfoProto) -> dict[str, Attribute]:
    said: dict[str, Attribute] = {"onnx.name": StringAttr(info.name)}
    dims = dims_from_proto(info.type)
    if dims is not None:
        said["ge.dims"] = dims
    elif info.type.HasField("tensor_type"):
        said["onnx.unranked"] = UnitAttr()
    if info.type.WhichOneof("value") in ("sequence_type", "optional_type"):
        said["onnx.type"] = type_from_proto(info.type)  # inference may know less of it, or more
    said.update(described(info))
    if not info.HasField("type"):
        said["onnx.untyped"] = UnitAttr()
    return said


def _lookup(scope: dict[str, SSAValue], name: str, what: str) -> SSAValue:
    if name not in scope:
        raise InputError(f"{what} {name!r} is not defined")
    return scope[name]


def _refuse_twice(names: Sequence[str], what: str) -> None:
    if len(set(names)) < len(names):
        twice = next(n for k, n in enumerate(names) if n in names[:k])
        raise InputError(f"{what} {twice!r} has two definitions")


def _common(a: Attribute, b: Attribute) -> Attribute:
    """The type that values of both types have; unknown where they have nothing in common."""
    if a == b:
        return a
    if not (isinstance(a, TensorType | UnrankedTensorType) and isinstance(b, TensorType | UnrankedTensorType)):
        return UnknownType()
    x, y = cast("TensorType[Attribute]", a), cast("TensorType[Attribute]", b)
    if x.element_type != y.element_type:
        return UnknownType()
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)) or x.get_num_dims() != y.get_num_dims():
        return UnrankedTensorType(x.element_type)
    dims = tuple(d if d == e else -1 for d, e in zip(x.get_shape(), y.get_shape(), strict=True))
    return tensor_type(x.element_type, dims)
