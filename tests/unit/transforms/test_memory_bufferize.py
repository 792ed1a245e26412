"""What ge-bufferize refuses, counts and costs; where a fusion's result must not lie over an operand."""

import time

import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.errors import InputError
from gecc.dialects.ge.memory import LaunchOp
from gecc.dialects.ge.text import parse_module
from gecc.dialects.ge.types import tensor_type
from gecc.driver.registry import default_registry
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.report import Report, collecting

CONTEXT = default_registry(lambda text: None).context()


def parse(text: str) -> ModuleOp:
    return parse_module(CONTEXT, text, "test")


def bufferized(text: str) -> tuple[ModuleOp, Report]:
    module, report = parse(text), Report()
    with collecting(report):
        GeBufferize().apply(CONTEXT, module)
    module.verify()
    return module, report


def in_place(text: str) -> list[bool]:
    """For each launch, whether a result lies over an operand."""
    module, _ = bufferized(text)
    return [any(v in op.ins for v in op.outs) for op in module.walk() if isinstance(op, LaunchOp)]


def test_a_free_dim_is_refused_with_the_flag_to_give():
    text = 'func.func @main(%x: tensor<?x3xf32> {onnx.name = "x"}) { func.return }'
    with pytest.raises(InputError, match=r"input 'x' is tensor<\?x3xf32> with a dim free.*--input-shape=x:\?,3 with"):
        bufferized(text)


def test_calls_are_refused():
    text = """
        func.func @g(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }
        func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
          %y = func.call @g(%x) : (tensor<3xf32>) -> tensor<3xf32>
          func.return %y : tensor<3xf32>
        }"""
    with pytest.raises(InputError, match="function @main calls another one"):
        bufferized(text)


def test_several_blocks_are_refused():
    text = "func.func @main() {\n cf.br ^bb1\n ^bb1:\n func.return }"
    with pytest.raises(InputError, match="function @main has several blocks"):
        bufferized(text)


def test_counts():
    _, report = bufferized("""
        func.func @main(%x: tensor<16xf32>) -> (tensor<4x4xf32>, tensor<1x?xi64>) {
          %s = ge.constant dense<[4, 4]> : tensor<2xi64>
          %a = ge.exp %x : tensor<16xf32> -> tensor<16xf32>
          %b = ge.relu %a : tensor<16xf32> -> tensor<16xf32>
          %n = ge.opaque "NonZero" version 13 pure (%b) : (tensor<16xf32>) -> (tensor<1x?xi64>)
          %v = ge.reshape %x, %s : tensor<16xf32>, tensor<2xi64> -> tensor<4x4xf32>
          func.return %v, %n : tensor<4x4xf32>, tensor<1x?xi64>
        }""")
    assert report.counts == {
        "launches": 2,
        "in place": 1,
        "bytes in place": 64,
        "views": 1,
        "bytes of views": 64,
        "copies": 1,
        "host segments": 1,
        "host ops": 1,
        "arena bytes": 64,
        "lower bound bytes": 64,
        "tensor bytes": 128,
    }


FUSION = """
    func.func @main(%x: tensor<4x4xf32>) -> tensor<1x1xf32> {{
      %a = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
      %f = ge.fusion "f" (%b = %a : tensor<4x4xf32>, %c = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {{
        {body}
        ge.yield %y : tensor<4x4xf32>
      }}
      %r = ge.reduce_sum %f : tensor<4x4xf32> -> tensor<1x1xf32>
      func.return %r : tensor<1x1xf32>
    }}"""
T = "tensor<4x4xf32>"


@pytest.mark.parametrize(
    ("why", "body", "holds"),
    [
        (
            "swish reads its operand twice, both times index by index",
            f"%0 = ge.sigmoid %b : {T} -> {T}\n %y = ge.mul %b, %0 : {T}, {T} -> {T}",
            True,
        ),
        (
            "a product reads whole rows of the operand before the addition writes them",
            f"%0 = ge.matmul %b, %c : {T}, {T} -> {T}\n %y = ge.add %0, %b : {T}, {T} -> {T}",
            False,
        ),
        (
            "what the operand becomes is read by a product: with tiles, after other tiles were written",
            f"%0 = ge.relu %b : {T} -> {T}\n %y = ge.matmul %0, %c : {T}, {T} -> {T}",
            False,
        ),
        (
            "the result does not depend on the operand, which is read by another op",
            f"%y = ge.relu %c : {T} -> {T}\n %0 = ge.relu %b : {T} -> {T}",
            False,
        ),
        ("the operand itself is yielded: nobody computes it", f"%y = ge.identity %c : {T} -> {T}", False),
    ],
)
def test_fusions_in_place(why: str, body: str, holds: bool):
    assert in_place(FUSION.format(body=body))[1] is holds, why


