"""`--input-shape` as text."""

import pytest

from gecc.dialects.ge.errors import UsageError
from gecc.driver.shapes import parse_input_shapes


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("", {}),
        ("x:1,3,224,224", {"x": (1, 3, 224, 224)}),
        ("x:1,-1; y:?,77;", {"x": (1, -1), "y": (-1, 77)}),
        ("serving:0:2,4", {"serving:0": (2, 4)}),
        ("scalar:", {"scalar": ()}),
    ],
)
def test_reads(text: str, shapes: dict[str, tuple[int, ...]]):
    assert parse_input_shapes(text) == shapes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,3", "input shape '1,3' has no name; write name:1,3,224,224 and ; between inputs"),
        ("x:1,a", "input shape 'x:1,a': 'a' is no dim; a dim is a number, or -1 to stay free"),
        ("x:-2", "input shape 'x:-2': '-2' is no dim; a dim is a number, or -1 to stay free"),
        ("x:1;x:2", "input shape of 'x' is given twice"),
        ("x:1~10", "not available in this version: ranges such as 'x:1~10'; give numbers"),
    ],
)
def test_refuses(text: str, message: str):
    with pytest.raises(UsageError) as error:
        parse_input_shapes(text)
    assert str(error.value) == message
