"""Order of axes, views, slices and joins, other rearrangements (movement.py, slicing.py, rearrange.py)."""

from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.interfaces import made_for
from gecc.dialects.ge.movement import FlattenOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp
from gecc.dialects.ge.padding import PadOp
from gecc.dialects.ge.rearrange import DepthToSpaceOp, ReverseSequenceOp, SpaceToDepthOp, TriluOp
from gecc.dialects.ge.shapes import FAR, RankUnknown, slice_dim
from gecc.dialects.ge.slicing import ConcatOp, ExpandOp, SliceOp, SplitOp, TileOp
from gecc.reference import evaluate

from .movement_cases import (
    M,
    N,
    array_for,
    built,
    check_tiles,
    data,
    elements,
    free,
    ints,
    module_of,
    op_of,
    round_trip,
    said,
)

V1, V2, V4 = "tensor<1xi64>", "tensor<2xi64>", "tensor<4xi64>"
LINES = [
    "%y = ge.transpose %x perm [0, 2, 1] : tensor<?x4x8xf16> -> tensor<?x8x4xf16>",
    "%y = ge.transpose %x : tensor<?x4x8xf16> -> tensor<8x4x?xf16>",
    f"%y = ge.reshape %x, %s : tensor<2x3x4xf32>, {V2} -> tensor<6x4xf32>",
    f"%y = ge.reshape %x, %s allowzero 1 : tensor<?x4xf32>, {V2} -> tensor<?x?xf32>",
    f"%y = ge.squeeze %x, %a : tensor<?x1x4xf32>, {V1} -> tensor<?x4xf32>",
    "%y = ge.squeeze %x : tensor<2x1x4xf32> -> tensor<2x4xf32>",
    f"%y = ge.unsqueeze %x, %a : tensor<?x4xf32>, {V1} -> tensor<?x1x4xf32>",
    "%y = ge.flatten %x : tensor<?x8x4x4xf32> -> tensor<?x128xf32>",
    "%y = ge.flatten %x axis -1 : tensor<?x8x4x4x!ge.string> -> tensor<?x4x!ge.string>",
    "%y = ge.concat %a, %b axis 1 : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>",
    "%a, %b = ge.split %x axis 1 : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xf32>",
    f"%a, %b = ge.split %x, %n : tensor<8x?xf32>, {V2} -> tensor<6x?xf32>, tensor<2x?xf32>",
    f"%y = ge.slice %x, %s, %e, %a : tensor<?x8xf32>, {V1}, {V1}, {V1} -> tensor<?x4xf32>",
    f"%y = ge.slice %x, %s, %e, none, %t : tensor<?x8xf32>, {V1}, {V1}, {V1} -> tensor<?x8xf32>",
    f'%y = ge.pad %x, %p mode "edge" : tensor<?x8xf32>, {V4} -> tensor<?x10xf32>',
    f"%y = ge.pad %x, %p, %c, %a : tensor<?x8xf32>, {V2}, tensor<f32>, {V1} -> tensor<?x10xf32>",
    "%y = ge.expand %x, %s : tensor<?x1xf32>, tensor<3xi64> -> tensor<2x?x4xf32>",
    f"%y = ge.tile %x, %r : tensor<?x4xf32>, {V2} -> tensor<?x12xf32>",
    "%y = ge.depth_to_space %x blocksize 2 : tensor<?x12x8x8xf32> -> tensor<?x3x16x16xf32>",
    '%y = ge.depth_to_space %x blocksize 2 mode "CRD" : tensor<?x12x8x8xf32> -> tensor<?x3x16x16xf32>',
    "%y = ge.space_to_depth %x blocksize 2 : tensor<?x3x16x16xf32> -> tensor<?x12x8x8xf32>",
    "%y = ge.trilu %x upper 0 : tensor<?x8x8xf32> -> tensor<?x8x8xf32>",
    "%y = ge.trilu %x, %k : tensor<8x8xi1>, tensor<i64> -> tensor<8x8xi1>",
    "%y = ge.reverse_sequence %x, %n : tensor<8x?xf32>, tensor<?xi64> -> tensor<8x?xf32>",
    "%y = ge.reverse_sequence %x, %n batch_axis 0 time_axis 1 : tensor<8x?xf32>, tensor<8xi64> -> tensor<8x?xf32>",
]


