"""
One op as one ONNX node. The export writes a graph of these; the reference evaluates one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import onnx
import onnx.defs
import onnx.helper
from onnx import AttributeProto, GraphProto, NodeProto
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ..dialects.ge.attributes import WeightAttr
from ..dialects.ge.bodies import FusionOp
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.control import IfOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.data import find_module, weights_path
from ..dialects.ge.declare import OnnxName
from ..dialects.ge.errors import InputError, node_name, text_of
from ..dialects.ge.opaque import OpaqueOp
from ..dialects.ge.types import element_of
from .attributes import from_mlir, proto_of

DEFAULT_OPSET = 21
"""What a module that does not say its opset is exported as: read by every runtime of the last years."""


SPARSE = "onnx.sparse_initializer"
"""Marks the ge.opaque Constant that an export writes as a sparse initialiser."""

OPSETS = "onnx.opset"
"""Of a module: the model's operator sets, ONNX's own as "ai.onnx", since MLIR has no empty key."""


def opsets_of(module: ModuleOp) -> dict[str, int]:
    """The version of each operator set that the module was read with, by domain; ONNX's own is ''."""
    said = module.attributes.get(OPSETS)
    named = cast("dict[str, IntegerAttr[Any]]", said.data) if isinstance(said, DictionaryAttr) else {}
    return {"" if domain == "ai.onnx" else domain: version.value.data for domain, version in named.items()}


def opsets_attr(opsets: Mapping[str, int]) -> DictionaryAttr:
    """The inverse of `opsets_of`."""
    return DictionaryAttr({domain or "ai.onnx": IntegerAttr(version, i64) for domain, version in opsets.items()})


def node_of(
    op: Operation,
    name_of: Callable[[SSAValue], str],
    graph_of: Callable[[Region, str], GraphProto],
    opset: int,
) -> NodeProto:
    """
    The node that `op` stands for, with all its attributes, under its own name.

    name_of    names of operands and results
    graph_of   the graph of one of its bodies, given the body and the attribute's name
    opset      what the node is written for
    raises     InputError where that opset has no such operator
    """
    if isinstance(op, OpaqueOp):
        return _opaque(op, name_of, graph_of)
    if isinstance(op, IfOp):
        node = NodeProto(op_type="If", name=_own_name(op))
        node.input.append(name_of(op.cond))
        node.output.extend(name_of(r) for r in op.results)
        for name, body in (("then_branch", op.then_branch), ("else_branch", op.else_branch)):
            node.attribute.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=graph_of(body, name)))
        return node
    if not isinstance(op, GeOp) or not op.onnx.type:
        what = f"'{op.name}' is no ONNX operator: only modules on tensors can be exported"
        raise InputError(what, node=node_name(op))
    check_opset(op, opset)
    node = _known(op, name_of, opset)
    for name, body in zip(op.BODIES, op.regions, strict=True):
        node.attribute.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=graph_of(body, name)))
    return node


def check_opset(op: GeOp, opset: int) -> None:
    """Refuses an op that ONNX's `opset` does not have, or has with another meaning."""
    name = op.onnx
    if not name.has_schema:
        return
    since = form_in(name, opset).since
    if since < name.since and (not since or op.to_older(since) is None):
        newest = f"needs opset {_first_opset(name.type, name.since)}"
        raise InputError(f"{name.type} {newest}, the model is written for opset {opset}", node=node_name(op))


class Form(NamedTuple):
    """
    An operator as an opset has it.

    since      the version that it is of; 0 where the opset has none
    operands   in its order; None: as the op declares them
    """

    type: str
    since: int
    operands: tuple[str, ...] | None


def form_in(name: OnnxName, opset: int) -> Form:
    """What stands for an op in `opset`."""
    since = since_version(name.type, opset, name.domain)
    if since < name.since:
        for version, older in name.older.items():
            if since_version(older.type, opset) == version:
                return Form(older.type, version, older.operands)
    return Form(name.type, since, None)


@cache
def since_version(op_type: str, opset: int, domain: str = "") -> int:
    """Since which opset the operator has been what it is in `opset`; 0 if it is not there."""
    try:
        return onnx.defs.get_schema(op_type, opset, domain).since_version
    except onnx.defs.SchemaError:
        return 0


@cache
def attribute_names(op_type: str, opset: int, domain: str = "") -> frozenset[str]:
    """The attributes that the operator has in `opset`."""
    return frozenset(onnx.defs.get_schema(op_type, opset, domain).attributes)


def is_writable(op: GeOp, opset: int) -> bool:
    """Whether ONNX's `opset` has the operator, and with the element types that `op` has."""
    try:
        check_opset(op, opset)
    except InputError:
        return False
    if not op.onnx.has_schema:
        return False
    schema = onnx.defs.get_schema(form_in(op.onnx, opset).type, opset)
    for formal, values in ((schema.inputs, op.by_slot()), (schema.outputs, op.results_by_slot())):
        for parameter, value in zip(formal, values, strict=False):
            if value is not None and parameter.types and onnx_type(value.type) not in parameter.types:
                return False
    return True


def onnx_type(type_: Attribute) -> str:
    """How ONNX's schemas write the type of a tensor."""
    element = cast("TensorType[Attribute]", type_).element_type
    return f"tensor({onnx.TensorProto.DataType.Name(cast(Any, element_of(element).onnx)).lower()})"


@cache
def _first_opset(op_type: str, since: int) -> int:
    newest = onnx.defs.onnx_opset_version()
    return next((v for v in range(since, newest + 1) if since_version(op_type, v) >= since), since)


