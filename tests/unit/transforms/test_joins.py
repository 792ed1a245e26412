"""What lies side by side, as the planners see it, and that they count its copies in tiles as the loops do them."""

from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.planning import Part
from gecc.transforms.l2.judged import judged
from gecc.transforms.l2.l2_fusion import L2Fusion
from gecc.transforms.l2.piece import describe
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()

T, T2 = "tensor<4x16x256x256xf16>", "tensor<4x32x256x256xf16>"
W, W2 = "tensor<16x16x3x3xf16>", "tensor<16x32x3x3xf16>"
DECODER = f"""
func.func @main(%x: {T}) -> {T} {{
  %w = ge.constant #ge.splat<0.5> : {W}
  %v = ge.constant #ge.splat<0.5> : {W2}
  %skip = ge.conv %x, %w pads [1, 1, 1, 1] : {T}, {W} -> {T}
  %far = ge.softmax %skip axis 1 : {T} -> {T}
  %up = ge.conv %far, %w pads [1, 1, 1, 1] : {T}, {W} -> {T}
  %both = ge.concat %up, %skip axis 1 : {T}, {T} -> {T2}
  %y = ge.conv %both, %v pads [1, 1, 1, 1] : {T2}, {W2} -> {T}
  func.return %y : {T}
}}"""


def test_a_join_has_its_operands_as_parts_and_its_reader_reads_them_through_it():
    (function,) = functions(parse_module(CONTEXT, DECODER, "test"))
    machine = L2Fusion(l2_size=8).machine()
    described = describe(function, judged(function, machine, 4096).lying)
    assert described is not None
    piece = described.piece
    names = {tensor.name: k for k, tensor in enumerate(piece.tensors)}
    (join,) = piece.joins
    assert join.parts == (Part(names["up"], in_place=True), Part(names["skip"]))  # softmax reads skip as well
    assert (join.at, join.last) == (3, 3)
    assert piece.ops[3].via == (0, 0, -1)


def test_the_plan_counts_what_the_loops_copy():
    module = parse_module(CONTEXT, DECODER, "test")
    L2Fusion(l2_size=5, cache="write-allocate", blacklist="Softmax").apply(CONTEXT, module)
    (function,) = functions(module)
    said = function.attributes["ge.l2_traffic"]
    model, judge = (said.data[f"{who}_after"].value.data for who in ("model", "judge"))  # type: ignore[attr-defined]
    assert "ge.fusion" in {op.name for op in function.body.block.ops}
    assert "ge.concat" not in {op.name for op in function.body.block.ops}
    assert model == judge  # without the copies, which fetch what they write over, it is 1 % less
