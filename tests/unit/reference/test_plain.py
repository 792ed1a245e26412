"""Our short meanings and the onnx package's evaluator say the same, bit for bit."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.test import TestOp as Source

from gecc.dialects.ge.activation import ClipOp
from gecc.dialects.ge.arithmetic import AddOp, MaxOp, MinOp, MulOp, SubOp
from gecc.dialects.ge.comparison import (
    AndOp,
    EqualOp,
    GreaterOp,
    GreaterOrEqualOp,
    LessOp,
    LessOrEqualOp,
    OrOp,
    WhereOp,
)
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.conversion import CastOp
from gecc.dialects.ge.data import value_of
from gecc.dialects.ge.errors import InputError
from gecc.dialects.ge.gather import GatherOp
from gecc.dialects.ge.movement import FlattenOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp
from gecc.dialects.ge.shape import ConstantOfShapeOp, RangeOp, ShapeOp
from gecc.dialects.ge.slicing import ConcatOp
from gecc.dialects.ge.types import element_of, tensor_type
from gecc.reference.evaluator import _as_onnx, evaluate
from gecc.reference.plain import PLAIN

MODULE = ModuleOp([])
FLOATS = np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, 1.5]], np.float32)
OTHER = np.array([-0.0, np.nan, np.inf], np.float32)
WHOLE = np.array([[1, -2, 2**62], [3, 0, 2**62]], np.int64)
SMALL = np.array([250, 7, 200], np.uint8)
TRUTH = np.array([[True, False, True], [False, True, True]])


def type_of(array):
    return tensor_type(element_of(array.dtype).type, array.shape)


def made(cls, *arrays, **attrs):
    """An op on values of these types that no constant makes, or on constants where the op's shape needs them."""
    values = [Source(result_types=[type_of(a)]).results[0] if a.ndim else constant(a, MODULE).output for a in arrays]
    return cls(*values, **attrs)


def on_constants(cls, first, *arrays, **attrs):
    values = [Source(result_types=[type_of(first)]).results[0], *(constant(a, MODULE).output for a in arrays)]
    return cls(*values, **attrs)


PAIRS = [AddOp, SubOp, MulOp, MaxOp, MinOp, EqualOp, GreaterOp, GreaterOrEqualOp, LessOp, LessOrEqualOp]
ARRAYS = [
    (FLOATS, OTHER),
    (WHOLE, WHOLE[1]),
    (SMALL, SMALL[::-1].copy()),
    (FLOATS.astype(np.float16), OTHER.astype("e")),
]
BOUNDED = [(x, x.dtype.type(1), x.dtype.type(100)) for x in (FLOATS, FLOATS.astype("e"), WHOLE, SMALL)]
CASES = [
    *((made(cls, *arrays), arrays) for cls in PAIRS for arrays in ARRAYS),
    *((made(cls, TRUTH, TRUTH[1]), (TRUTH, TRUTH[1])) for cls in (AndOp, OrOp)),
    (made(WhereOp, TRUTH, FLOATS, OTHER), (TRUTH, FLOATS, OTHER)),
    (made(MaxOp, FLOATS, OTHER, FLOATS), (FLOATS, OTHER, FLOATS)),
    *((made(ClipOp, x, low, high), (x, low, high)) for x, low, high in BOUNDED),
    *(
        (made(CastOp, x, to=element_of(np.dtype(to)).type), (x,))
        for x, to in [
            (WHOLE, "f4"),
            (FLOATS, "f8"),
            (FLOATS, "f2"),
            (FLOATS, "?"),
            (WHOLE, "i4"),
            (TRUTH, "f4"),
            (SMALL, "i8"),
        ]
    ),
    (made(ConcatOp, FLOATS, FLOATS, axis=-1), (FLOATS, FLOATS)),
    (on_constants(GatherOp, WHOLE, np.array([[-1, 0]]), axis=1), (WHOLE, np.array([[-1, 0]]))),
    (on_constants(GatherOp, WHOLE, np.array(1)), (WHOLE, np.array(1))),
    (on_constants(ReshapeOp, WHOLE, np.array([0, -1, 1])), (WHOLE, np.array([0, -1, 1]))),
    (on_constants(UnsqueezeOp, WHOLE, np.array([0, -1])), (WHOLE, np.array([0, -1]))),
    (on_constants(SqueezeOp, WHOLE[None], np.array([0])), (WHOLE[None], np.array([0]))),
    (made(FlattenOp, WHOLE[None], axis=2), (WHOLE[None],)),
    (made(TransposeOp, FLOATS), (FLOATS,)),
    (made(TransposeOp, FLOATS[None], perm=[1, 2, 0]), (FLOATS[None],)),
    (made(ShapeOp, FLOATS[None], start=-2, end=9), (FLOATS[None],)),
    (ConstantOfShapeOp(constant(np.array([2, 0]), MODULE).output), (np.array([2, 0]),)),
    (
        ConstantOfShapeOp(
            constant(np.array([2]), MODULE).output,
            value=(value_of(np.array([7])), tensor_type(element_of(np.dtype("i8")).type, (1,))),
        ),
        (np.array([2]),),
    ),
    (made(RangeOp, np.array(5), np.array(-4), np.array(-2)), (np.array(5), np.array(-4), np.array(-2))),
]


@pytest.mark.parametrize(("op", "arrays"), CASES, ids=[f"{op.name}-{k}" for k, (op, _) in enumerate(CASES)])
def test_the_same_as_onnx(op, arrays):
    with np.errstate(all="ignore"):
        ours = PLAIN[type(op)](op, arrays)
        assert ours is not None
        expected = _as_onnx(op, arrays, {})
    for a, b in zip(ours, expected, strict=True):
        b = np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)
        assert np.array_equal(np.signbit(a), np.signbit(b)) if a.dtype.kind == "f" and not np.isnan(a).any() else True


def test_every_meaning_has_a_case():
    assert {type(op) for op, _ in CASES} == set(PLAIN)


def test_of_two_zeros_a_clip_gives_what_max_and_min_give():
    x, zero = np.array([-0.0, 0.0, -1.0], np.float32), np.zeros((), np.float32)
    [clipped] = PLAIN[ClipOp](made(ClipOp, x, zero), (x, zero)) or []
    assert clipped.tobytes() == np.maximum(x, zero).tobytes()


def test_from_a_float_to_an_integer_the_onnx_package_is_asked():
    op = made(CastOp, FLOATS, to=element_of(np.dtype("i4")).type)
    assert PLAIN[CastOp](op, (FLOATS,)) is None


def test_what_does_not_fit_is_an_error_of_the_input():
    op = made(ConcatOp, FLOATS, FLOATS, axis=0)
    assert isinstance(op.results[0].type, TensorType)
    with pytest.raises(InputError, match="cannot be evaluated"):
        evaluate(op, [FLOATS, OTHER])


def test_what_is_only_moved_or_repeated_is_a_view():
    large = np.array([1 << 40, 1 << 10])  # no memory has room for it
    [repeated] = evaluate(ConstantOfShapeOp(constant(large, MODULE).output), [large])
    assert (repeated.shape, repeated.strides) == (tuple(large), (0, 0))
    [turned] = evaluate(made(TransposeOp, FLOATS[None], perm=[1, 2, 0]), [FLOATS[None]])
    assert np.shares_memory(turned, FLOATS)