def _known(op: GeOp, name_of: Callable[[SSAValue], str], opset: int) -> NodeProto:
    form = form_in(op.onnx, opset)
    node = NodeProto(op_type=form.type, domain=op.onnx.domain, name=_own_name(op))
    values = op.by_slot()
    attrs: list[AttributeProto] = []
    slots = [s.name for s in op.slots]
    unsaid = {name for before, names in op.onnx.unsaid_before.items() if opset < before for name in names}
    for place, slot in enumerate(slots[: len(values)]):
        values[place] = None if slot in unsaid else values[place]
    for before, names in op.onnx.attributes_before.items():
        if opset >= before:
            continue
        for attribute, slot in names.items():
            place = slots.index(slot)
            if place < len(values) and values[place] is not None:
                attrs.append(_attribute_of_operand(op, form.type, attribute, cast(SSAValue, values[place]), opset))
                values[place] = None
    if form.operands is not None:
        given = dict(zip(slots, values, strict=True))
        values = [given[slot] for slot in form.operands]
    while values and values[-1] is None:
        values.pop()
    node.input.extend("" if v is None else name_of(v) for v in values)
    results = op.results_by_slot()
    while results and results[-1] is None:
        results.pop()
    node.output.extend("" if r is None else name_of(r) for r in results)
    resolve = resolver(op)
    since = form.since
    plain = op.attrs() if since >= op.onnx.since or not op.onnx.has_schema else op.to_older(since) or {}
    for name, value in plain.items():
        if name in unsaid:
            continue
        if name not in op.decls:  # an older version's own
            attrs.append(onnx.helper.make_attribute(name, value))
        elif not op.decls[name].ours:
            attrs.append(proto_of(name, op.decls[name].codec.kind, value, resolve))
        elif name != "data_format":  # which the exporter writes as transposes
            raise InputError(f"{form.type} has no attribute {name} in ONNX", node=node_name(op))
    known = attribute_names(form.type, opset) if op.onnx.has_schema else frozenset((*op.decls, *op.onnx.implied))
    attrs.extend(onnx.helper.make_attribute(name, value) for name, value in op.implied().items() if name in known)
    for attr in attrs:
        if attr.name not in known:
            raise InputError(f"{form.type} has no attribute {attr.name} in opset {opset}", node=node_name(op))
    node.attribute.extend(sorted(attrs, key=lambda a: a.name))
    return node


def _attribute_of_operand(op: GeOp, op_type: str, attribute: str, value: SSAValue, opset: int) -> AttributeProto:
    """What is an operand now and was an attribute in `opset`."""
    owner = resolved(value).owner
    schema = onnx.defs.get_schema(op_type, opset, op.onnx.domain).attributes[attribute]
    if not isinstance(owner, ConstantOp):
        raise InputError(
            f"{op_type} has {attribute} as an attribute in opset {opset}, so it must be a constant",
            node=node_name(op),
        )
    array = owner.array()
    kind = schema.type
    match kind:
        case onnx.defs.OpSchema.AttrType.INTS:
            return proto_of(attribute, "ints", [int(x) for x in array.flat], None)
        case onnx.defs.OpSchema.AttrType.INT:
            return proto_of(attribute, "int", int(array.flat[0]), None)
        case onnx.defs.OpSchema.AttrType.FLOATS:
            return proto_of(attribute, "floats", [float(x) for x in array.flat], None)
        case _:
            return proto_of(attribute, "float", float(array.flat[0]), None)


def _opaque(
    op: OpaqueOp, name_of: Callable[[SSAValue], str], graph_of: Callable[[Region, str], GraphProto]
) -> NodeProto:
    node = NodeProto(op_type=op.op_type.data, domain=text_of(op.domain) or "", name=_own_name(op))
    node.input.extend("" if v is None else name_of(v) for v in op.by_slot())
    node.output.extend("" if r is None else name_of(r) for r in op.results_by_slot())
    resolve = resolver(op)
    attrs: dict[str, Attribute] = dict(op.attrs.data) if op.attrs is not None else {}
    for name, attr in attrs.items():
        node.attribute.append(from_mlir(name, attr, resolve))
    for name, body in op.named_bodies():
        node.attribute.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=graph_of(body, name)))
    return node


def resolver(op: Operation) -> Callable[[Attribute], tuple[ModuleOp | None, str | None]]:
    """For `from_mlir`: the module that `op` is in, and the file of a #ge.weight."""

    def resolve(value: Attribute) -> tuple[ModuleOp | None, str | None]:
        if not isinstance(value, WeightAttr):
            return None, None
        module = find_module(op)
        return module, weights_path(module, value)

    return resolve


def resolved(value: SSAValue) -> SSAValue:
    """The value itself behind results and arguments of fusions."""
    while True:
        owner: Operation | Block = value.owner
        if isinstance(owner, FusionOp):
            last = owner.body.block.last_op
            assert last is not None
            value = last.operands[cast(OpResult, value).index]
        elif isinstance(owner, Block) and isinstance(fusion := owner.parent_op(), FusionOp):
            value = fusion.operands[cast(BlockArgument, value).index]
        else:
            return value


def _own_name(op: Operation) -> str:
    return text_of(op.attributes.get("onnx.node")) or ""


def names_of_outputs(op: Operation) -> Sequence[str]:
    """ONNX names of an op's results, as far as they are known."""
    outputs = op.attributes.get("onnx.outputs")
    return [text_of(o) or "" for o in cast(Any, outputs).data] if outputs is not None else []
