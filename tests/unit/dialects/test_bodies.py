"""Bodies: constraints of ge.fusion and ge.host, their scope in the text, and what many of them cost."""

import re
import time

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from gecc.dialects.ge.text import module_text

from .text_cases import parsed, round_trip

T, S = "tensor<4xf32>", "tensor<3xf32>"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f'"ge.fusion"(%x) <{{label = "f"}}> ({{ ^bb0(%a: {S}): ge.yield %a : {S} }}) : ({T}) -> {T}',
         "block arguments must be (tensor<4xf32>), got (tensor<3xf32>) (C1)"),
        (f'"ge.fusion"(%x) <{{label = "f"}}> ({{ ^bb0(%a: {T}): "test.termop"(%a) : ({T}) -> () }}) : ({T}) -> {T}',
         "must end in ge.yield (C2)"),
        (f'ge.fusion "f" (%a = %x : {T}) -> (tensor<3xf32>) {{ ge.yield %a : {T} }}',
         "ge.yield must give (tensor<3xf32>), got (tensor<4xf32>) (C2)"),
        (f'ge.fusion "f" (%a = %x : {T}) -> () {{ ge.yield %a : {T} }}', "ge.yield must give (), got"),
        (f'"ge.host"(%x) ({{ ^bb0(%a: {S}): ge.yield %a : {S} }}) : ({T}) -> {S}', "(C1)"),
        (f"ge.host (%a = %x : {T}) -> (tensor<3xf32>) {{ ge.yield %a : {T} }}", "(C2)"),
        (f'"ge.host"(%x) ({{ ^bb0(%a: {T}): "test.termop"(%a) : ({T}) -> () }}) : ({T}) -> {T}', "(C2)"),
    ],
)  # fmt: skip
def test_a_body_takes_the_operands_and_gives_the_results(body: str, words: str):
    with pytest.raises(VerifyException) as error:
        parsed(f'%x = "test.op"() : () -> {T}\n%r:9 = "test.op"() : () -> ({", ".join([T] * 9)})\n{body}').verify()
    assert words in str(error.value)


def test_a_body_sees_nothing_of_what_is_around_it():
    outer = f'%x = "test.op"() : () -> {T}\n%y = ge.fusion "f" () -> ({T}) {{ ge.yield %x : {T} }}'
    with pytest.raises(ParseError, match="%x is not defined in the body, which is isolated"):
        parsed(outer)


def test_names_of_a_body_may_stand_outside_too():
    text = round_trip(f"""
    %x = "test.op"() : () -> {T}
    %y = ge.fusion "A" (%x = %x : {T}) -> ({T}) {{
      %y = ge.exp %x : {T} -> {T} onnx "Exp" ["e"]
      ge.yield %y : {T}
    }}
    %z = ge.fusion "Ü" (%y = %y : {T}, %x = %x : {T}) -> ({T}) {{
      %z = ge.fusion "inner" (%y = %x : {T}) -> ({T}) {{
        ge.yield %y : {T}
      }}
      %x2 = ge.add %y, %z : {T}, {T} -> {T}
      ge.yield %x2 : {T}
    }}
    """)
    assert '%z = ge.fusion "\\C3\\9C" (%y_1 = %y : tensor<4xf32>, %x_1 = %x : tensor<4xf32>)' in text


def test_a_tiling_attributes_and_no_operands():
    tiling = (
        "#ge.l2_tiling<axes = [0, 2], tile = [8, 14], tiles = 12, weights = streamed, working_set = 1000, "
        "bytes_before = 5000, bytes_after = 4000, hit_share = 0.25>"
    )
    text = round_trip(f"""
    %x = "test.op"() : () -> {T}
    %y, %z = ge.fusion "g" (%a = %x : {T}) -> ({T}, {T}) tiling {tiling} attributes {{pass = "l2-fusion"}} {{
      ge.yield %a, %a : {T}, {T}
    }}
    ge.fusion "nothing" () -> () {{
      ge.yield
    }}
    %s = ge.host (%a = %x : {T}) -> (!ge.seq<tensor<?xf32>>) attributes {{why = "a sequence"}} {{
      %s = ge.opaque "SequenceConstruct" version 11 pure (%a) : ({T}) -> (!ge.seq<tensor<?xf32>>)
      ge.yield %s : !ge.seq<tensor<?xf32>>
    }}
    """)
    assert f'tiling {tiling} attributes {{pass = "l2-fusion"}}' in text
    with pytest.raises(ParseError, match=r"#ge\.l2_tiling must stand here"):
        parsed('ge.fusion "g" () -> () tiling 4 { ge.yield }')


def _tiling(cuts: str) -> str:
    return (
        f"#ge.l2_tiling<{cuts}, tiles = 12, weights = streamed, working_set = 1000, bytes_before = 5000, "
        "bytes_after = 4000, hit_share = 0.25>"
    )


@pytest.mark.parametrize("cuts", ["axes = [2], tile = [8]", "axes = [[0, 2], [0, 1]], tile = [[1, 8], [1, 16]]"])
def test_a_tiling_of_one_loop_and_of_two_for_each_result(cuts: str):
    text = round_trip(f"""
    %x = "test.op"() : () -> {T}
    %y, %z = ge.fusion "g" (%a = %x : {T}) -> ({T}, {T}) tiling {_tiling(cuts)} {{
      ge.yield %a, %a : {T}, {T}
    }}
    """)
    assert _tiling(cuts) in text


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        ("axes = [0], tile = [1, 8]", "lists of one or two numbers, as many of each, got [0] and [1, 8] (C1)"),
        ("axes = [0, 1, 2], tile = [1, 1, 1]", "(C1)"),
        ("axes = [], tile = []", "(C1)"),
        ("axes = [[0], [0, 1]], tile = [[1], [1, 8]]", "(C1)"),
        ("axes = [0], tile = [0]", "axes must be at least 0 and tile at least 1, got [0] and [0] (C2)"),
        ("axes = [0, [1]], tile = [1, 8]", "axes must be numbers, or a list for each result"),
    ],
)
def test_a_tiling_is_as_many_axes_as_sizes(cuts: str, words: str):
    with pytest.raises((ParseError, VerifyException), match=re.escape(words)):
        parsed(f'ge.fusion "g" () -> () tiling {_tiling(cuts)} {{ ge.yield }}')


def _chain(count: int) -> str:
    lines = [f'%x0 = "test.op"() : () -> {T}']
    for k in range(count):
        lines.append(
            f'%x{k + 1} = ge.fusion "f" (%a = %x{k} : {T}) -> ({T}) {{\n'
            f'  %b = ge.relu %a : {T} -> {T} onnx "Relu_{k}" ["r{k}"]\n  ge.yield %b : {T}\n}}'
        )
    return "\n".join(lines)


def _seconds(count: int) -> float:
    source, begin = _chain(count), time.process_time()
    text = module_text(parsed(source))
    spent = time.process_time() - begin
    assert text.count("ge.fusion") == count
    return spent


def test_text_of_many_fusions_costs_what_they_are():
    # Stock xDSL is quadratic here: six times as many would cost 36 times as much.
    assert _seconds(2_400) < 12 * max(_seconds(400), 0.1)


@pytest.mark.slow
def test_text_of_twenty_thousand_fusions():
    assert _seconds(20_000) < 16 * _seconds(2_500)
