"""Which operands and results of an operator ONNX lets have a float type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ...dialects.ge.core import GeOp
from ...dialects.ge.interfaces import Elementwise, Movement, View


@dataclass(frozen=True)
class Allowed:
    """One truth value an operand and a result, in ONNX's order; what is variadic is as the last that is declared."""

    operands: tuple[bool, ...]
    results: tuple[bool, ...]

    def operand(self, k: int) -> bool:
        return self.operands[min(k, len(self.operands) - 1)] if self.operands else False

    def result(self, k: int) -> bool:
        return self.results[min(k, len(self.results) - 1)] if self.results else False


EVERYTHING, NOTHING = Allowed((True,), (True,)), Allowed((False,), (False,))


def allowed(op: GeOp, opset: int, element: str) -> Allowed:
    """
    Where `op` may have elements of the ONNX type `element` ("float16") in an opset. An op that is none of ONNX's says
    so itself: one that is elementwise or moves elements has any.
    """
    if not op.onnx.type or not op.onnx.has_schema:
        return EVERYTHING if isinstance(op, Elementwise | Movement | View) else NOTHING
    return _of(op.onnx.type, opset, element)


@cache
def _of(kind: str, opset: int, element: str) -> Allowed:
    from onnx import defs

    try:
        schema: Any = defs.get_schema(kind, opset)
    except defs.SchemaError:
        if not defs.has(kind):
            return NOTHING
        schema = defs.get_schema(kind)  # newer than the opset: written in terms of others
    types = {t.type_param_str: set(t.allowed_type_strs) for t in schema.type_constraints}

    def takes(formal: Any) -> bool:
        return f"tensor({element})" in types.get(formal.type_str, {formal.type_str})

    return Allowed(tuple(map(takes, schema.inputs)), tuple(map(takes, schema.outputs)))
