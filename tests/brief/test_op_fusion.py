"""BERT's lookups, additions and LayerNorm in one op, by the brief's rules file."""

import json
from pathlib import Path

import pytest

from .conftest import CONFIGS, Shell
from .models import bert

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


def test_the_condition_on_the_weights_holds_back_the_second_rule(shell: Shell, folder: Path):
    rule = {**CONFIGS["fusion_rules.json"]["rules"][1], "condition": "weights_shape[0] % 64 == 0"}
    (folder / "strict.json").write_text(json.dumps({"rules": [rule]}))
    shell(f"{CONVERT} --fusion_rules_file=strict.json")

    assert DENSE not in (folder / "out.mlir").read_text()
