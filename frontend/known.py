"""
A node as the op that the dialect has for it: also for a node that was opaque, once more is known of what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import onnx.shape_inference
from onnx import GraphProto, NodeProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects.ge import ONNX_OPS, SUPERSEDED, GeOp
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.core import info_of
from ..dialects.ge.data import Array, value_of
from ..dialects.ge.declare import REQUIRED, Older
from ..dialects.ge.errors import InputError, text_of
from ..dialects.ge.interfaces import is_pure
from ..dialects.ge.opaque import OpaqueOp
from ..dialects.ge.shapes import RankUnknown
from ..dialects.ge.types import UnknownType, element_of, tensor_type
from .attributes import declared_value, to_mlir
from .graph_exporter import GraphExporter
from .nodes import node_of
from .values import FileSymbol, i64_vector, value_info

MICROSOFT = "com.microsoft"


class KnownNodes:
    """
    Builds ops for nodes.

    opsets     versions of the operator sets that nodes are written for
    symbol     of the ge.weights op of a file
    """

    def __init__(self, opsets: Mapping[str, int], symbol: FileSymbol) -> None:
        self.opsets, self.symbol = opsets, symbol

    def read(
        self,
        node: NodeProto,
        operands: list[SSAValue | None],
        outputs: Sequence[str],
        body: Callable[[GraphProto], Region],
        *,
        lenient: bool,
    ) -> tuple[list[ConstantOp], GeOp] | None:
        """
        The op that a node is, and the constants that it needs for what was an attribute in its version; None where the
        dialect has no op for it as it stands.

        operands   without absent ones at the end; changed where an attribute becomes an operand
        outputs    names, "" for one that is absent
        body       builds one of its graphs
        lenient    None also where the op's constraints refuse it; else only where ONNX itself takes the node
        raises     InputError or VerifyException where the node is wrong
        """
        domain = "" if node.domain == "ai.onnx" else node.domain
        cls = op_named(node.op_type, domain, self.opsets.get(domain, 0))
        version = 0 if cls is None else self.version(node.op_type, domain)
        if cls is None or not (version or not cls.onnx.has_schema):
            return None
        version = version or cls.onnx.since
        older = cls.onnx.older.get(version)
        if (older.type if older is not None else cls.onnx.type) != node.op_type:
            return None
        if older is not None and not self.in_place(cls, older, operands):
            return None
        if any(v is not None and not isinstance(v.type, TensorType) for v in operands):
            return None
        if any(isinstance(cast(Any, v.type).element_type, UnknownType) for v in operands if v is not None):
            return None
        try:
            plain = [a for a in node.attribute if a.name not in cls.BODIES]
            attrs = {a.name: declared_value(cls.decls.get(a.name), a, self.symbol) for a in plain}
        except ValueError:
            return None
        attrs = {k: v for k, v in attrs.items() if k not in cls.onnx.implied}
        if version < cls.onnx.since:
            newer = cls.from_older(version, attrs, [None if v is None else info_of(v) for v in operands])
            if newer is None:
                return None
            attrs = newer
        were = {
            name: slot
            for before, names in cls.onnx.attributes_before.items()
            if self.opsets[domain] < before
            for name, slot in names.items()
        }
        made = {were[name]: attrs.pop(name) for name in list(attrs) if name in were}
        if any(name not in cls.decls or cls.decls[name].ours for name in attrs):
            return None
        if not _fits(cls, len(operands), outputs) or not cls.accepts(attrs, len(operands), len(outputs)):
            return None
        if any(d.default is REQUIRED and name not in attrs for name, d in cls.decls.items()):
            raise InputError(f"{node.op_type} lacks an attribute that it must have")
        constants = self.operands_of_attributes(cls, made, operands)
        try:
            graphs = {a.name: a.g for a in node.attribute if a.name in cls.BODIES}
            bodies = [body(graphs[name]) for name in cls.BODIES]
            op = cls(*operands, results=[bool(o) for o in outputs], bodies=bodies, **attrs)
        except RankUnknown:
            return None
        except VerifyException:
            # A branch that never runs may contradict itself; and where ONNX is content with a node, so are we.
            if lenient or self.onnx_accepts(node, domain, operands):
                return None
            raise
        return constants, op

    def in_place(self, cls: type[GeOp], older: Older, operands: list[SSAValue | None]) -> bool:
        """Puts the operands of an older form where the op has them; false where there are too many."""
        given = dict(zip(older.operands, operands, strict=False))
        if len(operands) > len(older.operands):
            return False
        operands[:] = [given.get(slot.name) for slot in cls.slots]
        while operands and operands[-1] is None:
            operands.pop()
        return True

    def operands_of_attributes(
        self, cls: type[GeOp], made: dict[str, Any], operands: list[SSAValue | None]
    ) -> list[ConstantOp]:
        """Constants for what was an attribute in older versions; puts them in their place among the operands."""
        constants: list[ConstantOp] = []
        for slot, value in made.items():
            place = [s.name for s in cls.slots].index(slot)
            operands.extend([None] * (place + 1 - len(operands)))
            if isinstance(value, float):
                first = next(v for v in operands if v is not None)
                array: Array = np.array(value).astype(element_of(cast(Any, first.type).element_type).dtype)
            elif isinstance(value, tuple) and cast("tuple[Any, ...]", value) and isinstance(value[0], float):
                array = np.array(value, np.float32)
            elif slot in cls.onnx.scalars:
                array = np.array(value, np.int64)
            else:
                array = i64_vector(value if isinstance(value, tuple) else [value])
            constants.append(ConstantOp(value_of(array), tensor_type(element_of(array.dtype).type, array.shape)))
            operands[place] = constants[-1].output
        return constants

    def onnx_accepts(self, node: NodeProto, domain: str, operands: Sequence[SSAValue | None]) -> bool:
        """Whether ONNX's own check of types and shapes takes a node that our constraints refuse."""
        schema = schema_of(node.op_type, domain, self.opsets[domain])
        if schema is None:
            return True  # nobody but its runtime knows what it takes
        types = {n: value_info(n, v.type).type for n, v in zip(node.input, operands, strict=False) if v is not None}
        imports = [onnx.helper.make_opsetid(d, v) for d, v in self.opsets.items()]
        try:
            onnx.shape_inference.infer_node_outputs(cast(Any, schema), node, types, opset_imports=imports)
        except Exception:
            return False
        return True

    def version(self, op_type: str, domain: str) -> int:
        """Since which version of its domain the operator has been what it is in this model; 0 if it is unknown."""
        schema = schema_of(op_type, domain, self.opsets.get(domain, 0))
        return schema.since_version if schema is not None else 0


