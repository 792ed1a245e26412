"""Conditions of fusion rules: what they mean, and what is said of those that mean nothing."""

import re

import pytest

from gecc.transforms.fusion.condition import Missing, Value, parse_condition

MATCH: dict[str, Value] = {
    "input_dtype": "float16",
    "output_dtype": "float32",
    "input_shape": (8, None, 64),  # type: ignore[dict-item]
    "weights_shape": (32, 20),
    "batch": 8,
    "Conv.group": 2,
    "LayerNormalization.epsilon": 9.999999747378752e-06,  # 1e-5 as a float of 32 bits
    "Conv.auto_pad": "SAME_UPPER",
    "Conv.pads": (1, 1, 2, 2),
    "com.acme::Thing.group": 3,
}
KINDS = {"group": "number", "epsilon": "number", "auto_pad": "text", "pads": "list"}


def attribute(operator: str, name: str):
    if name not in KINDS:
        raise ValueError(f"{operator} has no attribute '{name}'")
    return f"{operator}.{name}", KINDS[name]


def look(name: str) -> Value:
    if name not in MATCH:
        raise Missing(name)
    return MATCH[name]


def holds(text: str) -> bool:
    return parse_condition(text, attribute).holds(look)


@pytest.mark.parametrize(
    "text",
    [
        "input_dtype==float16",
        "input_dtype == fp16 and output_dtype != float16",
        "input_dtype == 'float16'",
        "weights_shape[0] % 16 == 0",
        "weights_shape[-1] % 16 == 4",
        "not weights_shape[1] % 16 == 0",
        "batch > 4 and (batch <= 8 or batch == 100)",
        "1 == 2 or 3 < 4 and not 5 >= 6",
        "2 + 3 * 4 == 14 and (2 + 3) * 4 == 20",
        "10 - 4 - 3 == 3 and 7 // 2 == 3 and 7 / 2 == 3.5 and -7 % 4 == 1",
        "- -1 == 1 and 2 - -1 == 3",
        "Conv.group == 2 and Conv.auto_pad == 'SAME_UPPER' and Conv.pads[3] == 2",
        "com.acme::Thing.group == 3",
        "LayerNormalization.epsilon == 1e-5",
        "1e999 > 1e30 / 2",
        "input_shape[2] * weights_shape[0] == 2048",
        "(batch > 4) == (batch > 5)",
        "batch == 8 or input_shape[1] == 4",  # the second is never asked for
    ],
)
def test_it_holds(text: str):
    assert holds(text)


@pytest.mark.parametrize("text", ["input_dtype == float32", "batch % 3 == 0", "not (batch == 8)", "1 > 2 or 2 > 3"])
def test_it_does_not_hold(text: str):
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("input_shape[1] == 4", r"input_shape\[1\]"),  # a free dim
        ("input_shape[3] == 4", r"input_shape\[3\]"),
        ("weights_shape[-3] == 4", r"weights_shape\[-3\]"),
        ("batch % (batch - 8) == 0", "a quotient by 0"),
        (f"1.5 == {'9' * 400}", "a number so large"),
        (f"1.5 * {'9' * 400} == 1", "a number so large"),
    ],
)
def test_what_is_not_there_is_missing(text: str, what: str):
    with pytest.raises(Missing, match=what):
        holds(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: a name, a number or '(' must stand here, got the end"),
        ("batch", "column 1: true or false must stand here, this is a number"),
        ("batch == ", "column 9: a name, a number or '(' must stand here, got the end"),
        ("batch = 8", "column 7: '=' means nothing here"),
        ("batch == 8)", "column 11: a comparison, and, or, or the end must stand here, got ')'"),
        ("(batch == 8", "column 12: ')' must stand here, got the end"),
        (
            "bach == 8",
            "column 1: no 'bach'; allowed: input_dtype, output_dtype, input_shape, weights_shape, batch,"
            " Operator.attribute, an element type; did you mean 'batch'?",
        ),
        ("input_dtype == flot16", "an element type; did you mean 'float16'?"),
        ("input_dtype == 'flot16'", "column 16: no element type 'flot16'; did you mean 'float16'?"),
        ("input_dtype == 16", "column 16: an element type must stand here, this is a number"),
        ("input_dtype < float16", "column 1: a number must stand here, this is an element type"),
        ("input_shape == 4", "column 1: a number must stand here, this is a list (write [0] for its first element)"),
        ("batch[0] == 4", "column 1: a list (write [0] for its first element) must stand here, this is a number"),
        ("input_shape[1.5] == 4", "column 13: an index, a whole number, must stand here, got '1.5'"),
        ("input_shape[0 == 4", "column 15: ']' must stand here, got '=='"),
        ("0 < batch < 8", "column 11: and, or, or the end must stand here, got '<'"),
        ("batch and batch", "column 11: true or false must stand here, this is a number"),
        ("not batch", "column 5: true or false must stand here, this is a number"),
        ("Conv.grup == 1", "column 6: Conv has no attribute 'grup'"),
        ("Conv.1 == 1", "column 1: no 'Conv'"),
        ("__import__('os') == 1", "column 1: no '__import__'"),
        ("batch == 8 or", "column 14: a name, a number or '(' must stand here, got the end"),
        ("(" * 60 + "1 == 1" + ")" * 60, "nested deeper than 50"),
        ("not " * 60 + "1 == 1", "nested deeper than 50"),
        ("1 == 1 or " * 200 + "1 == 1", "must be at most 1000 characters long"),
    ],
)
def test_what_means_nothing_is_refused_at_its_place(text: str, message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_condition(text, attribute)