def test_a_result_read_after_it_is_written_over_its_operand():
    """%y over %a would be read by the second addition in %a's place, where the body runs op by op."""
    assert in_place("""
        func.func @main(%x: tensor<4xf32>) -> (tensor<1xf32>, tensor<4xf32>) {
          %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
          %y, %z = ge.fusion "f" (%b = %a : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
            %0 = ge.relu %b : tensor<4xf32> -> tensor<4xf32>
            %1 = ge.add %b, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
            ge.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
          }
          %r = ge.reduce_sum %y : tensor<4xf32> -> tensor<1xf32>
          func.return %r, %z : tensor<1xf32>, tensor<4xf32>
        }""") == [False, False, False]


def test_only_one_result_lies_over_an_operand():
    found = in_place("""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
          %y, %z = ge.fusion "f" (%b = %a : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
            %0 = ge.relu %b : tensor<4xf32> -> tensor<4xf32>
            %1 = ge.exp %b : tensor<4xf32> -> tensor<4xf32>
            ge.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
          }
          %r = ge.add %y, %z : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
          func.return %r : tensor<4xf32>
        }""")
    assert found == [False, True, False]


def test_what_a_body_captures_is_not_written_over():
    """The conditional reads %a from outside after %b was computed."""
    assert in_place("""
        func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
          %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
          %b = ge.relu %a : tensor<4xf32> -> tensor<4xf32>
          %y = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
            ge.yield %a : tensor<4xf32>
          } else {
            ge.yield %b : tensor<4xf32>
          }
          func.return %y : tensor<4xf32>
        }""") == [False, False]


def test_results_that_nobody_reads_have_no_buffer():
    module, _ = bufferized("""
        func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
          %a, %b = ge.split %x : tensor<4xf32> -> tensor<2xf32>, tensor<2xf32>
          func.return %b : tensor<2xf32>
        }""")
    [launch] = [op for op in module.walk() if isinstance(op, LaunchOp)]
    assert len(launch.outs) == 1


def chain(length: int) -> ModuleOp:
    """Length ops: exp, transpose, exp, ..."""
    type_ = tensor_type(f32, (4, 4))
    block = Block(arg_types=[type_])
    value = block.args[0]
    for k in range(length):
        op = ONNX_OPS["", "Exp"](value) if k % 2 else ONNX_OPS["", "Transpose"](value, perm=[1, 0])
        block.add_op(op)
        value = op.results[0]
    block.add_op(ReturnOp(value))
    return ModuleOp([FuncOp("main", FunctionType.from_lists([type_], [type_]), Region(block))])


@pytest.mark.parametrize("strategy", ["conservative", "balanced", "aggressive"])
def test_linear_in_ops(strategy: str):
    def seconds(length: int) -> float:
        module = chain(length)
        start = time.process_time()
        GeBufferize().apply(CONTEXT, module)
        MemoryReuse(strategy=strategy).apply(CONTEXT, module)
        return time.process_time() - start

    # 8 times the ops: linear is 8, quadratic 64.
    assert seconds(4000) < 24 * seconds(500)


def test_a_result_does_not_lie_over_an_operand_of_which_another_is_a_part():
    # The first row is added to all four: written over, it would be gone when the second is computed.
    text = """
        func.func @main(%x: tensor<4x4xf32>) -> tensor<1x1xf32> {
          %0 = ge.constant dense<[0]> : tensor<1xi64>
          %1 = ge.constant dense<[1]> : tensor<1xi64>
          %a = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
          %b = ge.slice %a, %0, %1 : tensor<4x4xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x4xf32>
          %c = ge.add %a, %b : tensor<4x4xf32>, tensor<1x4xf32> -> tensor<4x4xf32>
          %r = ge.reduce_sum %c : tensor<4x4xf32> -> tensor<1x1xf32>
          func.return %r : tensor<1x1xf32>
        }"""
    assert in_place(text) == [False, False, False]
