"""Runs two models on the same inputs and measures how far apart their outputs are."""

from pathlib import Path

import numpy as np
import onnxruntime
from onnx import ModelProto, load

FREE_DIMENSION = 7


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def distance(source: ModelProto, made: Path) -> float:
    """Largest |a - b| / max |a| over the outputs, both run by ONNX Runtime unoptimised; raises if interfaces differ."""
    ours, theirs = session(load(made)), session(source)
    assert interface(ours) == interface(theirs)

    random = np.random.RandomState(0)
    feed: dict[str, np.ndarray] = {}
    for value in theirs.get_inputs():
        shape = [size if isinstance(size, int) else FREE_DIMENSION for size in value.shape]
        integer = value.type == "tensor(int64)"
        feed[value.name] = random.randint(0, 2, shape) if integer else random.standard_normal(shape).astype("float32")
    pairs = zip(theirs.run(None, feed), ours.run(None, feed), strict=True)
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


def interface(of: onnxruntime.InferenceSession) -> list[tuple[str, str, list[int | str]]]:
    return [(value.name, value.type, value.shape) for value in [*of.get_inputs(), *of.get_outputs()]]


def operators(model: Path) -> set[str]:
    return {node.op_type for node in load(model).graph.node}
