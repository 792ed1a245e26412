"""
Attributes of the ge dialect: how the data of a constant is written, and what passes decide.

    dense<[1, -1]>                      a few numbers, MLIR's own form, where its text is exact
    #ge.splat<0.5>                      one element, repeated; never unpacked
    #ge.bytes<"0000807F">               a few elements whose numbers have no exact text (NaN, infinities, float8, int4)
    #ge.strings<["a", "b"]>             a few strings
    #ge.weight<@w, 4096>                a tensor in the file that `ge.weights @w` names, from that byte on
    #ge.l2_tiling<...>                  how a group is cut into tiles (l2-fusion)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, FloatData, IntAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .errors import text_of

MOST_LOOPS = 2
"""Loops of an L2 group, one in the other."""


@irdl_attr_definition
class WeightAttr(ParametrizedAttribute):
    """A tensor in a weights file: the symbol of its `ge.weights` op, and the offset of its first byte."""

    name = "ge.weight"
    file: SymbolRefAttr
    offset: IntAttr

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.file)
            printer.print_string(f", {self.offset.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            file = parser.parse_attribute()
            if not isinstance(file, SymbolRefAttr):
                parser.raise_error("the symbol of a ge.weights op, such as @w, must come first")
            parser.parse_punctuation(",")
            return [file, IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]


@irdl_attr_definition
class SplatAttr(ParametrizedAttribute):
    """
    One element repeated over the whole tensor: an integer, a float, or bytes in hexadecimal where a float's text would
    not tell it from another one (NaN, infinities, minus zero).
    """

    name = "ge.splat"
    element: IntAttr | FloatData | BytesAttr

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            match self.element:
                case BytesAttr():
                    printer.print_string(f'"{self.element.data.hex().upper()}"')
                case FloatData():
                    text = repr(self.element.data)  # shortest text that reads back; the lexer wants a point in it
                    printer.print_string(text if "." in text else text.replace("e", ".0e"))
                case IntAttr():
                    printer.print_string(str(self.element.data))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            number = parser.parse_optional_number()
            if number is None:
                return [_hex(parser)]
            return [FloatData(number) if isinstance(number, float) else IntAttr(number)]


@irdl_attr_definition
class RawAttr(ParametrizedAttribute):
    """The elements' bytes as ONNX's raw_data has them (little-endian, 4-bit ones packed), in hexadecimal."""

    name = "ge.bytes"
    data: BytesAttr

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f'"{self.data.data.hex().upper()}"')

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [_hex(parser)]


def _hex(parser: AttrParser) -> BytesAttr:
    text = parser.parse_str_literal()
    try:
        return BytesAttr(bytes.fromhex(text))
    except ValueError:
        parser.raise_error(f"pairs of hexadecimal digits must stand here, got {text!r}")


@irdl_attr_definition
class StringsAttr(ParametrizedAttribute):
    """The elements of a tensor of strings, in row-major order."""

    name = "ge.strings"
    values: ArrayAttr[Attribute]

    def texts(self) -> list[str]:
        return [text_of(v) or "" for v in self.values]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.values)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            values: Attribute = parser.parse_attribute()
        listed = cast("ArrayAttr[Attribute]", values).data if isinstance(values, ArrayAttr) else [values]
        texts = [text_of(v) for v in listed]
        if not isinstance(values, ArrayAttr) or None in texts:
            parser.raise_error("a list of strings must stand here")
        return [strings(texts)]


def strings(texts: object) -> ArrayAttr[Attribute]:
    """A list of texts as one attribute, in the same form whether it was built or parsed."""
    return ArrayAttr([StringAttr(t) for t in cast("Sequence[str]", texts)])


@irdl_attr_definition
class L2TilingAttr(ParametrizedAttribute):
    """
    How an L2 group runs, and what that was modelled to bring.

        axes = [2], tile = [16]              16 rows at a time
        axes = [0, 2], tile = [1, 16]        one sample after the other, 16 rows of it at a time
        axes = [[0], [1]], tile = [[4], [8]]   where results differ: a list for each

    axes           of the results that are cut, the outermost loop's first; the second cut is inside of the first, and
                   may be along the same axis
    tile           at most so much along each
    tiles          all of them
    halo           what of a tile's inner values its neighbour needs too: "none", "recompute" (each computes it) or
                   "lines" (the next tile finds it kept); not written where there is none
    block          groups of one number have their inner values at one place, what one has left there the next finds in
                   the cache; 0, and not written: a place of its own
    weights        "resident" (read from memory once) or "streamed" (once a tile)
    working_set    bytes that one tile needs in the cache
    bytes_before   bytes from and to memory without the group, modelled
    bytes_after    with it
    hit_share      share of the group's intermediate bytes that is served from the cache, 0 .. 1

    C1  axes and tile are as many lists as each other, of as many numbers: one or two
    C2  axes are not negative, and a tile is at least 1 along each
    """

    name = "ge.l2_tiling"
    axes: ArrayAttr[ArrayAttr[IntAttr]]
    tile: ArrayAttr[ArrayAttr[IntAttr]]
    tiles: IntAttr
    halo: StringAttr
    block: IntAttr
    weights: StringAttr
    working_set: IntAttr
    bytes_before: IntAttr
    bytes_after: IntAttr
    hit_share: FloatData

    @staticmethod
    def of(
        axes: Sequence[Sequence[int]],
        tile: Sequence[Sequence[int]],
        tiles: int,
        *,
        halo: str = "none",
        block: int = 0,
        weights: str,
        working_set: int,
        bytes_before: int,
        bytes_after: int,
        hit_share: float,
    ) -> L2TilingAttr:
        """A list for each result; one where they do not differ."""
        return L2TilingAttr(
            ArrayAttr([ArrayAttr([IntAttr(n) for n in each]) for each in axes]),
            ArrayAttr([ArrayAttr([IntAttr(n) for n in each]) for each in tile]),
            IntAttr(tiles),
            StringAttr(halo),
            IntAttr(block),
            StringAttr(weights),
            IntAttr(working_set),
            IntAttr(bytes_before),
            IntAttr(bytes_after),
            FloatData(round(hit_share, 4)),
        )

    def in_block(self, block: int) -> L2TilingAttr:
        """The same in another block."""
        return L2TilingAttr(
            self.axes,
            self.tile,
            self.tiles,
            self.halo,
            IntAttr(block),
            self.weights,
            self.working_set,
            self.bytes_before,
            self.bytes_after,
            self.hit_share,
        )

    @property
    def cuts(self) -> list[list[tuple[int, int]]]:
        """(axis, size) of each loop, the outermost first: a list for each result, or one for all."""
        pairs = zip(self.axes, self.tile, strict=True)
        return [[(a.data, t.data) for a, t in zip(axes, tile, strict=True)] for axes, tile in pairs]

    def verify(self) -> None:
        counts = [len(each) for array in (self.axes, self.tile) for each in array]
        if len(self.axes) != len(self.tile) or len(set(counts)) != 1 or not 1 <= counts[0] <= MOST_LOOPS:
            raise VerifyException(
                f"#ge.l2_tiling axes and tile must be lists of one or two numbers, as many of each, got "
                f"{_lists(self.axes)} and {_lists(self.tile)} (C1)"
            )
        if any(axis < 0 or size < 1 for cuts in self.cuts for axis, size in cuts):
            raise VerifyException(
                f"#ge.l2_tiling axes must be at least 0 and tile at least 1, got {_lists(self.axes)} and "
                f"{_lists(self.tile)} (C2)"
            )

    def print_parameters(self, printer: Printer) -> None:
        axes, tile = _lists(self.axes), _lists(self.tile)
        halo = "" if self.halo.data == "none" else f", halo = {self.halo.data}"
        block = f", block = {self.block.data}" if self.block.data else ""
        with printer.in_angle_brackets():
            printer.print_string(
                f"axes = {axes}, tile = {tile}, tiles = {self.tiles.data}{halo}{block}, weights = {self.weights.data}, "
                f"working_set = {self.working_set.data}, bytes_before = {self.bytes_before.data}, "
                f"bytes_after = {self.bytes_after.data}, hit_share = {self.hit_share.data!r}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def key(name: str) -> None:
            parser.parse_keyword(name)
            parser.parse_punctuation("=")

        def some() -> int | list[int]:
            found = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            return parser.parse_integer() if found is None else found

        def lists(name: str) -> ArrayAttr[ArrayAttr[IntAttr]]:
            key(name)
            found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, some)
            numbers = [n for n in found if isinstance(n, int)]
            each = [n for n in found if not isinstance(n, int)]
            if numbers and each:
                parser.raise_error(f"{name} must be numbers, or a list for each result")
            return ArrayAttr([ArrayAttr([IntAttr(n) for n in one]) for one in each or [numbers]])

        def number(name: str) -> IntAttr:
            parser.parse_punctuation(",")
            key(name)
            return IntAttr(parser.parse_integer())

        with parser.in_angle_brackets():
            axes = lists("axes")
            parser.parse_punctuation(",")
            tile = lists("tile")
            tiles = number("tiles")
            parser.parse_punctuation(",")
            halo = StringAttr("none")
            if parser.parse_optional_keyword("halo") is not None:
                parser.parse_punctuation("=")
                halo = StringAttr(parser.parse_keyword_in(("recompute", "lines")))
                parser.parse_punctuation(",")
            block = IntAttr(0)
            if parser.parse_optional_keyword("block") is not None:
                parser.parse_punctuation("=")
                block = IntAttr(parser.parse_integer(allow_negative=False))
                parser.parse_punctuation(",")
            key("weights")
            weights = StringAttr(parser.parse_keyword_in(("resident", "streamed")))
            sizes = [number(name) for name in ("working_set", "bytes_before", "bytes_after")]
            parser.parse_punctuation(",")
            key("hit_share")
            share = FloatData(float(parser.parse_number()))
        return [axes, tile, tiles, halo, block, weights, *sizes, share]


def _lists(array: ArrayAttr[ArrayAttr[IntAttr]]) -> list[int] | list[list[int]]:
    """As it is printed: one list stands for all results by itself."""
    found = [[i.data for i in each] for each in array]
    return found[0] if len(found) == 1 else found
