"""What the tests of elementwise ops share: ops from lines of text, and their functions held against the reference."""

import re
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, TensorType, i64
from xdsl.dialects.test import Test

from gecc.dialects.ge import Ge
from gecc.dialects.ge.dims import Dim, Expr
from gecc.dialects.ge.info import Info
from gecc.dialects.ge.text import module_text, parse_module
from gecc.reference import evaluate


def module_of(line: str) -> Any:
    """A module with one op of ge, written as `line`; what it reads is defined before."""
    head, _, types = line.rpartition(" -> ")[0].rpartition(" : ")
    names = dict.fromkeys(re.findall(r"%\w+", head.partition(" = ")[2]))
    made = [f'{n} = "test.op"() : () -> {t}' for n, t in zip(names, re.findall(r"tensor<[^>]*>", types), strict=True)]
    context = Context()
    for dialect in (Builtin, Test, Ge):
        context.load_dialect(dialect)
    return parse_module(context, "\n".join([*made, line]), "test")


def op_of(line: str) -> Any:
    return module_of(line).body.block.last_op


def round_trip(line: str) -> None:
    """The line is the op's own text, it verifies, and the generic form says the same."""
    module = module_of(line)
    module.verify()
    text = module_text(module)
    assert text.splitlines()[-2].strip().partition(" = ")[2] == _renamed(line, text)
    context = Context()
    for dialect in (Builtin, Test, Ge):
        context.load_dialect(dialect)
    assert module_text(parse_module(context, module_text(module, generic=True), "test")) == text


def _renamed(line: str, text: str) -> str:
    """What `line` says of the op, with the names that the printer chose."""
    names = list(dict.fromkeys(re.findall(r"%\w+", line.partition(" = ")[2])))
    chosen = re.findall(r'(%\w+) = "test.op"', text)
    wanted = line.partition(" = ")[2]
    for name, new in zip(names, chosen, strict=True):
        wanted = re.sub(re.escape(name) + r"\b", new, wanted)
    return wanted


def check_scalar(line: str, *arrays: Any, tolerance: float = 0.0) -> None:
    """`scalar` on numpy arrays gives what ONNX's evaluator gives for the op."""
    op = op_of(line)
    wanted = evaluate(op, arrays)[0]
    with np.errstate(all="ignore"):
        got = np.asarray(op.scalar(np, *arrays)).astype(wanted.dtype)
    assert got.shape == wanted.shape
    if wanted.dtype.itemsize == 1 and wanted.dtype.kind in "fV":
        # numpy does not see what is not a number in the small float types.
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    if wanted.dtype.kind == "f" and tolerance:
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, wanted)


def shape_data(*elements: Dim) -> Info:
    """A vector of i64 whose elements shape arithmetic knows."""
    symbolic = any(isinstance(e, Expr) for e in elements)
    return Info(i64, (len(elements),), np.array(elements, dtype=object if symbolic else np.int64))


def known(line: str, *operands: Info) -> list[Any] | None:
    """Elements of the result of the op that `line` is, where those of its operands are known."""
    info = op_of(line).infer(*operands)
    assert isinstance(info.type, TensorType)
    if info.data is None:
        return None
    assert info.data.shape == info.dims
    return info.data.tolist()