def op_named(op_type: str, domain: str, version: int) -> type[GeOp] | None:
    """The op that stands for an operator, in a version of its domain's operator set."""
    if domain not in ("", MICROSOFT) or (not domain and schema_of(op_type, domain, version) is not None):
        return ONNX_OPS.get((domain, op_type)) or SUPERSEDED.get((domain, op_type))
    from ..dialects.ort import ORT_OPS  # only models that ONNX Runtime wrote have any

    return ORT_OPS.get((domain, op_type))


@cache
def schema_of(op_type: str, domain: str, version: int) -> onnx.defs.OpSchema | None:
    """What ONNX says of an operator in a version of its domain's operator set."""
    try:
        return onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


def _fits(cls: type[GeOp], operands: int, outputs: Sequence[str]) -> bool:
    """Whether a declaration has places for so many operands and these outputs, and those that must be are there."""

    def room(slots: Sequence[Any], count: int) -> bool:
        least = sum(s.kind == "one" for s in slots)
        return least <= count and (count <= len(slots) or (bool(slots) and slots[-1].kind == "variadic"))

    needed = all(outputs[k] for k, s in enumerate(cls.result_slots[: len(outputs)]) if s.kind == "one")
    # A variadic operand may be what an attribute was; its least number is checked by the op itself.
    most = len(cls.slots) if not cls.slots or cls.slots[-1].kind != "variadic" else operands
    return operands <= most and room(cls.result_slots, len(outputs)) and needed


def recognised(op: OpaqueOp, symbol: FileSymbol) -> tuple[list[ConstantOp], Operation] | None:
    """
    What an opaque op turns out to be, now that the types of its operands are known: its constants, and the op of the
    dialect; None where it stays opaque.
    """
    domain, version = text_of(op.domain) or "", op.version.value.data
    if op.bodies or op_named(op.op_type.data, domain, version) is None:
        return None
    exporter = GraphExporter(op, version)
    node = node_of(op, exporter.name, exporter.body, version)
    operands = op.by_slot()
    while operands and operands[-1] is None:
        operands.pop()
    reader = KnownNodes({domain: version}, symbol)

    def no_body(graph: GraphProto) -> Region:
        raise InputError(f"graph {graph.name} of {text_of(op.op_type)}")

    try:
        return reader.read(node, operands, list(node.output), no_body, lenient=True)
    except (InputError, VerifyException):
        return None


def forgotten(op: GeOp, opset: int, symbol: FileSymbol) -> OpaqueOp:
    """
    An op without bodies as the opaque op that its node would be in `opset`.

    raises     InputError where that opset has no such operator
    """
    exporter = GraphExporter(op, opset)
    node = node_of(op, exporter.name, exporter.body, opset)
    types = [None if r is None else r.type for r in op.results_by_slot()]
    while types and types[-1] is None:
        types.pop()
    return OpaqueOp(
        node.op_type,
        opset,
        [*op.by_slot()[: len(node.input)]],
        types,
        domain=node.domain,
        attrs={a.name: to_mlir(a, symbol) for a in node.attribute},
        pure=is_pure(op),
    )
