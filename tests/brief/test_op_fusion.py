"""BERT's lookups, additions and LayerNorm in one op, by the brief's rules file."""

import json
from pathlib import Path

import pytest

from .conftest import CONFIGS, Shell
from .models import Graph, bert

CONVERT = "ge --model=bert.onnx --framework=5 --output=out.mlir"
FILE = "--fusion_rules_file=fusion_rules.json"
EMBEDDINGS, DENSE = '"FusedEmbeddingAddLayerNorm"', '"FusedDense"'


def test_both_rules_fire_on_a_model_made_half(shell: Shell, folder: Path):
    shell(f"{CONVERT} {FILE} --op_precision_mode=force_fp16")

    text = (folder / "out.mlir").read_text()
    assert EMBEDDINGS in text
    assert DENSE in text


@pytest.mark.parametrize("level", ["1", "2"])
def test_both_rules_fire_on_a_half_model(level: str, shell: Shell, folder: Path):
    (folder / "bert.onnx").write_bytes(bert("float16").SerializeToString())
    shell(f"GE_FUSION_RULE={level} {CONVERT} {FILE}")

    text = (folder / "out.mlir").read_text()
    assert EMBEDDINGS in text
    assert DENSE in text


def test_the_condition_on_the_dtype_holds_back_the_first_rule(shell: Shell, folder: Path):
    shell(f"{CONVERT} {FILE}")

    text = (folder / "out.mlir").read_text()
    assert EMBEDDINGS not in text
    assert DENSE in text


def test_weights_of_20_rows_are_no_multiple_of_16(shell: Shell, folder: Path):
    (folder / "bert.onnx").write_bytes(bert(width=20).SerializeToString())
    shell(f"{CONVERT} {FILE} --op_precision_mode=force_fp16")

    text = (folder / "out.mlir").read_text()
    assert EMBEDDINGS in text
    assert DENSE not in text


def test_the_condition_on_the_weights_holds_back_the_second_rule(shell: Shell, folder: Path):
    rule = {**CONFIGS["fusion_rules.json"]["rules"][1], "condition": "weights_shape[0] % 64 == 0"}
    (folder / "strict.json").write_text(json.dumps({"rules": [rule]}))
    shell(f"{CONVERT} --fusion_rules_file=strict.json")

    assert DENSE not in (folder / "out.mlir").read_text()


def test_a_rule_may_name_a_convolution_and_its_bias(shell: Shell, folder: Path):
    """The addition is not folded into the convolution before the rule has seen it."""
    g = Graph()
    x = g.input("x", 1, 3, 8, 8)
    y = g.op("Add", g.op("Conv", x, g.weight(4, 3, 3, 3)), g.weight(4, 1, 1))
    g.op("Relu", y, output="y")
    (folder / "conv.onnx").write_bytes(g.model(y=[1, 4, 6, 6]).SerializeToString())
    rule = {"pattern": ["Conv", "BiasAdd", "Relu"], "replacement": "ConvBiasRelu"}
    (folder / "bias.json").write_text(json.dumps({"rules": [rule]}))
    shell("ge --model=conv.onnx --framework=5 --output=out.mlir --fusion_rules_file=bias.json")

    assert '"ConvBiasRelu"' in (folder / "out.mlir").read_text()
