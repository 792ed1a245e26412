"""`--input-shape` as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecc.dialects.ge.errors import UsageError
from gecc.driver.shapes import LONGEST_RANGE, Dim, fixed, parse_input_shapes, parse_one_shape


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("", {}),
        ("x:1,3,224,224", {"x": (1, 3, 224, 224)}),
        ("x:1,-1; y:?,77;", {"x": (1, -1), "y": (-1, 77)}),
        ("serving:0:2,4", {"serving:0": (2, 4)}),
        ("scalar:", {"scalar": ()}),
        ("x:1|2|8,3", {"x": ((1, 2, 8), 3)}),
        ("x:7..7,3", {"x": (7, 3)}),
    ],
)
def test_reads(text: str, shapes: dict[str, tuple[Dim, ...]]):
    assert parse_input_shapes(text) == shapes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,3", "input shape '1,3' has no name; write name:1,3,224,224 and ; between inputs"),
        ("x:1,a", "input shape 'x:1,a': 'a' is no dim; a dim is a number, 1|2|4, 1..4, or -1 to stay free"),
        ("x:-2", "input shape 'x:-2': '-2' is no dim; a dim is a number, 1|2|4, 1..4, or -1 to stay free"),
        ("x:1|", "input shape 'x:1|': '1|' is no dim; a dim is a number, 1|2|4, 1..4, or -1 to stay free"),
        ("x:1;x:2", "input shape of 'x' is given twice"),
        ("x:1|2|1", "input shape 'x:1|2|1': a size stands twice in '1|2|1'"),
        ("x:8..1", "input shape 'x:8..1': '8..1' holds no size; the smaller bound comes first"),
        ("x:1..", "input shape 'x:1..': '1..' lacks a bound; memory is planned for sizes that are known"),
        ("x:..8", "input shape 'x:..8': '..8' lacks a bound; memory is planned for sizes that are known"),
        ("x:1~-1", "input shape 'x:1~-1': '1~-1' lacks a bound; memory is planned for sizes that are known"),
        (
            "x:1..64,3",
            "input shape 'x:1..64,3': '1..64' is 64 sizes, and each is planned for itself, 16 at most; list those that "
            "are run: 1|64",
        ),
    ],
)
def test_refuses(text: str, message: str):
    with pytest.raises(UsageError) as error:
        parse_input_shapes(text)
    assert str(error.value) == message


@given(st.integers(0, 99), st.integers(1, LONGEST_RANGE))
def test_bounds_are_all_sizes_between_them(least: int, count: int):
    sizes = range(least, least + count)
    listed = parse_input_shapes(f"x:{'|'.join(map(str, sizes))},3")
    assert parse_input_shapes(f"x:{sizes[0]}..{sizes[-1]},3") == listed
    assert parse_input_shapes(f"x:{sizes[0]}~{sizes[-1]},3") == listed


def test_dims_of_several_sizes_are_not_fixed():
    assert fixed({"x": ((1, 2), 3, -1)}) == {"x": (-1, 3, -1)}


def test_who_works_on_one_shape_refuses_several():
    with pytest.raises(UsageError, match=r"^input shape of 'x': 1\|2 are several sizes; give one$"):
        parse_one_shape("x:1|2,3")
