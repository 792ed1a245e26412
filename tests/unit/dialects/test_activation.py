"""Functions that networks use between layers (activation.py, smooth.py)."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.activation import DropoutOp
from gecc.dialects.ge.dims import symbol
from gecc.dialects.ge.info import Info

from .elementwise_cases import check_scalar, known, op_of, round_trip, shape_data
from .movement_cases import value

T = "tensor<?x64xf32>"
N = symbol("N")

UNARY = [
    "%y = ge.relu %x",
    "%y = ge.leaky_relu %x",
    "%y = ge.leaky_relu %x alpha 0.1",
    "%y = ge.elu %x alpha 2.0",
    "%y = ge.selu %x",
    "%y = ge.selu %x alpha 1.5 gamma 2.0",
    "%y = ge.celu %x alpha 2.0",
    "%y = ge.thresholded_relu %x alpha 0.5",
    "%y = ge.shrink %x bias 0.5 lambd 1.5",
    "%y = ge.sigmoid %x",
    "%y = ge.hard_sigmoid %x",
    "%y = ge.hard_sigmoid %x alpha 0.3 beta 0.25",
    "%y = ge.hard_swish %x",
    "%y = ge.softplus %x",
    "%y = ge.softsign %x",
    "%y = ge.mish %x",
    "%y = ge.gelu %x",
    '%y = ge.gelu %x approximate "tanh"',
    "%y = ge.swish %x",
    "%y = ge.swish %x alpha 1.5",
    "%y = ge.identity %x",
]
OTHERS = [
    "%y = ge.prelu %x, %s : tensor<?x64x8x8xf32>, tensor<64x1x1xf32> -> tensor<?x64x8x8xf32>",
    f"%y = ge.clip %x : {T} -> {T}",
    f"%y = ge.clip %x, %lo : {T}, tensor<f32> -> {T}",
    f"%y = ge.clip %x, none, %hi : {T}, tensor<f32> -> {T}",
    f"%y = ge.clip %x, %lo, %hi : {T}, tensor<f32>, tensor<f32> -> {T}",
    f"%y = ge.dropout %x : {T} -> {T}",
    f"%y = ge.dropout %x, %r seed 7 : {T}, tensor<f32> -> {T}",
]


@pytest.mark.parametrize("line", [f"{u} : {T} -> {T}" for u in UNARY] + OTHERS)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.sigmoid %x : tensor<4xi32> -> tensor<4xi32>", r"must have floats, got tensor<4xi32> \(C1\)"),
        ('%y = ge.gelu %x approximate "erf" : tensor<4xf32> -> tensor<4xf32>', r"none or tanh, got erf \(C2\)"),
        ("%y = ge.prelu %x, %s : tensor<4xf32>, tensor<4xf16> -> tensor<4xf32>", r"one element type.*\(C1\)"),
        ("%y = ge.prelu %x, %s : tensor<4xf32>, tensor<3xf32> -> tensor<4xf32>", r"slope must broadcast.*\(C2\)"),
        ("%y = ge.prelu %x, %s : tensor<1xf32>, tensor<3xf32> -> tensor<3xf32>", r"slope must broadcast.*\(C2\)"),
        ("%y = ge.prelu %x, %s : tensor<4xf32>, tensor<1x4xf32> -> tensor<1x4xf32>", r"slope must broadcast.*\(C2\)"),
        ("%y = ge.clip %x, %l : tensor<4xf32>, tensor<f16> -> tensor<4xf32>", r"one element type.*\(C1\)"),
        ("%y = ge.clip %x, none, %h : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>", r"max must be a scalar.*\(C2\)"),
        ("%y = ge.dropout %x, %r : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>", r"ratio must be a scalar.*\(C1\)"),
        ("%y = ge.relu %x : tensor<4xf32> -> tensor<5xf32>", r"result 0 must be tensor<4xf32>.*\(T\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("unary", UNARY)
def test_function(unary: str, dtype: type) -> None:
    x = np.array([-200, -30, -3, -1.5, -0.5, -0.0, 0, 0.25, 1, 2.5, 7, 50, 300], dtype)
    type_ = f"tensor<13xf{np.dtype(dtype).itemsize * 8}>"
    tolerance = {2: 2e-3, 4: 1e-6, 8: 1e-6}[x.itemsize]
    check_scalar(f"{unary} : {type_} -> {type_}", x, tolerance=tolerance)


@pytest.mark.parametrize("unary", [u for u in UNARY if "thresholded" not in u and "shrink" not in u])
def test_not_a_number_stays_one(unary: str) -> None:
    with np.errstate(all="ignore"):
        y = op_of(f"{unary} : tensor<1xf32> -> tensor<1xf32>").scalar(np, np.array([np.nan], np.float32))
    assert np.isnan(y).all()


def test_infinities_of_what_saturates() -> None:
    x = np.array([-np.inf, np.inf], np.float32)
    for name, wanted in (
        ("sigmoid", [0, 1]),
        ("softplus", [0, np.inf]),
        ("hard_sigmoid", [0, 1]),
        ("elu", [-1, np.inf]),
    ):
        with np.errstate(all="ignore"):
            y = op_of(f"%y = ge.{name} %x : tensor<2xf32> -> tensor<2xf32>").scalar(np, x)
        np.testing.assert_array_equal(y, wanted)


def test_prelu_and_clip_as_functions() -> None:
    x = np.array([[-2, -1, 0.5], [3, -4, np.nan]], np.float32)
    check_scalar("%y = ge.prelu %x, %s : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>", x, np.float32([2, 0, -1]))
    low, high = np.array(-1, np.float32), np.array(1, np.float32)
    bounds = "tensor<f32>, tensor<f32>"
    check_scalar(f"%y = ge.clip %x, %l, %h : tensor<2x3xf32>, {bounds} -> tensor<2x3xf32>", x, low, high)
    # With min above max, all is max.
    check_scalar(f"%y = ge.clip %x, %l, %h : tensor<2x3xf32>, {bounds} -> tensor<2x3xf32>", x, high, low)
    op = op_of("%y = ge.clip %x, none, %h : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>")
    np.testing.assert_array_equal(op.scalar(np, x, high), np.minimum(x, 1))
    check_scalar("%y = ge.clip %x, %l : tensor<2xi32>, tensor<i32> -> tensor<2xi32>", np.int32([-5, 5]), np.int32(0))


def test_free_dims_go_through() -> None:
    assert op_of(f"%y = ge.gelu %x : {T} -> {T}").infer(Info(f32, (N, 64))).dims == (N, 64)
    prelu = op_of("%y = ge.prelu %x, %s : tensor<?x?xf32>, tensor<64xf32> -> tensor<?x64xf32>")
    assert prelu.infer(Info(f32, (N, symbol("C"))), Info(f32, (64,))).dims == (N, 64)
    assert prelu.infer(Info(f32, (N, 0)), Info(f32, (1,))).dims == (N, 0)
    assert op_of("%y = ge.relu %x : tensor<f32> -> tensor<f32>").infer(Info(f32, ())).dims == ()


def test_shape_arithmetic() -> None:
    vector = "tensor<3xi64>"
    assert known(f"%y = ge.relu %x : {vector} -> {vector}", shape_data(N, -3, 5)) == [N, 0, 5]
    assert known(f"%y = ge.identity %x : {vector} -> {vector}", shape_data(N, -3, 5)) == [N, -3, 5]
    clip = f"%y = ge.clip %x, %l, %h : {vector}, tensor<i64>, tensor<i64> -> {vector}"
    low, high = Info(i64, (), np.array(0)), Info(i64, (), np.array(4))
    assert known(clip, shape_data(-1, 3, 9), low, high) == [0, 3, 4]


def test_dropout_that_gives_its_mask_is_not_ours() -> None:
    assert DropoutOp.accepts({"seed": 3}, 3, 1)
    assert not DropoutOp.accepts({}, 1, 2)


def test_dropout_that_may_train_is_refused() -> None:
    data = op_of("%y = ge.relu %x : tensor<2xf32> -> tensor<2xf32>").results[0]
    assert DropoutOp(data, None, value(np.array(False))).hands_on()
    for training in (value(np.array(True)), value("i1")):
        with pytest.raises(VerifyException, match=r"must be a constant and false \(C2\)"):
            DropoutOp(data, None, training)
