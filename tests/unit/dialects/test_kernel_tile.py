"""#ge.kernel_tile: its text and constraints, and that who makes an op anew, or a part of another, leaves it out."""

import re

import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge import GeOp
from gecc.dialects.ge.kernel_tile import kernel_tile_of
from gecc.transforms.fusion.fusion import fuse

from .text_cases import parsed, round_trip

T = "tensor<8x4xf32>"
TILE = "attributes {ge.kernel_tile = #ge.kernel_tile<axis = 0, size = 2>}"
SOURCE = f'%x = "test.op"() : () -> {T}\n'


def test_an_op_a_fusion_and_a_launch_say_how_they_walk():
    text = round_trip(f"""
    {SOURCE}
    %y = ge.exp %x {TILE} : {T} -> {T} onnx "Exp" ["y"]
    %z = ge.fusion "f" (%a = %x : {T}) -> ({T}) {TILE} {{
      ge.yield %a : {T}
    }}
    %m = "test.op"() : () -> memref<8x4xf32>
    ge.launch outs(%m : memref<8x4xf32>) {TILE} {{
      %a = ge.constant #ge.splat<1.0> : {T}
      ge.yield %a : {T}
    }}
    """)
    assert text.count("ge.kernel_tile<axis = 0, size = 2>") == 3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("axis = -1, size = 2", "axis must be at least 0 and size at least 1, got -1 and 2 (C1)"),
        ("axis = 0, size = 0", "axis must be at least 0 and size at least 1, got 0 and 0 (C1)"),
    ],
)
def test_a_tile_is_of_an_axis_and_not_empty(body: str, words: str):
    with pytest.raises(VerifyException, match=re.escape(words)):
        parsed(f"{SOURCE}%y = ge.exp %x attributes {{ge.kernel_tile = #ge.kernel_tile<{body}>}} : {T} -> {T}")


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (f"ge.exp %x attributes {{ge.kernel_tile = 2 : i64}} : {T} -> {T}",
         "must be a #ge.kernel_tile, got 2 : i64 (K1)"),
        (f"ge.exp %x {TILE.replace('axis = 0', 'axis = 2')} : {T} -> {T}",
         "ge.kernel_tile has axis 2, which tensor<8x4xf32> has not (K2)"),
        (f'ge.fusion "f" (%a = %x : {T}) -> ({T}) {{ %b = ge.exp %a {TILE} : {T} -> {T} ge.yield %b : {T} }}',
         "for an op that stands alone, not for one in a 'ge.fusion' (K3)"),
        (f'ge.fusion "f" (%a = %x : {T}) -> ({T}) tiling #ge.l2_tiling<axes = [0], tile = [2], tiles = 4, '
         f"weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {TILE} "
         f"{{ ge.yield %a : {T} }}", "for an op that stands alone, not for an L2 group (K3)"),
    ],
)  # fmt: skip
def test_a_kernel_tile_is_of_an_op_that_walks(op: str, words: str):
    with pytest.raises(VerifyException, match=re.escape(words)):
        parsed(f"{SOURCE}%y = {op}").verify()


def exp(text: str) -> GeOp:
    return next(op for op in parsed(text).walk() if isinstance(op, GeOp))


def test_an_op_on_other_operands_walks_by_the_rule():
    op = exp(f"{SOURCE}%y = ge.exp %x {TILE} : {T} -> {T}")
    assert kernel_tile_of(op) == (0, 2)
    assert kernel_tile_of(op.rebuilt(list(op.operands))) is None


def test_an_op_that_is_fused_does_not_walk_by_itself():
    op = exp(f"{SOURCE}%y = ge.exp %x {TILE} : {T} -> {T}")
    fusion = fuse([op], "f")
    fusion.verify()
    assert (kernel_tile_of(fusion), kernel_tile_of(op)) == (None, None)
