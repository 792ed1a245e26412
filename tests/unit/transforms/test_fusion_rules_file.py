"""Rules files: what they say, and one line for each way to get one wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from gecc.dialects.ge.errors import UsageError
from gecc.transforms.fusion.names import GE_NAMES, resolve
from gecc.transforms.fusion.rules_file import read_rules

DENSE = {"pattern": ["MatMul", "BiasAdd", "ReLU"], "replacement": "FusedDense"}


def read(folder: Path, content: Any):
    path = folder / "rules.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_rules(path)


def test_names_of_ge_and_of_onnx_are_the_same(tmp_path: Path):
    (rule,) = read(tmp_path, {"rules": [DENSE]})

    assert rule.name == rule.label == "FusedDense"
    assert [step.words for step in rule.forms[0]] == ["MatMul", "Add", "Relu"]


def test_rules_keep_their_order(tmp_path: Path):
    rules = read(tmp_path, {"rules": [DENSE, {**DENSE, "replacement": "B"}, {**DENSE, "replacement": "A"}]})
    assert [rule.name for rule in rules] == ["FusedDense", "B", "A"]


def test_every_name_of_ge_means_an_operator():
    assert all(resolve(name) == kind == resolve(kind) for name, kind in GE_NAMES.items())


def test_an_operator_of_another_domain():
    assert resolve("com.microsoft::FusedMatMul") == "com.microsoft::FusedMatMul"
    assert resolve("ai.onnx::Relu") == "Relu"
    assert resolve("ge.layer_normalization") == "LayerNormalization"


def rule(**changed: Any) -> dict[str, Any]:
    return {"rules": [{**DENSE, **changed}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "rules.json:1:1: is not JSON: Expecting value"),
        ('{"rules": [\n  {,}]}', "rules.json:2:4: is not JSON"),
        ('{"rules": [], "rules": []}', "rules.json: the key 'rules' stands there twice"),
        ("[" * 100_000, "rules.json: nested too deeply"),
        ([], 'rules.json: must be an object {"rules": [...]}, got []'),
        ({}, "rules.json: the key 'rules' is missing"),
        ({"Rulse": []}, "rules.json: unknown key 'Rulse'; allowed: rules, Rules; did you mean 'Rules'?"),
        ({"rules": {}}, "rules.json: rules: must be a list [...], got {}"),
        ({"rules": [7]}, "rules.json:1: rule 1: must be an object {...}, got 7"),
        ({"rules": [DENSE, {}]}, "rules.json:1: rule 2: the key 'pattern' is missing"),
        (
            rule(conditon="batch == 1"),
            "rule 1 (\"FusedDense\"): unknown key 'conditon'; allowed: pattern, replacement, condition;"
            " did you mean 'condition'?",
        ),
        (rule(pattern="MatMul"), 'rule 1 ("FusedDense"): pattern: must be a list of operators, got "MatMul"'),
        (rule(pattern=["MatMul", 3]), 'pattern: must be a list of operators, got ["MatMul", 3]'),
        (rule(pattern=["MatMul"]), "pattern: must have 2 to 32 operators, got 1"),
        (rule(pattern=["Add"] * 65), "pattern: must have 2 to 32 operators, got 65"),
        (rule(pattern=["MatMul", "Rellu"]), "pattern: no operator 'Rellu'; did you mean 'Relu'?"),
        (rule(pattern=["MatMul", "Zzz"]), "no operator 'Zzz'; an operator of another domain is written domain::Type"),
        (rule(replacement=""), "replacement: must be a name of ASCII letters, digits, '_', '.', ':' and '-', got \"\""),
        (rule(replacement="a b"), "replacement: must be a name"),
        (rule(replacement=None), "replacement: must be a name"),
        (rule(condition=True), "condition: must be text, got true"),
        (
            rule(condition="batch =="),
            "rule 1 (\"FusedDense\"): condition: column 9: a name, a number or '(' must stand",
        ),
        (
            rule(condition="Conv.group == 1"),
            "condition: column 6: 'Conv' is not in the pattern; allowed: MatMul, Add, Relu",
        ),
        (rule(condition="MatMul.alpha == 1"), "condition: column 8: MatMul has no attribute 'alpha'; it has none"),
        (
            {"rules": [{"pattern": ["Conv", "Relu"], "replacement": "C", "condition": "Conv.grup == 1"}]},
            "Conv has no attribute 'grup'; allowed: ",
        ),
        (rule(replacement="ü" * 3), "replacement: must be a name"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_what_to_do(content: Any, message: str, tmp_path: Path):
    with pytest.raises(UsageError) as error:
        read(tmp_path, content)

    assert str(error.value).startswith(str(tmp_path / "rules.json"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_line_of_a_rule(tmp_path: Path):
    text = """{
  "rules": [
    {"pattern": ["MatMul", "Add"], "replacement": "a {[ b\\" name"},
    {"pattern": ["MatMul",
                 "Add"], "replacement": "Good"}
  ]
}"""
    with pytest.raises(UsageError, match=r"rules\.json:3: rule 1 \("):
        read(tmp_path, text)
    text = text.replace('a {[ b\\" name', "Fine").replace('"Add"], "replacement": "Good"', '"Ad"], "replacement": "G"')
    with pytest.raises(UsageError, match=r"rules\.json:4: rule 2 \("):
        read(tmp_path, text)


def test_no_file(tmp_path: Path):
    with pytest.raises(UsageError, match=r"none.json: No such file or directory"):
        read_rules(tmp_path / "none.json")


def test_no_text(tmp_path: Path):
    (tmp_path / "rules.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match=r"rules.json: is not UTF-8 text"):
        read_rules(tmp_path / "rules.json")
