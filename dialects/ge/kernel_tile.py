"""
How an op that stands alone walks over its results: so many slices at a time, along one axis.

    %y = ge.matmul %x, %w attributes {ge.kernel_tile = #ge.kernel_tile<axis = 0, size = 16>} : ...
    ge.launch ins(%x, %w) outs(%y) attributes {ge.kernel_tile = #ge.kernel_tile<axis = 0, size = 16>} {...}

For each tile of the results a kernel reads what that needs of the operands, then writes it. No value depends on it: it
says in which order memory is touched. An op that does not say walks by the rule that planners have
(`planning.kernel_steps`), as does one that cannot be cut along the axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, ShapedType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .errors import fail

KERNEL_TILE = "ge.kernel_tile"
"""The attribute's name on an op."""

BODIES = ("ge.fusion", "ge.launch", "ge.host")
"""Ops whose bodies run as one: what stands in them does not walk by itself."""


@irdl_attr_definition
class KernelTileAttr(ParametrizedAttribute):
    """
    At most `size` slices of every result along `axis` at a time.

    C1  axis is not negative, and size at least 1
    """

    name = "ge.kernel_tile"
    axis: IntAttr
    size: IntAttr

    def verify(self) -> None:
        if self.axis.data < 0 or self.size.data < 1:
            raise VerifyException(
                f"#ge.kernel_tile axis must be at least 0 and size at least 1, got {self.axis.data} and "
                f"{self.size.data} (C1)"
            )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"axis = {self.axis.data}, size = {self.size.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def number(name: str) -> IntAttr:
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            return IntAttr(parser.parse_integer())

        with parser.in_angle_brackets():
            axis = number("axis")
            parser.parse_punctuation(",")
            return [axis, number("size")]


def kernel_tile_of(op: Operation) -> tuple[int, int] | None:
    """(axis, size), where an op says how it walks."""
    tile = op.attributes.get(KERNEL_TILE)
    return (tile.axis.data, tile.size.data) if isinstance(tile, KernelTileAttr) else None


def check_kernel_tile(op: Operation, results: Sequence[SSAValue]) -> None:
    """
    K1  ge.kernel_tile is a #ge.kernel_tile
    K2  its axis is one of every result
    K3  the op stands alone: it is no L2 group, and in no body that runs as one
    """
    tile = op.attributes.get(KERNEL_TILE)
    if tile is None:
        return
    if not isinstance(tile, KernelTileAttr):
        fail(op, f"{KERNEL_TILE} must be a #ge.kernel_tile, got {tile} (K1)")
    axis = tile.axis.data
    for value in results:
        type_ = value.type
        if not isinstance(type_, ShapedType) or axis >= type_.get_num_dims():
            fail(op, f"{KERNEL_TILE} has axis {axis}, which {type_} has not (K2)")
    around = op.parent_op()
    if "tiling" in op.properties:
        fail(op, f"{KERNEL_TILE} is for an op that stands alone, not for an L2 group (K3)")
    if around is not None and around.name in BODIES:
        fail(op, f"{KERNEL_TILE} is for an op that stands alone, not for one in a '{around.name}' (K3)")
