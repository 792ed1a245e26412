"""Products (contraction.py, einsum.py, quantized.py)."""

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.contraction import GemmOp, MatMulOp
from gecc.dialects.ge.einsum import EinsumOp
from gecc.reference import evaluate as reference

from .movement_cases import M, N, built, check_tiles, free, op_of, round_trip, said

Q = "%sa, %za, %b, %sb, %zb, %sy, %zy"


@pytest.mark.parametrize(
    "line",
    [
        "%y = ge.matmul %a, %b : tensor<?x12x64x32xf32>, tensor<32x48xf32> -> tensor<?x12x64x48xf32>",
        "%y = ge.matmul %a, %b : tensor<3xf16>, tensor<5x3x4xf16> -> tensor<5x4xf16>",
        "%y = ge.matmul %a, %b : tensor<3xi32>, tensor<3xi32> -> tensor<i32>",
        '%y = ge.einsum %a, %b equation "bij,bjk->bik" : tensor<?x4x8xf32>, tensor<?x8x2xf32> -> tensor<?x4x2xf32>',
        "%y = ge.gemm %a, %b : tensor<?x8xf32>, tensor<8x4xf32> -> tensor<?x4xf32>",
        "%y = ge.gemm %a, %b, %c alpha 0.5 beta 2.0 transA 1 transB 1"
        " : tensor<8x2xf32>, tensor<4x8xf32>, tensor<4xf32> -> tensor<2x4xf32>",
        "%y = ge.matmul_integer %a, %b, none, %z : tensor<4x8xui8>, tensor<8x2xi8>, tensor<2xi8> -> tensor<4x2xi32>",
        f"%y = ge.qlinear_matmul %a, {Q} : tensor<4x8xui8>, tensor<4xf32>, tensor<4xui8>, tensor<8x2xi8>,"
        " tensor<2xf32>, tensor<2xi8>, tensor<f32>, tensor<ui8> -> tensor<4x2xui8>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


def matmul(a: str, b: str) -> str:
    return f"%y = ge.matmul %a, %b : tensor<{a}>, tensor<{b}> -> tensor<4x2xf32>"


def gemm(a: str, b: str, c: str = "f32", attributes: str = "") -> str:
    return f"%y = ge.gemm %a, %b, %c {attributes} : tensor<{a}>, tensor<{b}>, tensor<{c}> -> tensor<4x2xf32>"


def integers(za: str, zb: str, a: str = "4x8xui8") -> str:
    types = f"tensor<{a}>, tensor<8x2xi8>, tensor<{za}>, tensor<{zb}>"
    return f"%y = ge.matmul_integer %a, %b, %za, %zb : {types} -> tensor<4x2xi32>"


def qlinear(sa: str = "tensor<f32>", za: str = "tensor<ui8>", sb: str = "tensor<f32>") -> str:
    return (
        f"%y = ge.qlinear_matmul %a, {Q} : tensor<4x8xui8>, {sa}, {za}, tensor<8x2xi8>, {sb}, tensor<i8>, tensor<f32>,"
        " tensor<ui8> -> tensor<4x2xui8>"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (matmul("f32", "8x2xf32"), r"a and b must have axes.*\(C1\)"),
        (matmul("4x8xf32", "7x2xf32"), r"summed over must agree, got 8 and 7 \(C2\)"),
        (matmul("8xf32", "7xf32"), r"summed over must agree, got 8 and 7 \(C2\)"),
        (matmul("3x4x8xf32", "2x8x2xf32"), r"equal or 1 to broadcast, got 3 and 2 \(C3\)"),
        (matmul("4x8xf32", "8x2xf16"), r"one element type, got f32 and f16 \(C4\)"),
        (gemm("8xf32", "8x2xf32"), r"a and b must be matrices.*\(C1\)"),
        (gemm("8x4xf32", "8x2xf32"), r"columns of a' must be rows of b', got 4 and 8 \(C2\)"),
        (gemm("4x8xf32", "8x2xf32", attributes="transB 1"), r"columns of a' must be rows of b', got 8 and 2 \(C2\)"),
        (gemm("4x8xf32", "8x2xf32", "3xf32"), r"c must broadcast to \[4, 2\], got tensor<3xf32> \(C3\)"),
        (gemm("4x8xf32", "8x2xf32", "1x4x2xf32"), r"c must broadcast.*\(C3\)"),
        (gemm("4x8xf32", "8x2xf32", "2xf16"), r"one element type.*\(C4\)"),
        (integers("i8", "i8"), r"one element type, got ui8 and i8 \(C4\)"),
        (integers("8xui8", "i8"), r"a_zero_point must be one number, a vector of 4 or .*\[4, 1\].*\(C5\)"),
        (integers("ui8", "8xi8"), r"b_zero_point must be one number, a vector of 2 or .*\[1, 2\].*\(C5\)"),
        (qlinear(za="tensor<i8>"), r"one element type, got ui8 and i8 \(C4\)"),
        (qlinear(sb="tensor<f16>"), r"one element type, got f32 and f16 \(C4\)"),
        (qlinear(sa="tensor<8xf32>"), r"a_scale must be one number.*\(C5\)"),
        (qlinear(sb="tensor<4xf32>"), r"b_scale must be one number.*\(C5\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 4))],
)
def test_ranks_are_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    op = built(MatMulOp, *("x".join(map(str, s)) + "xf32" for s in (a, b)))
    assert op.results[0].type.get_shape() == np.matmul(np.zeros(a), np.zeros(b)).shape
    check_tiles(op, tile=1)


def test_free_dims() -> None:
    op = op_of("%y = ge.matmul %a, %b : tensor<?x?x32xf32>, tensor<?x32x?xf32> -> tensor<?x?x?xf32>")
    assert said(op.infer(free(N, M, 32), free(1, 32, M))) == ("N", "M", "M")
    assert said(op.infer(free(N, M, N), free(N, M, 4))) == ("N", "M", "4")  # N and M may be equal
    op = op_of("%y = ge.gemm %a, %b transA 1 : tensor<?x?xf32>, tensor<?x4xf32> -> tensor<?x4xf32>")
    assert said(op.infer(free(N, M), free(N, 4), None)) == ("M", "4")


@pytest.mark.parametrize(
    ("equation", "operands", "message"),
    [
        ("i1->i", ("2x3xf32",), r"letters and at most one ellipsis, got 'i1' \(C1\)"),
        ("......->...", ("2x3xf32",), r"letters and at most one ellipsis.*\(C1\)"),
        ("ij->ik", ("2x3xf32",), r"letters of the inputs, each once.*got 'ik' \(C1\)"),
        ("ij->ii", ("2x3xf32",), r"letters of the inputs, each once.*\(C1\)"),
        ("...j->j", ("2x3xf32",), r"letters of the inputs, each once, and their ellipsis.*\(C1\)"),
        ("ij,jk->ik", ("2x3xf32",), r"a term for each of 1 inputs, got 2 \(C2\)"),
        ("i->i", ("2x3xf32",), r"'i' must have a letter for each of 2 axes \(C2\)"),
        ("ijk...->i", ("2x3xf32",), r"'ijk...' must have a letter for each of 2 axes \(C2\)"),
        ("ij,jk->ik", ("2x3xf32", "4x5xf32"), r"equal or 1 to broadcast, got 3 and 4 \(C3\)"),
        ("ij,jk->ik", ("2x3xf32", "3x5xi32"), r"one element type.*\(C4\)"),
    ],
)
def test_constraint_of_equations(equation: str, operands: tuple[str, ...], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        built(EinsumOp, *operands, equation=equation)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", ((2, 3), (3, 4))),
        ("ba", ((2, 3),)),
        ("b...a", ((2, 3, 4),)),
        ("ii", ((3, 3),)),
        ("...ij , jk -> k...i", ((5, 2, 3), (3, 4))),
        ("->", ((),)),
        ("...,...->...", ((2, 1), (3,))),
        ("aA,Ab", ((2, 3), (3, 4))),
    ],
)
def test_equations_are_numpys(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    op = built(EinsumOp, *("x".join([*map(str, s), "f32"]) for s in shapes), equation=equation)
    assert op.results[0].type.get_shape() == np.einsum(equation, *(np.zeros(s) for s in shapes)).shape


def test_free_dims_of_equations() -> None:
    op = built(EinsumOp, "?x4x?xf32", "?x?xf32", equation="bij,jk->bik")
    assert said(op.infer(free(N, 4, M), free(M, N))) == ("N", "4", "N")
    assert built(EinsumOp, "2x4x8xf32", "8x3xf32", equation="bij,jk->bik").flops() == 2 * 2 * 4 * 8 * 3


def test_tiles_of_both_sides() -> None:
    op = built(GemmOp, "8x5xf32", "4x8xf32", "5x1xf32", transA=1, transB=1)
    assert op.operand_tiles(((1, 2), (0, 3))) == [((0, 8), (1, 2)), ((0, 3), (0, 8)), ((1, 2), (0, 1))]
    check_tiles(op)
    # Zero points go with the rows of a and the columns of b.
    op = op_of(integers("4xui8", "1x2xi8"))
    assert op.operand_tiles(((1, 2), (1, 1)))[2:] == [((1, 2),), ((0, 1), (1, 1))]
    check_tiles(op, tile=1)


def test_a_result_with_several_scales_is_not_cut() -> None:
    line = qlinear().replace("tensor<f32>, tensor<ui8> ->", "tensor<4x1xf32>, tensor<4x1xui8> ->")
    assert op_of(qlinear()).loops() == ("parallel", "parallel", "reduction")
    assert op_of(line).loops() == ("whole", "whole", "reduction")


def test_work() -> None:
    assert (
        op_of("%y = ge.matmul %a, %b : tensor<5x4x8xf32>, tensor<8x2xf32> -> tensor<5x4x2xf32>").flops()
        == 5 * 4 * 2 * 16
    )
    assert op_of(gemm("4x8xf32", "8x2xf32")).flops() == 4 * 2 * 17


def test_zero_points_of_rows() -> None:
    a, b = np.array([[1, 2], [3, 4], [5, 6]], np.uint8), np.array([[1], [-1]], np.int8)
    op = op_of("%y = ge.matmul_integer %a, %b, %za : tensor<3x2xui8>, tensor<2x1xi8>, tensor<3xui8> -> tensor<3x1xi32>")
    # Rows less 0, 1 and 9: 1 - 2, 2 - 3, -4 + 3.
    assert reference(op, [a, b, np.array([0, 1, 9], np.uint8)])[0].tolist() == [[-1], [-1], [-1]]
    op = op_of("%y = ge.matmul_integer %a, %b, %za : tensor<3x2xui8>, tensor<2xi8>, tensor<3xui8> -> tensor<3xi32>")
    b = np.array([1, 1], np.int8)
    assert reference(op, [a, b, np.array([0, 1, 9], np.uint8)])[0].tolist() == [3, 5, -7]


def test_rounding_and_saturation() -> None:
    types = (
        "tensor<1x1xui8>, tensor<f32>, tensor<ui8>, tensor<1x4xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>"
    )
    op = op_of(f"%y = ge.qlinear_matmul %a, {Q} : {types} -> tensor<1x4xui8>")
    a, b = np.array([[1]], np.uint8), np.array([[1, 3, -50, 127]], np.int8)
    scales = [np.array(v, np.float32) for v in (1, 4, 2)]
    zeros = [np.array(0, np.uint8), np.array(0, np.int8), np.array(10, np.uint8)]
    scales[1] = np.array(1, np.float32)
    # 0.5 and 1.5 go to the even 0 and 2; 10 - 25 and 10 + 63.5 -> 74 (to even).
    found = reference(op, [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]])[0]
    assert found.tolist() == [[10, 12, 0, 74]]
