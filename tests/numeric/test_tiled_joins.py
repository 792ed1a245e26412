"""
What L2 groups give to a join, or read of one, lies in the join's result; what they read of a split lies in its operand.
Values are those of layer by layer, whoever is in a group.
"""

import numpy as np
import pytest

from gecc.dialects.ge.attributes import L2TilingAttr
from gecc.reference import run
from gecc.transforms.fusion.fusion import fuse
from gecc.transforms.rewriting import functions

from .tiled import lowered, parsed, small_integers

IMAGE = "tensor<1x4x16x8xf32>"
TURNED = "tensor<1x4x8x16xf32>"
BOTH = "tensor<1x8x16x8xf32>"

JOIN = f"""
func.func @main(%x: {IMAGE} {{onnx.name = "x"}}) -> ({BOTH} {{onnx.name = "y"}}, {TURNED} {{onnx.name = "z"}}) {{
  %a = ge.exp %x : {IMAGE} -> {IMAGE}
  %b = ge.relu %a : {IMAGE} -> {IMAGE}
  %c = ge.neg %x : {IMAGE} -> {IMAGE}
  %j = ge.concat %b, %c axis 1 : {IMAGE}, {IMAGE} -> {BOTH}
  %d = ge.transpose %c perm [0, 1, 3, 2] : {IMAGE} -> {TURNED}
  %z = ge.exp %d : {TURNED} -> {TURNED}
  %e = ge.sin %j : {BOTH} -> {BOTH}
  %y = ge.abs %e : {BOTH} -> {BOTH}
  func.return %y, %z : {BOTH}, {TURNED}
}}"""

SPLIT = f"""
func.func @main(%x: {BOTH} {{onnx.name = "x"}}) -> ({IMAGE} {{onnx.name = "y"}}) {{
  %s = ge.exp %x : {BOTH} -> {BOTH}
  %a, %b = ge.split %s, none axis 1 : {BOTH} -> {IMAGE}, {IMAGE}
  %c = ge.relu %a : {IMAGE} -> {IMAGE}
  %y = ge.add %c, %b : {IMAGE}, {IMAGE} -> {IMAGE}
  func.return %y : {IMAGE}
}}"""

RESHAPED = f"""
func.func @main(%x: {IMAGE} {{onnx.name = "x"}}) -> ({BOTH} {{onnx.name = "y"}}) {{
  %n = ge.constant dense<[4, 16, 8]> : tensor<3xi64>
  %k = ge.constant dense<[1, 8, 16, 8]> : tensor<4xi64>
  %m = ge.constant dense<[1, 4, 16, 8]> : tensor<4xi64>
  %a = ge.exp %x : {IMAGE} -> {IMAGE}
  %r = ge.reshape %a, %n : {IMAGE}, tensor<3xi64> -> tensor<4x16x8xf32>
  %s = ge.neg %r : tensor<4x16x8xf32> -> tensor<4x16x8xf32>
  %t = ge.reshape %s, %m : tensor<4x16x8xf32>, tensor<4xi64> -> {IMAGE}
  %b = ge.relu %t : {IMAGE} -> {IMAGE}
  %j = ge.concat %a, %b axis 3 : {IMAGE}, {IMAGE} -> tensor<1x4x16x16xf32>
  %u = ge.reshape %j, %k : tensor<1x4x16x16xf32>, tensor<4xi64> -> {BOTH}
  %y = ge.abs %u : {BOTH} -> {BOTH}
  func.return %y : {BOTH}
}}"""


def convolved(result, value, to, of):
    """A convolution of one place; and its weight, as an argument."""
    weight = f"tensor<{to}x{of}x1x1xf32>"
    types = f"tensor<1x{of}x16x8xf32>, {weight} -> tensor<1x{to}x16x8xf32>"
    return (
        f"%{result} = ge.conv %{value}, %w{result}, none : {types}",
        f'%w{result}: {weight} {{onnx.name = "{result}"}}',
    )


LAYERS = [
    convolved(*layer)
    for layer in (("p", "x", 32, 4), ("q", "p", 32, 32), ("r", "q", 4, 32), ("a", "r", 4, 4), ("u", "r", 16, 4))
]
LAYERS.append(convolved("c", "u", 4, 16))
WIDE = f"""
func.func @main(%x: {IMAGE} {{onnx.name = "x"}}, {", ".join(w for _, w in LAYERS)}) -> ({BOTH} {{onnx.name = "y"}}) {{
  {"; ".join(op for op, _ in LAYERS)}
  %j = ge.concat %a, %c axis 1 : {IMAGE}, {IMAGE} -> {BOTH}
  %y = ge.neg %j : {BOTH} -> {BOTH}
  func.return %y : {BOTH}
}}""".replace("; ", "\n  ")

FIGURES = {"weights": "resident", "working_set": 0, "bytes_before": 0, "bytes_after": 0, "hit_share": 1.0}


def on_buffers(text, groups, axis=2, size=4):
    """The module on buffers, with a group for each text that names its ops' results."""
    module = parsed(text)
    (function,) = functions(module)
    for names in groups:
        ops = [op for op in function.body.block.ops if op.results and op.results[0].name_hint in names.split()]
        group = fuse(ops, "L2")
        tiles = group.outs[0].type.get_shape()[axis] // size
        group.properties["tiling"] = L2TilingAttr.of([[axis]], [[size]], tiles, halo="none", **FIGURES)
    module.verify()
    return lowered(module)


def check(text, groups, **cut):
    module = on_buffers(text, groups, **cut)
    inputs = small_integers(module)
    want, got = run(parsed(text), inputs), run(module, inputs)
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
    assert sum(op.name == "scf.for" for op in module.walk()) == len(groups)
    return [op.name for op in module.walk()]


@pytest.mark.parametrize("groups", [["a b"], ["d z"], ["e y"], ["a b", "d z"], ["a b", "d z", "e y"]])
def test_what_a_group_gives_or_reads_lies_in_the_join(groups):
    ops = check(JOIN, groups)
    assert "ge.concat" not in ops
    assert "memref.copy" not in ops


def test_a_group_reads_parts_where_they_lie():
    ops = check(SPLIT, ["c y"])
    assert "ge.split" not in ops
    assert "memref.copy" not in ops


@pytest.mark.parametrize("groups", [["r s t b"], ["a r s t b"]])
def test_what_a_group_reshapes_lies_in_a_row(groups):
    # %a is a part of the join's rows: under another shape it would be no memref.
    check(RESHAPED, groups, axis=1, size=1)


@pytest.mark.parametrize("groups", [[], ["p q r"]])
def test_joins_may_take_what_groups_leave(groups):
    # Bytes alive, in images of 4 channels: 16 at %q, layer by layer. The group leaves 6 of them, at %u with %r and %a;
    # with %j in place there are 7, and a copy of %a and %c would move what the group has saved.
    assert "ge.concat" not in check(WIDE, groups)
