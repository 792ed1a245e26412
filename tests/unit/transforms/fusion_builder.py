"""Modules for tests of the catalogue, one op after the other, and what op-fusion makes of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.constants import ConstantOp, constant
from gecc.dialects.ge.conversion import CastOp
from gecc.dialects.ge.names import set_names
from gecc.dialects.ge.text import module_text
from gecc.dialects.ge.types import tensor_type
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.inline_fusion import InlineFusion
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.report import Report, collecting

DTYPES = {f16: np.float16, f32: np.float32, bf16: bfloat16}


class Builder:
    """Ops of ONNX's types, one after the other: `b.Add(x, 1.0)`; numbers and arrays become constants."""

    def __init__(self, element: Any = f32) -> None:
        self.module, self.block, self.element = ModuleOp([]), Block(), element
        self.random = np.random.default_rng(0)

    def input(self, *shape: int, element: Any = None) -> SSAValue:
        return self.block.insert_arg(tensor_type(element or self.element, shape), len(self.block.args))

    def weight(self, *shape: int) -> SSAValue:
        return self.known(self.random.standard_normal(shape))

    def known(self, array: Any) -> SSAValue:
        given = np.asarray(array)
        op = constant(given.astype(DTYPES[self.element]) if given.dtype.kind == "f" else given, self.module)
        self.block.add_op(op)
        return op.output

    def cast(self, x: SSAValue, to: Any) -> SSAValue:
        return self._add(CastOp(x, to=to))

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        def make(*operands: Any, **attributes: Any) -> Any:
            values = [v if isinstance(v, SSAValue) or v is None else self.known(v) for v in operands]
            return self._add(ONNX_OPS["", kind](*values, **attributes))

        return make

    def _add(self, op: Operation) -> Any:
        set_names(op, f"n{len(self.block.ops)}", [f"v{len(self.block.ops)}_{k}" for k in range(len(op.results))])
        self.block.add_op(op)
        return op.results[0] if len(op.results) == 1 else tuple(op.results)

    def done(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(ReturnOp(*results))
        types = ([a.type for a in self.block.args], [v.type for v in results])
        self.module.body.block.add_op(FuncOp("main", types, Region(self.block)))
        self.module.verify()
        return self.module


def fused(module: ModuleOp, mode: Any = "conservative") -> tuple[list[str], Report]:
    """The fusions' names and what the pass reports, once it is sure that nothing else has changed."""
    inputs, report = make_inputs(module), Report()
    before, text = run(module, inputs), module_text(module)
    with collecting(report):
        OpFusion(mode=mode).apply(Context(), module)
    module.verify()
    after = run(module, inputs)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    found = [op for op in module.walk() if isinstance(op, FusionOp)]
    names = [op.label.data for op in found]
    InlineFusion().apply(Context(), module)
    assert sorted(module_text(module).count(op) for op in ("ge.add", "ge.mul")) == sorted(
        text.count(op) for op in ("ge.add", "ge.mul")
    )
    return names, report


def names_of(module: ModuleOp) -> list[str]:
    return fused(module)[0]


def sizes(module: ModuleOp) -> list[int]:
    """How many ops that are no constants each fusion has, once `fused` is sure that the values hold."""
    again = module.clone()
    fused(module)
    OpFusion().apply(Context(), again)
    found = [op for op in again.walk() if isinstance(op, FusionOp)]
    return [sum(not isinstance(one, ConstantOp) for one in op.body.block.ops) - 1 for op in found]
