"""What the tests of ops that move elements share: ops whose shape operands are constants, and tiles held together."""

import itertools
import re
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, TensorType, f32, f64, i1, i32, i64
from xdsl.dialects.test import Test, TestOp
from xdsl.ir import Attribute, SSAValue

from gecc.dialects.ge import Ge
from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.data import value_of
from gecc.dialects.ge.dims import Dim, Expr, symbol
from gecc.dialects.ge.info import Info
from gecc.dialects.ge.interfaces import Box, made_for
from gecc.dialects.ge.text import module_text, parse_module
from gecc.dialects.ge.types import element_of, shape_of, tensor_type
from gecc.dialects.ort import Ort
from gecc.reference import evaluate

N, M = symbol("N"), symbol("M")


def context() -> Context:
    found = Context()
    for dialect in (Builtin, Test, Ge, Ort):
        found.load_dialect(dialect)
    return found


def module_of(line: str, **constants: Any) -> Any:
    """A module with one op, written as `line`; operands are constants where they are given, else nothing is known."""
    head, _, types = line.rpartition(" -> ")[0].rpartition(" : ")
    names = dict.fromkeys(re.findall(r"%\w+", head.partition(" = ")[2]))
    made: list[str] = []
    for name, type_ in zip(names, re.findall(r"tensor<[^>]*>", types), strict=True):
        if name[1:] in constants:
            text = str(value_of(constants[name[1:]]))
            made.append(f"{name} = ge.constant {text}" + ("" if text.startswith("dense") else f" : {type_}"))
        else:
            made.append(f'{name} = "test.op"() : () -> {type_}')
    return parse_module(context(), "\n".join([*made, line]), "test")


def op_of(line: str, **constants: Any) -> Any:
    return module_of(line, **constants).body.block.last_op


def built(cls: Any, *operands: Any, **attrs: Any) -> Any:
    """An op on constants (arrays) and on values of which only the type is known (text such as "2x?xf32")."""
    return cls(*(None if v is None else value(v) for v in operands), **attrs)


def value(what: Any) -> SSAValue:
    if isinstance(what, str):
        return TestOp(result_types=[_type(what)]).results[0]
    array = np.asarray(what)
    return ConstantOp(value_of(array), tensor_type(element_of(array.dtype).type, array.shape)).output


def _type(text: str) -> Attribute:
    *dims, element = text.split("x")
    elements = {"f32": f32, "f64": f64, "i64": i64, "i32": i32, "i1": i1}
    return tensor_type(elements[element], tuple(-1 if d == "?" else int(d) for d in dims))


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


def round_trip(line: str) -> None:
    """The line is the op's own text, and the generic form says the same."""
    module = module_of(line)
    module.verify()
    text = module_text(module)
    said = text.splitlines()[-2].strip().partition(" = ")[2]
    assert re.sub(r"%\w+", "%", said) == re.sub(r"%\w+", "%", line.partition(" = ")[2])
    assert module_text(parse_module(context(), module_text(module, generic=True), "test")) == text


def free(*dims: Dim, element: Attribute = f32) -> Info:
    return Info(element, dims)


def data(*elements: Dim) -> Info:
    """A vector of i64 whose elements are known."""
    return Info(i64, (len(elements),), elements_array(elements))


def scalar(element: Dim) -> Info:
    return Info(i64, (), elements_array([element]).reshape(()))


def elements_array(elements: Any) -> Any:
    return np.array(elements, object if any(isinstance(e, Expr) for e in elements) else np.int64)


def said(info: Any) -> tuple[str, ...]:
    """The dims of a result as text; "?" for one of which nothing is known."""
    return tuple("?" if str(d).startswith("?") else str(d) for d in info.dims)


def elements(info: Info) -> list[Any] | None:
    return None if info.data is None else [e if isinstance(e, Expr) else int(e) for e in info.data.flat]


def grid(shape: tuple[int, ...], loops: tuple[str, ...], tile: int) -> list[Box]:
    """Boxes of at most `tile` along each axis that may be cut."""
    along = [
        [(b, min(tile, d - b)) for b in range(0, d, tile)] if loop == "parallel" else [(0, d)]
        for d, loop in zip(shape, loops, strict=False)
    ]
    return list(itertools.product(*along))


def array_for(operand: SSAValue, random: np.random.Generator) -> Any:
    if isinstance(operand.owner, ConstantOp):
        return operand.owner.array()
    assert isinstance(operand.type, TensorType)
    dtype = element_of(operand.type.get_element_type()).dtype
    return random.integers(-50, 50, operand.type.get_shape()).astype(dtype)


def check_tiles(op: Any, *arrays: Any, tile: int = 2) -> None:
    """Each tile, computed from its operands' tiles, is that part of every result of the whole, bit for bit."""
    op.verify()
    given = list(arrays) or [array_for(v, np.random.default_rng(0)) for v in op.operands]
    whole = evaluate(op, given)
    loops = op.loops()
    for box in grid(whole[0].shape, loops, tile):
        parts = [cut(a, b) for a, b in zip(given, op.operand_tiles(box), strict=True)]
        operands = [
            value(part) if isinstance(v.owner, ConstantOp) else TestOp(result_types=[typed(v, part)]).results[0]
            for v, part in zip(op.operands, parts, strict=True)
        ]
        made = op.on_tile(box, operands)
        known = dict(zip(operands, parts, strict=True))
        for each in made_for(made):
            if each.results[0] not in known:
                each.verify()
                known.update(zip(each.results, evaluate(each, [known[v] for v in each.operands]), strict=True))
        for want, result in zip(whole, made.results, strict=True):
            got = known[result]
            own = tuple(b if loop == "parallel" else (0, d) for b, d, loop in zip(box, want.shape, loops, strict=False))
            np.testing.assert_array_equal(got, cut(want, own))
            assert shape_of(result.type) == tuple(size for _, size in own)


def typed(operand: SSAValue, part: Any) -> Attribute:
    assert isinstance(operand.type, TensorType)
    return tensor_type(operand.type.get_element_type(), part.shape)


def cut(array: Any, box: Box) -> Any:
    part = array[tuple(slice(b, b + s) for b, s in box)]
    assert part.shape == tuple(s for _, s in box)
    return part
