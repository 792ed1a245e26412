"""ATC's flags for models of several shapes."""

import pytest

from gecc.dialects.ge.errors import UsageError
from gecc.driver.gears import dynamic_gears
from gecc.driver.shapes import parse_input_shapes


def gears(line: str) -> list[dict[str, tuple[int, ...]]]:
    given = dict(word.removeprefix("--").split("=") for word in line.split())
    return dynamic_gears(given, parse_input_shapes(given.get("input_shape", "")))


def test_a_batch_size_is_that_of_every_input():
    assert gears("--input_shape=x:-1,3;y:-1,8;z:5 --dynamic_batch_size=1,4") == [
        {"x": (1, 3), "y": (1, 8), "z": (5,)},
        {"x": (4, 3), "y": (4, 8), "z": (5,)},
    ]


def test_an_image_size_is_height_and_width():
    assert gears("--input_shape=x:1,3,-1,-1;n:2 --dynamic_image_size=224,320;64,96") == [
        {"x": (1, 3, 224, 320), "n": (2,)},
        {"x": (1, 3, 64, 96), "n": (2,)},
    ]


def test_dims_are_filled_in_the_order_of_the_inputs():
    assert gears("--input_shape=x:-1,-1;y:8,-1 --dynamic_dims=1,16,1;2,32,3") == [
        {"x": (1, 16), "y": (8, 1)},
        {"x": (2, 32), "y": (8, 3)},
    ]


def test_without_a_flag_there_are_none():
    assert gears("--input_shape=x:-1,3") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--input_shape=x:-1 --dynamic_batch_size=1 --dynamic_dims=1",
            "--dynamic_batch_size and --dynamic_dims exclude each other",
        ),
        ("--dynamic_batch_size=1,2", "--dynamic_batch_size=1,2 fills the -1 in --input_shape, and there is none"),
        (
            "--input_shape=x:1|2,-1 --dynamic_dims=1",
            "--dynamic_dims=1: --input_shape has several sizes for a dim already; write -1 there",
        ),
        (
            "--input_shape=x:3,-1 --dynamic_batch_size=1,2",
            "--dynamic_batch_size=1,2 is for the first dim; dim 1 of 'x' is -1 too: use --dynamic_dims",
        ),
        (
            "--input_shape=x:-1,3,-1,-1 --dynamic_image_size=8,8",
            "--dynamic_image_size=8,8 is for height and width of NCHW; dim 0 of 'x' is -1 too: use --dynamic_dims",
        ),
        ("--input_shape=x:-1,-1 --dynamic_dims=1,2;3", "--dynamic_dims=1,2;3: a gear has 2 sizes, got 3"),
        ("--input_shape=x:-1 --dynamic_dims=0", "--dynamic_dims=0: '0' is no size; a size is a number from 1 on"),
        ("--input_shape=x:-1 --dynamic_dims=1;1", "--dynamic_dims=1;1: a gear stands there twice"),
    ],
)
def test_refuses(line: str, message: str):
    with pytest.raises(UsageError) as error:
        gears(line)
    assert str(error.value) == message


def test_refuses_more_gears_than_atc_takes():
    sizes = ",".join(map(str, range(1, 102)))
    with pytest.raises(UsageError, match="101 gears, 100 at most"):
        gears(f"--input_shape=x:-1 --dynamic_batch_size={sizes}")
