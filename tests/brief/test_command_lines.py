"""The brief's four conversion lines as they stand there, with `ge` for `atc`: each converts, to the same outputs."""

from pathlib import Path

import pytest
from onnx import ModelProto, TensorProto, load

from .conftest import Shell
from .helpers import distance
from .models import MODELS

FP16_TOLERANCE = 2e-2
INTEGERS = (TensorProto.INT32, TensorProto.INT64)

LINES = {
    "yolov5_optimized": "GE_OPTIMIZATION_PASSES=ConstantFoldingPass:1 ge --model=yolov5_optimized.onnx --framework=5"
    " --output=yolov5_optimized --input_format=NCHW --op_precision_mode=force_fp16 --opt_passes=ConstantFoldingPass:1",
    "bert_fused": "GE_FUSION_RULE=1 ge --model=bert.onnx --framework=5 --output=bert_fused"
    " --op_precision_mode=force_fp16 --fusion_rules_file=fusion_rules.json",
    "transformer_mem": "GE_MEMORY_STRATEGY=aggressive ge --model=transformer.onnx --framework=5"
    " --output=transformer_mem --op_precision_mode=force_fp16 --memory_config_file=memory_config.json",
    "resnet50_l2": "GE_L2_FUSION=1 ge --model=resnet50.onnx --framework=5 --output=resnet50_l2"
    " --op_precision_mode=force_fp16 --l2_fusion_config=l2_config.json",
}
SOURCES = {"bert_fused": "bert.onnx", "transformer_mem": "transformer.onnx", "resnet50_l2": "resnet50.onnx"}


HALF = " --op_precision_mode=force_fp16"


def source_of(output: str) -> ModelProto:
    return MODELS[SOURCES.get(output, f"{output}.onnx")]()


@pytest.mark.parametrize("output", LINES)
def test_without_the_precision_converts_and_computes_the_same(output: str, shell: Shell, folder: Path):
    shell(LINES[output].replace(HALF, ""))
    assert distance(source_of(output), folder / f"{output}.onnx") <= 1e-4


@pytest.mark.parametrize("output", LINES)
def test_as_it_stands_converts_and_computes_the_same(output: str, shell: Shell, folder: Path):
    shell(LINES[output])
    assert distance(source_of(output), folder / f"{output}.onnx") <= FP16_TOLERANCE


@pytest.mark.parametrize("output", LINES)
def test_force_fp16_makes_the_weights_half(output: str, shell: Shell, folder: Path):
    shell(LINES[output])

    made = load(folder / f"{output}.onnx")
    large = [tensor for tensor in made.graph.initializer if len(tensor.dims) >= 2 and tensor.data_type not in INTEGERS]
    assert {tensor.data_type for tensor in large} == {TensorProto.FLOAT16}
