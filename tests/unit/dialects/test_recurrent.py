"""Recurrent networks (recurrent.py)."""

import pytest
from onnx import TensorProto, helper
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.recurrent import GRUOp, LSTMOp, RNNOp
from gecc.frontend import export_model, import_model

from .movement_cases import M, N, built, free, op_of, round_trip

X, STATE = "tensor<5x2x3xf32>", "tensor<1x2x4xf32>"
W, R, B = "tensor<1x16x3xf32>", "tensor<1x16x4xf32>", "tensor<1x32xf32>"
Y = "tensor<5x1x2x4xf32>"


@pytest.mark.parametrize(
    "line",
    [
        f"%y, %h, %c = ge.lstm %x, %w, %r, %b hidden_size 4 : {X}, {W}, {R}, {B} -> {Y}, {STATE}, {STATE}",
        f"%h = ge.lstm %x, %w, %r : {X}, {W}, {R} -> none, {STATE}",
        f"%y = ge.lstm %x, %w, %r, none, %l, none, none, %p clip 0.5 input_forget 1 : {X}, {W}, {R}, tensor<2xi32>,"
        f" tensor<1x12xf32> -> {Y}",
        f'%y = ge.gru %x, %w, %r activations ["Tanh", "Relu"] activation_alpha [0.5] linear_before_reset 1 : {X},'
        f" tensor<1x12x3xf32>, tensor<1x12x4xf32> -> {Y}",
        f'%y, %h = ge.rnn %x, %w, %r direction "bidirectional" layout 1 : {X}, tensor<2x4x3xf32>, tensor<2x4x4xf32>'
        " -> tensor<5x2x2x4xf32>, tensor<5x2x4xf32>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f'%y = ge.lstm %x, %w, %r direction "up" : {X}, {W}, {R} -> {Y}', r"direction must be one of.*\(C1\)"),
        (f"%y = ge.lstm %x, %w, %r layout 2 : {X}, {W}, {R} -> {Y}", r"layout 0 or 1.*\(C1\)"),
        (f"%y = ge.lstm %x, %w, %r : tensor<5x3xf32>, {W}, {R} -> {Y}", r"x must have rank 3.*\(C2\)"),
        (f"%y = ge.lstm %x, %w, %r : {X}, tensor<1x12x3xf32>, {R} -> {Y}", r"w and r must be \[1, 4 \* hidden.*\(C3\)"),
        (f"%y = ge.lstm %x, %w, %r : {X}, tensor<1x16x7xf32>, {R} -> {Y}", r"the 3 inputs of x.*\(C3\)"),
        (f"%y = ge.lstm %x, %w, %r hidden_size 5 : {X}, {W}, {R} -> {Y}", r"hidden_size must be 4, got 5 \(C3\)"),
        (f"%y = ge.lstm %x, %w, %r, %b : {X}, {W}, {R}, tensor<1x16xf32> -> {Y}", r"b must be \[1, 32\].*\(C4\)"),
        (f"%y = ge.lstm %x, %w, %r, none, %l : {X}, {W}, {R}, tensor<5xi32> -> {Y}", r"must be \[2\].*\(C5\)"),
        (f"%y = ge.lstm %x, %w, %r, none, %l : {X}, {W}, {R}, tensor<2xi64> -> {Y}", r"must be of i32.*\(C5\)"),
        (
            f"%y = ge.lstm %x, %w, %r, none, none, %h : {X}, {W}, {R}, tensor<2x1x4xf32> -> {Y}",
            r"initial_h must be \[1, 2, 4\].*\(C6\)",
        ),
        (f"%y = ge.lstm %x, %w, %r : {X}, {W}, tensor<1x16x4xf16> -> {Y}", r"one element type.*\(C7\)"),
        (
            f"%y = ge.lstm %x, %w, %r, none, none, none, none, %p : {X}, {W}, {R}, tensor<1x8xf32> -> {Y}",
            r"p must be \[1, 12\].*\(C8\)",
        ),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


@pytest.mark.parametrize(("cls", "gates"), [(LSTMOp, 4), (GRUOp, 3), (RNNOp, 1)])
def test_dims_with_a_free_batch_and_free_steps(cls, gates: int) -> None:
    op = built(cls, "?x?x3xf32", f"1x{gates * 4}x3xf32", f"1x{gates * 4}x4xf32", results=2)
    given = [free(M, N, 3), free(1, gates * 4, 3), free(1, gates * 4, 4)]
    y, h = op.infer(*given, *[None] * (len(cls.slots) - 3))
    assert [str(d) for d in y.dims] == ["M", "1", "N", "4"]
    assert h.dims == (1, N, 4)


def test_work_is_that_of_the_products() -> None:
    op = built(LSTMOp, "5x2x3xf32", "1x16x3xf32", "1x16x4xf32")
    assert op.flops() == 2 * 5 * 2 * 16 * (3 + 4)


@pytest.mark.parametrize("opset", [7, 14, 22])
def test_a_node_comes_back_as_it_was(opset: int) -> None:
    attrs = {"hidden_size": 4, "direction": "bidirectional", "activations": ["Tanh", "Relu"], "clip": 2.0}
    attrs |= {"layout": 1} if opset >= 14 else {}
    node = helper.make_node("RNN", ["x", "w", "r", "", "l"], ["", "h"], name="rnn", **attrs)
    info = helper.make_tensor_value_info
    inputs = [info("x", 1, [5, 5, 3]), info("w", 1, [2, 4, 3]), info("r", 1, [2, 4, 4]), info("l", 6, [5])]
    dims = [5, 2, 4] if opset >= 14 else [2, 5, 4]
    graph = helper.make_graph([node], "g", inputs, [info("h", TensorProto.FLOAT, dims)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    module = import_model(model)
    assert "ge.rnn" in str(module)
    [back] = export_model(module).graph.node
    assert sorted(back.attribute, key=lambda a: a.name) == sorted(node.attribute, key=lambda a: a.name)
    assert (list(back.input), list(back.output), back.name) == (list(node.input), list(node.output), "rnn")
