"""One op on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto
from onnx.defs import get_schema, onnx_opset_version
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.ge.composed import expanded
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.errors import InputError, node_name
from ..dialects.ge.interfaces import Composed, Elementwise, Movement, View
from ..dialects.ge.opaque import OpaqueOp
from ..dialects.ge.types import element_of, is_element, tensor_type
from ..frontend.graph_exporter import GraphExporter
from ..frontend.nodes import node_of, resolved
from .meanings import MEANINGS

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator


def evaluate(op: Operation, operands: Sequence[Any], captured: dict[SSAValue, Any] | None = None) -> list[Any]:
    """
    The results of one op.

    operands   arrays (lists for sequences, None for empty optionals) in the order of `op.operands`
    captured   values from outside that the op's bodies read
    returns    one entry a result
    raises     InputError where the op cannot be evaluated on these values
    """
    if isinstance(op, ConstantOp):
        return [op.array()]
    if not isinstance(op, Movement | View):
        operands = [_in_order(x) for x in operands]
    meaning = MEANINGS.get(type(op))
    with np.errstate(all="ignore"):
        if meaning is not None and isinstance(op, GeOp):
            found = meaning(op, operands)
            if found is not None:
                return [typed(x, r) for x, r in zip(found, op.results, strict=True)]
        if isinstance(op, GeOp) and not op.onnx.has_schema:
            # No operator of ONNX: what the op says of itself is its meaning.
            if isinstance(op, Elementwise):
                return [typed(op.scalar(np, *operands), op.results[0])]
            if isinstance(op, Composed):
                return composed(op, operands, evaluate)
        return _as_onnx(op, operands, {v: _in_order(x) for v, x in (captured or {}).items()})


def _in_order(value: Any) -> Any:
    """
    An array in the order of its axes: numpy adds up a transposed view in another order, and what a module computes must
    not depend on which of its ops give views. (What only moves elements may: a weight of a gigabyte is not copied.)
    """
    return np.asarray(value, order="C") if isinstance(value, np.ndarray) else value


def composed(op: GeOp, operands: Sequence[Any], meaning: Callable[[Operation, Sequence[Any]], list[Any]]) -> list[Any]:
    """The results of an op that is composed of others, whose meaning is given."""
    given = iter(operands)
    arrays = [None if v is None else next(given) for v in op.by_slot()]
    types = [tensor_type(element_of(x.dtype).type, x.shape) for x in arrays if x is not None]
    block = Block(arg_types=types)
    values = iter(block.args)
    ops, results = expanded(op, [None if x is None else next(values) for x in arrays])
    env: dict[SSAValue, Any] = dict(zip(block.args, operands, strict=True))
    for inner in ops:
        env.update(zip(inner.results, meaning(inner, [env[v] for v in inner.operands]), strict=True))
    return [typed(env[value], result) for value, result in zip(results, op.results, strict=True)]


def _as_onnx(op: Operation, operands: Sequence[Any], captured: dict[SSAValue, Any]) -> list[Any]:
    domain = op.onnx.domain if isinstance(op, GeOp) else ""
    newest = get_schema(op.onnx.type, domain).since_version if isinstance(op, GeOp) and domain else onnx_opset_version()
    opset = op.version.value.data if isinstance(op, OpaqueOp) else newest
    graphs = GraphExporter(op, opset)
    node = node_of(op, graphs.name, graphs.body, opset)
    feeds: dict[str, Any] = {}
    for value, array in [*zip(op.operands, operands, strict=True), *captured.items()]:
        name = graphs.names.get(resolved(value))  # an export looks through the arguments of a fusion
        if name is not None:
            feeds[name] = array
    try:
        results = _evaluator(node, opset, feeds).run(None, feeds)
    except Exception as err:
        text = " ".join(str(err).split())[:200]
        raise InputError(f"'{op.name}' cannot be evaluated: {type(err).__name__}: {text}", node=node_name(op)) from err
    return [typed(x, r) for x, r in zip(results, op.results, strict=True)]


def _evaluator(node: NodeProto, opset: int, feeds: dict[str, Any]) -> ReferenceEvaluator:
    from onnx.reference import ReferenceEvaluator  # two hundred modules, for the few ops that have no meaning here

    graph = GraphProto(name="one")
    graph.node.append(node)
    for name in feeds:
        graph.input.add(name=name)
    for name in node.output:
        if name:
            graph.output.add(name=name)
    model = ModelProto(ir_version=10)
    model.graph.CopyFrom(graph)
    model.opset_import.add(domain="", version=opset)
    if node.domain:
        model.opset_import.add(domain=node.domain, version=opset)
    return ReferenceEvaluator(model)


def typed(value: Any, result: SSAValue) -> Any:
    """
    The evaluator's result under the result's element type: it gives numpy scalars, and wider types here and there.
    """
    if not isinstance(result.type, TensorType):
        return value
    element = cast("TensorType[Any]", result.type).element_type
    if value is None or isinstance(value, list) or not is_element(element):
        return value
    array, dtype = np.asarray(value), element_of(element).dtype
    return array if array.dtype == dtype or dtype == np.object_ else array.astype(dtype)