@pytest.mark.parametrize("line", LINES)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "constants", "message"),
    [
        (LINES[0].replace("2, 1", "2, 2"), {}, r"perm must be a permutation of 0..2, got \[0, 2, 2\] \(C1\)"),
        ("%y = ge.reshape %x, %s : tensor<4xf32>, tensor<1x1xi64> -> tensor<4xf32>", {}, r"vector of i64.*\(C1\)"),
        ("%y = ge.reshape %x, %s : tensor<4xf32>, tensor<?xi64> -> tensor<4xf32>", {}, r"must be known \(C1\)"),
        (LINES[2], {"s": ints(-1, -1)}, r"at most one -1, got \[-1, -1\] \(C2\)"),
        (LINES[2], {"s": ints(6, -4)}, r"less than -1.*\(C2\)"),
        (f"%y = ge.reshape %x, %s : tensor<4xf32>, {V2} -> tensor<4x1xf32>", {"s": ints(4, 0)}, r"dim 1 is 0.*\(C3\)"),
        (LINES[2], {"s": ints(5, 4)}, r"24 elements cannot be \[5, 4\] \(C4\)"),
        (LINES[2], {"s": ints(-1, 5)}, r"24 elements cannot be \[-1, 5\] \(C4\)"),
        (
            f"%y = ge.reshape %x, %s : tensor<0x4xf32>, {V2} -> tensor<0x4xf32>",
            {"s": ints(0, -1)},
            r"cannot be.*\(C4\)",
        ),
        (LINES[4], {"a": ints(3)}, r"axis must be in \[-3, 2\], got 3 \(C1\)"),
        (LINES[4], {"a": ints(2)}, r"axes \[2\] must be of dim 1.*\(C2\)"),
        ("%y = ge.squeeze %x : tensor<?x1x4xf32> -> tensor<?x4xf32>", {}, r"given where a dim is free.*\(C3\)"),
        (LINES[6], {"a": ints(-4)}, r"axis must be in \[-3, 2\].*\(C1\)"),
        (f"%y = ge.unsqueeze %x, %a : tensor<4xf32>, {V2} -> tensor<1x1x4xf32>", {"a": ints(0, -3)}, r"differ.*\(C1\)"),
        (
            "%y = ge.flatten %x axis 5 : tensor<?x8x4x4xf32> -> tensor<?x1xf32>",
            {},
            r"axis must be in \[-4, 4\].*\(C1\)",
        ),
        (LINES[9].replace("x8xf32>, ", "x8xf32>, ").replace("x8xf32", "x8xf16"), {}, r"one element type.*\(C1\)"),
        (LINES[9].replace("?x8x", "?x8x2x"), {}, r"one rank.*\(C2\)"),
        ("%y = ge.concat %a, %b axis 1 : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x8xf32>", {}, r"dim 0.*2.*\(C2\)"),
        (LINES[9].replace("axis 1", "axis 2"), {}, r"axis must be in \[-2, 1\].*\(C3\)"),
        (LINES[10].replace("axis 1", "axis 2"), {}, r"axis must be in \[-2, 1\].*\(C1\)"),
        (LINES[11].replace(V2, V1), {}, r"split must have 2 lengths.*\(C2\)"),
        (LINES[11], {"n": ints(9, -1)}, r"no length can be negative.*\(C2\)"),
        (LINES[11], {"n": ints(6, 3)}, r"\[6, 3\] must be 8 in all \(C3\)"),
        (LINES[12].replace(f"{V1} ->", f"{V2} ->"), {}, r"axes must have 1 elements.*\(C1\)"),
        (LINES[12], {"a": ints(2)}, r"axis must be in \[-2, 1\].*\(C2\)"),
        (LINES[13], {"t": ints(0)}, r"no step can be 0.*\(C3\)"),
        (LINES[14].replace("edge", "zero"), {}, r"mode must be constant, reflect, edge or wrap, got zero \(C1\)"),
        (LINES[14].replace(V4, V2), {}, r"pads must have 4 elements.*\(C2\)"),
        (LINES[15], {"a": ints(2)}, r"axis must be in \[-2, 1\].*\(C3\)"),
        (LINES[15].replace("tensor<f32>", "tensor<2xf32>"), {}, r"constant_value must be one element.*\(C4\)"),
        (LINES[14], {"p": ints(0, -5, 0, -4)}, r"dim of the result can be negative.*\(C5\)"),
        (LINES[16], {"s": ints(2, 1, -4)}, r"no dim can be negative.*\(C1\)"),
        ("%y = ge.expand %x, %s : tensor<3xf32>, tensor<1xi64> -> tensor<2xf32>", {"s": ints(2)}, r"broadcast.*\(C2\)"),
        (LINES[17].replace(V2, V1), {}, r"repeats must be 2 numbers.*\(C1\)"),
        (LINES[18].replace("12x8x8", "96x8"), {}, r"two spatial axes.*\(C1\)"),
        (LINES[19].replace("CRD", "RCD"), {}, r"mode must be DCR or CRD, got RCD \(C2\)"),
        (LINES[18].replace("x12x", "x10x"), {}, r"channels must be a multiple of 4, got 10 \(C3\)"),
        (LINES[20].replace("blocksize 2", "blocksize 3"), {}, r"the height must be a multiple of 3, got 16 \(C3\)"),
        (LINES[20].replace("blocksize 2", "blocksize 0"), {}, r"blocksize must be positive, got 0 \(C3\)"),
        ("%y = ge.trilu %x : tensor<8xf32> -> tensor<8xf32>", {}, r"at least two axes.*\(C1\)"),
        (LINES[22].replace("<i64>", "<i32>"), {}, r"k must be one element of i64.*\(C2\)"),
        (LINES[23].replace("8x?", "8"), {}, r"at least two axes.*\(C1\)"),
        (LINES[23].replace("%n :", "%n batch_axis 0 :"), {}, r"0 and 1 or 1 and 0, got 0 and 0 \(C2\)"),
        (LINES[24].replace("8xi64", "7xi64"), {}, r"vector of 8 elements.*\(C3\)"),
    ],
)
def test_constraint(line: str, constants: dict[str, object], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        module_of(line, **constants).verify()


# ------------------------------------------------------------------ dims


@pytest.mark.parametrize(
    ("x", "shape", "dims"),
    [
        ((N, 3, 4), (0, -1), ("N", "12")),
        ((N, 3, 4), (-1, 4), ("3*N", "4")),
        ((N, 3, 4), (N, 12), ("N", "12")),
        ((N, M), (-1,), ("M*N",)),
        ((N, M, 8), (N * M, 8), ("M*N", "8")),
        ((N, M, 8), (0, 0, 2, -1), ("N", "M", "2", "4")),
        # What may be -1 is what the others leave.
        ((2, 12), (N - M, 4), ("6", "4")),
        ((N, 4), (N - M, M - N), ("?", "?")),
        ((), (1, 1), ("1", "1")),
        ((1,), (), ()),
        ((0, 3), (0, 3), ("0", "3")),
    ],
)
def test_reshape_resolves_dims_over_symbols(x: tuple[int, ...], shape: tuple[int, ...], dims: tuple[str, ...]) -> None:
    line = f"%y = ge.reshape %x, %s : tensor<*xf32>, {V1} -> tensor<*xf32>".replace("*x", "4x")
    assert said(op_of(line).infer(free(*x), data(*shape))) == dims


def test_reshape_to_a_vector_that_is_not_known_keeps_the_number_of_elements() -> None:
    op = op_of(f"%y = ge.reshape %x, %s : tensor<4xf32>, {V1} -> tensor<4xf32>")
    unknown_vector, unknown_matrix = free(1, element=data(1).element), free(2, element=data(1).element)
    assert said(op.infer(free(N, 4), unknown_vector)) == ("4*N",)
    assert said(op.infer(free(N, 4), unknown_matrix)) == ("?", "?")


def test_allowzero_keeps_a_zero() -> None:
    assert said(built(ReshapeOp, "0x4xf32", ints(3, 0), allowzero=1).inferred()[0]) == ("3", "0")


def test_shape_data_goes_through_views() -> None:
    squeeze, unsqueeze = built(SqueezeOp, "1xi64", ints(0)), built(UnsqueezeOp, "i64", ints(0))
    assert elements(squeeze.infer(data(N), data(0))) == [N]
    assert elements(unsqueeze.infer(squeeze.infer(data(N), data(0)), data(0))) == [N]
    assert elements(built(ReshapeOp, "2xi64", ints(-1)).infer(data(N, 4), data(-1))) == [N, 4]
    assert elements(built(TransposeOp, "2xi64").infer(data(N, 4))) == [N, 4]


def test_a_rank_that_only_a_run_gives_is_refused_by_its_own_error() -> None:
    squeeze = op_of(LINES[4])
    with pytest.raises(RankUnknown, match="length of axes must be known"):
        squeeze.infer(free(N, 1), free(N, element=data(1).element))
    assert said(squeeze.infer(free(N, 1, 4), free(1, element=data(1).element))) == ("?", "?")


def test_flatten_dims() -> None:
    assert said(op_of(LINES[7]).infer(free(N, 8, M))) == ("N", "8*M")
    assert said(built(FlattenOp, "2x3xf32", axis=0).inferred()[0]) == ("1", "6")
    assert said(built(FlattenOp, "2x3xf32", axis=2).inferred()[0]) == ("6", "1")


def test_concat_adds_dims_and_joins_shape_data() -> None:
    op = built(ConcatOp, "2xi64", "1xi64", axis=0)
    assert elements(op.infer(data(N, 3), data(-1))) == [N, 3, -1]
    assert said(op_of(LINES[9]).infer(free(N, 4), free(2, M))) == ("2", "M + 4")


def test_split_dims() -> None:
    equal, listed = op_of(LINES[10]), op_of(LINES[11])
    assert [said(i) for i in equal.infer(free(M, 2 * N), None)] == [("M", "N"), ("M", "N")]
    assert [said(i) for i in equal.infer(free(M, 5), None)] == [("M", "3"), ("M", "2")]
    assert [said(i) for i in listed.infer(free(N, M), data(2, N - 2))] == [("2", "M"), ("N - 2", "M")]
    parts = built(SplitOp, "4xi64", None, results=2).infer(data(N, 1, 2, M), None)
    assert [elements(p) for p in parts] == [[N, 1], [2, M]]


def test_split_says_the_number_of_its_results() -> None:
    assert op_of(LINES[10]).implied() == {"num_outputs": 2}
    assert op_of(LINES[11]).implied() == {}


@pytest.mark.parametrize(
    ("size", "start", "end", "step", "length"),
    [
        (10, 2, FAR, 3, "3"),
        (10, -3, 100, 1, "3"),
        (10, 5, 2, 1, "0"),
        (10, 9, -FAR, -1, "10"),
        (10, -100, -FAR, -1, "1"),
        (0, -1, -FAR, -1, "0"),
        (N, 0, FAR, 1, "N"),
        (N, 0, 2**63 - 1, 1, "N"),
        (N, 1, FAR, 1, "max(0, N - 1)"),
        (N, 1, -1, 1, "max(0, N - 2)"),
        (N, -1, FAR, 1, "min(1, N)"),
        (N, 0, 5, 1, "min(5, N)"),
        (N, -1, -(2**63) + 1, -1, "N"),
        (4 * N, N, 2 * N, 1, "N"),
        (8, 0, N, 1, "min(8, N)"),
        (4 * N, 0, FAR, 2, "2*N"),
    ],
)
def test_slice_length(size: int, start: int, end: int, step: int, length: str) -> None:
    assert str(slice_dim(size, start, end, step)) == length


def test_slice_of_unknown_bounds_keeps_other_dims() -> None:
    op = op_of(LINES[12])
    unknown = free(1, element=data(1).element)
    assert said(op.infer(free(N, 8, 4), unknown, unknown, data(1), None)) == ("N", "?", "4")
    assert said(op.infer(free(N, 8), unknown, data(4), unknown, None)) == ("?", "?")
    assert said(op.infer(free(N, 8), unknown, data(4), None, None)) == ("?", "8")
    assert str(slice_dim(N, 0, N - 4, 1)).startswith("?")  # it may be negative, and count from the end


@pytest.mark.parametrize(
    ("bounds", "want"),
    [((1, 3, 0, 1), [M, 3]), ((-1, -100, 0, -1), [4, 3, M, N]), ((0, 100, 0, 2), [N, 3])],
)
def test_slice_of_shape_data(bounds: tuple[int, ...], want: list[object]) -> None:
    op = built(SliceOp, "4xi64", *(ints(b) for b in bounds))
    assert elements(op.infer(data(N, M, 3, 4), *map(data, bounds))) == want


def test_pad_dims() -> None:
    op = op_of(LINES[15])
    assert said(op.infer(free(N, 8), data(1, 2), None, data(-2))) == ("N + 3", "8")
    assert said(op.infer(free(N, 8), data(-1, N), None, data(1))) == ("N", "N + 7")
    assert said(op.infer(free(N, 8), free(2, element=data(1).element), None, data(1))) == ("N", "?")


def test_expand_and_tile_dims() -> None:
    expand, tile = op_of(LINES[16]), op_of(LINES[17])
    assert said(expand.infer(free(N, 1), data(M, 1, 4))) == ("M", "N", "4")
    assert said(expand.infer(free(3, 1), free(3, element=data(1).element))) == ("?", "3", "?")
    assert elements(built(ExpandOp, "1xi64", ints(3)).infer(data(N), data(3))) == [N, N, N]
    assert said(tile.infer(free(N, 3), data(M, 2))) == ("M*N", "6")
    assert elements(built(TileOp, "2xi64", ints(2)).infer(data(N, 1), data(2))) == [N, 1, N, 1]


def test_blocks_of_free_dims() -> None:
    assert said(op_of(LINES[18]).infer(free(N, 12, M, 8))) == ("N", "3", "2*M", "16")
    assert said(op_of(LINES[20]).infer(free(N, 3, 2 * M, 8))) == ("N", "12", "M", "4")


# ------------------------------------------------------------------ tiles

TILED = [
    built(TransposeOp, "4x3x5xf32", perm=[2, 0, 1]),
    built(ReshapeOp, "4x3x5xf32", ints(0, -1)),
    built(ReshapeOp, "4x3x5xf32", ints(-1, 15)),
    built(ReshapeOp, "4x3x5xf32", ints(0, 0, 5, 1)),
    built(ReshapeOp, "2x3x5xf32", ints(6, -1)),
    built(ReshapeOp, "2x3x5xf32", ints(3, 2, 0)),
    built(SqueezeOp, "4x1x5xf32", ints(-2)),
    built(UnsqueezeOp, "4x5xf32", ints(0, -1)),
    built(FlattenOp, "4x3x5xf32"),
    built(FlattenOp, "1x4x1x5xf32", axis=-1),
    built(ConcatOp, "4x3xf32", "4x2xf32", axis=-1),
    built(SplitOp, "4x6xf32", ints(3, 3), axis=1, results=2),
    built(SplitOp, "6x4xf32", None, results=3),
    built(SliceOp, "4x5x6xf32", ints(-1, 0), ints(-FAR, FAR), ints(1, 0), ints(-2, 1)),
    built(SliceOp, "4x5xf32", ints(1), ints(3)),
    built(PadOp, "4x5xf32", ints(0, 1, 0, 2)),
    built(PadOp, "4x5xf32", ints(1, -2), np.float32(7), ints(-1)),
    built(PadOp, "4x5xf32", ints(0, 2, 0, 2), mode="reflect"),
    built(ExpandOp, "4x1x3xf32", ints(1, 5, 1)),
    built(ExpandOp, "4x3xf32", ints(2, 1, 3)),
    built(TileOp, "4x3xf32", ints(1, 2)),
    built(DepthToSpaceOp, "3x8x2x3xf32", blocksize=2),
    built(DepthToSpaceOp, "3x12x2x3xf32", blocksize=2, mode="CRD"),
    built(SpaceToDepthOp, "3x2x6x4xf32", blocksize=2),
    built(TriluOp, "3x4x5xf32", np.int64(1)),
    built(ReverseSequenceOp, "4x5x3xf32", ints(1, 4, 2, 0, 3)),
]


@pytest.mark.parametrize("op", TILED, ids=lambda op: op.name)
def test_tiles_put_together_are_the_whole(op: object) -> None:
    check_tiles(op)


@pytest.mark.parametrize(
    ("op", "loops"),
    [
        (built(ReshapeOp, "4x6xf32", ints(4, 2, 3)), ("parallel", "whole", "whole")),
        (built(ReshapeOp, "4x6xf32", ints(0, 2, -1)), ("parallel", "whole", "whole")),
        (built(ReshapeOp, "4x6xf32", "2xi64"), ("whole", "whole")),
        (built(SqueezeOp, "4x1x5xf32", None), ("whole", "whole")),
        (built(SliceOp, "4x5xf32", "1xi64", ints(3)), ("whole", "parallel")),
        (built(SliceOp, "4x5xf32", ints(0), ints(FAR)), ("parallel", "parallel")),
        (built(ExpandOp, "1x5xf32", ints(4, 5)), ("parallel", "parallel")),
        (built(TileOp, "1x5xf32", ints(4, 1)), ("whole", "parallel")),
        (built(SplitOp, "5x4xf32", None, results=2), ("whole", "whole")),
        (built(DepthToSpaceOp, "3x8x2x3xf32", blocksize=2), ("parallel", "whole", "parallel", "parallel")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_loops(op: Any, loops: tuple[str, ...]) -> None:
    assert op.loops() == loops


@pytest.mark.parametrize(
    ("op", "rows", "read"),
    [
        (built(SliceOp, "9x2xf32", ints(1), ints(9), None, ints(3)), (1, 2), (4, 4)),
        (built(SliceOp, "9x2xf32", ints(-1), ints(-FAR), None, ints(-2)), (1, 2), (4, 3)),
        (built(PadOp, "9x2xf32", ints(2, 0, 2, 0)), (4, 3), (2, 3)),
        (built(PadOp, "9x2xf32", ints(2, 0, 2, 0), mode="edge"), (10, 3), (8, 1)),
        (built(PadOp, "9x2xf32", ints(3, 0, 3, 0), mode="reflect"), (0, 2), (0, 4)),
        (built(PadOp, "9x2xf32", ints(3, 0, 3, 0), mode="reflect"), (11, 4), (5, 4)),
        (built(PadOp, "9x2xf32", ints(-3, 0, 2, 0)), (0, 2), (3, 2)),
    ],
)
def test_what_a_tile_reads(op: Any, rows: tuple[int, int], read: tuple[int, int]) -> None:
    assert op.operand_tiles((rows, (0, 2)))[0] == (read, (0, 2))


def test_a_tile_that_ends_inside_of_a_block_is_cut_out_of_blocks() -> None:
    op = built(DepthToSpaceOp, "1x4x5x2xf32", blocksize=2)
    for rows, read, made in (((2, 4), (1, 2), ["depth_to_space"]), ((3, 4), (1, 3), ["depth_to_space", "slice"])):
        tile = ((0, 1), (0, 1), rows, (0, 4))
        assert op.operand_tiles(tile)[0][2] == read
        of_tile = op.on_tile(tile, built(DepthToSpaceOp, f"1x4x{read[1]}x2xf32", blocksize=2).operands)
        names = [each.name.removeprefix("ge.") for each in made_for(of_tile)]
        assert [name for name in names if name not in ("test.op", "constant")] == made


def test_a_start_never_falls_off_the_end_that_the_slice_walks_towards() -> None:
    op = built(SliceOp, "3xf32", ints(-9), ints(-FAR), ints(0), ints(-1))
    assert said(op.inferred()[0]) == ("1",)


@pytest.mark.parametrize("op", TILED, ids=lambda op: op.name)
def test_inferred_shapes_are_those_of_the_reference(op: Any) -> None:
    arrays = [array_for(v, np.random.default_rng(0)) for v in op.operands]
    for array, info in zip(evaluate(op, arrays), op.inferred(), strict=True):
        assert array.shape == info.dims
