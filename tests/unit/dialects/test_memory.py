"""ge.launch, ge.slot and ge.retyped: constraints, text, and that nothing drops or merges what writes."""

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from gecc.dialects.ge.interfaces import is_pure

from .text_cases import parsed, round_trip

ARENA = "%arena: memref<4096xi8> {ge.arena, ge.alignment = 64 : i64}"


def slot(text: str, arena: str = ARENA) -> str:
    return f"func.func @main({arena}) {{\n  %b = ge.slot %arena{text}\n  func.return\n}}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[32] life [0, 1) : memref<4096xi8> -> memref<4xf32>", "must be a multiple of 64, got 32 (C1)"),
        (
            "[4096] life [0, 1) : memref<4096xi8> -> memref<4xf32>",
            "16 bytes at 4096 must lie inside the arena's 4096 (C2)",
        ),
        ("[-64] life [0, 1) : memref<4096xi8> -> memref<4xf32>", "(C2)"),
        ("[4032] life [0, 1) : memref<4096xi8> -> memref<17xf32>", "68 bytes at 4032"),
        ("[0] life [3, 3) : memref<4096xi8> -> memref<4xf32>", "begins before it ends, got [3, 3) (C3)"),
        ("[0] life [0, 1) : memref<4096xi8> -> memref<?xf32>", "a buffer is static and its arena bytes"),
        ("[0] life [0, 1) : memref<4096xi8> -> memref<4x!ge.string>", "(C4)"),
    ],
)
def test_a_slot_lies_in_its_arena(text: str, words: str):
    with pytest.raises(VerifyException) as error:
        parsed(slot(text)).verify()
    assert words in str(error.value)


def test_an_arena_is_bytes():
    source = slot("[0] life [0, 1) : memref<4096xf32> -> memref<4xf32>", "%arena: memref<4096xf32>")
    with pytest.raises(VerifyException, match=r"its arena bytes, got memref<4096xf32> -> memref<4xf32> \(C4\)"):
        parsed(source).verify()


def test_an_arena_that_says_no_alignment_has_none():
    text = slot("[3] life [0, 2) : memref<4096xi8> -> memref<4xi8>", "%arena: memref<4096xi8>")
    assert "%b = ge.slot %arena[3] life [0, 2) : memref<4096xi8> -> memref<4xi8>" in round_trip(text)


def retyped(types: str) -> str:
    source = types.split(" to ")[0]
    return f"func.func @main(%a: {source}) {{\n  %b = ge.retyped %a : {types}\n  func.return\n}}"


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ("memref<4xf32> to memref<2x2xi32>", "only the elements' type may change, got .* (C1)"),
        ("memref<4xf32, strided<[2]>> to memref<4xi32>", "(C1)"),
        ("memref<4xf32> to memref<4xf16>", "elements must have one width of whole bytes, got .* (C2)"),
        ("memref<4xi4> to memref<4xui4>", "(C2)"),
        ("memref<4x!ge.string> to memref<4xf32>", "(C2)"),
    ],
)
def test_the_bytes_of_a_buffer_as_another_type(types: str, words: str):
    with pytest.raises(VerifyException, match=words.replace("(", r"\(").replace(")", r"\)")):
        parsed(retyped(types)).verify()


@pytest.mark.parametrize(
    "types", ["memref<4xi8> to memref<4xi1>", "memref<4xf16, strided<[2]>> to memref<4xbf16, strided<[2]>>"]
)
def test_another_type_as_text(types: str):
    assert f"%b = ge.retyped %a : {types}" in round_trip(retyped(types))


LAUNCH = """
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {{
  ge.launch {operands} {{
  ^bb0({args}):
    {body}
  }}
  func.return
}}"""


@pytest.mark.parametrize(
    ("args", "body", "words"),
    [
        (
            "%a: memref<4xf32>",
            "ge.yield %a : memref<4xf32>",
            "block arguments must be (tensor<4xf32>), got (memref<4xf32>) (C1)",
        ),
        ("%a: tensor<3xf32>", "ge.yield %a : tensor<3xf32>", "(C1)"),
        ("%a: tensor<4xf32>", "ge.yield", "ge.yield must give (tensor<4xf32>), got () (C2)"),
        ("%a: tensor<4xf32>", '"test.termop"() : () -> ()', "must end in ge.yield (C2)"),
    ],
)
def test_a_launch_computes_on_tensors(args: str, body: str, words: str):
    operands = "ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)"
    with pytest.raises(VerifyException) as error:
        parsed(LAUNCH.format(operands=operands, args=args, body=body)).verify()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("operands", "args", "body"),
    [
        ("ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)", "%a: tensor<4xf32>", "ge.yield %a : tensor<4xf32>"),
        ("ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)", "%x: tensor<4xf32>", "ge.yield %x : tensor<4xf32>"),
        ("ins(%x : memref<4xf32>) attributes {note = 1 : i64}", "%a: tensor<4xf32>", "ge.yield"),
    ],
)
def test_launches_as_text(operands: str, args: str, body: str):
    text = round_trip(LAUNCH.format(operands=operands, args=args, body=body))
    assert f"ge.launch {operands} {{" in text


def test_a_launch_without_operands():
    source = """
    func.func @main(%y: memref<1xf32>) {
      ge.launch outs(%y : memref<1xf32>) {
        %k = ge.constant dense<1.0> : tensor<1xf32>
        ge.yield %k : tensor<1xf32>
      }
      ge.launch {
        ge.yield
      }
      func.return
    }"""
    assert "ge.launch {" in round_trip(source)


def test_a_launch_with_a_view_of_a_buffer_sees_a_plain_tensor():
    strided = "memref<2x4xf32, strided<[8, 1], offset: ?>>"
    source = f"""
    func.func @main(%x: {strided}) {{
      ge.launch ins(%x : {strided}) {{
      ^bb0(%a: tensor<2x4xf32>):
        ge.yield
      }}
      func.return
    }}"""
    assert strided in round_trip(source)


def test_as_many_types_as_values():
    with pytest.raises(ParseError, match="2 values need as many types, got 1"):
        parsed("func.func @f(%x: memref<1xf32>) { ge.launch ins(%x, %x : memref<1xf32>) { ge.yield }  func.return }")


def test_a_launch_has_effects_and_a_slot_has_none():
    module = parsed(LAUNCH.format(operands="outs(%y : memref<4xf32>)", args="", body="ge.yield"))
    launch = next(op for op in module.walk() if op.name == "ge.launch")
    assert not is_pure(launch)
    module = parsed(slot("[0] life [0, 1) : memref<4096xi8> -> memref<4xf32>"))
    assert is_pure(next(op for op in module.walk() if op.name == "ge.slot"))
