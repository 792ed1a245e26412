"""ge-opt's command line: order, files before and after, values that eat nothing."""

import pytest

from gecc.dialects.ge.errors import UsageError
from gecc.driver.argv import Splitter, Takes

FLAGS = {"--timing": Takes.NOTHING, "--dump-after-each": Takes.MAYBE, "--input-shape": Takes.VALUE, "-o": Takes.VALUE}
SPLITTER = Splitter(FLAGS, {"op-fusion", "l2-fusion", "test-crash"}, ["op-fusion", "l2-fusion"])


def test_steps_keep_the_order_typed():
    line = SPLITTER.split(["--l2-fusion=l2-size=32", "-p", "canonicalize", "-O1", "--op-fusion", "-p=cse"])
    assert line.steps == [
        ("pass", "l2-fusion", "l2-size=32"),
        ("-p", "", "canonicalize"),
        ("-O", "", "1"),
        ("pass", "op-fusion", ""),
        ("-p", "", "cse"),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["x.mlir", "--l2-fusion", "--dump-after-each"],
        ["--l2-fusion", "x.mlir", "--dump-after-each"],
        ["--l2-fusion", "--dump-after-each", "x.mlir"],
        ["--l2-fusion", "--dump-after-each", "--", "x.mlir"],
    ],
)
def test_an_optional_value_eats_no_file(words: list[str]):
    line = SPLITTER.split(words)
    assert line.files == ["x.mlir"]
    assert line.flags == {"--dump-after-each": ""}


@pytest.mark.parametrize("words", [["--input-shape=x:1", "-o", "y"], ["--input_shape", "x:1", "-oy"]])
def test_values_after_equals_or_as_the_next_word(words: list[str]):
    assert SPLITTER.split(words).flags == {"--input-shape": "x:1", "-o": "y"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--op-fusio"], "no pass 'op-fusio'; did you mean 'op-fusion'?"),
        (["--test-cras"], "no pass 'test-cras'"),
        (["--tim"], "no pass 'tim'; did you mean 'timing'?"),
        (["--timings"], "no pass 'timings'; did you mean 'timing'?"),
        (["--timing=2"], "--timing takes no value, got '2'"),
        (["-o"], "-o needs a value"),
        (["-x"], "no flag '-x'; the short ones are -O, -o, -p"),
        (["-o", "a", "-o", "b"], "-o is given twice"),
    ],
)
def test_refuses(words: list[str], message: str):
    with pytest.raises(UsageError) as error:
        SPLITTER.split(words)
    assert str(error.value) == message
