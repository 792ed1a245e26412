"""
Graphs of real models, made whole: `data/models/*.onnx` hold no weights but recipes, from which they are made here.

A tensor without data has `data_location` EXTERNAL, the location "recipe", and a JSON object under the key "recipe":
{"kind": "normal", "mean", "std", and bounds "lo", "hi" if any}, {"kind": "lognormal", "mean", "std"}, {"kind":
"uniform", "lo", "hi"}, {"kind": "fill", "value"}, {"kind": "arange", "start", "step"} along the last axis, {"kind":
"tril"} of ones on the last two. The same name gives the same numbers.
"""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

FOLDER = Path(__file__).parents[1] / "data" / "models"
RECIPE = "recipe"


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.onnx"))


def whole(name: str) -> ModelProto:
    """The model with its weights."""
    model = onnx.load(FOLDER / f"{name}.onnx", load_external_data=False)
    for label, tensor in tensors(model):
        recipe = recipe_of(tensor)
        if recipe is not None:
            array = np.ascontiguousarray(_made(label, tuple(tensor.dims), tensor.data_type, recipe))
            del tensor.external_data[:]
            tensor.ClearField("data_location")
            tensor.raw_data = array.tobytes()
    return model


def tensors(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    """The constants of a graph with their names."""
    for tensor in model.graph.initializer:
        yield tensor.name, tensor
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            yield node.output[0], node.attribute[0].t


def recipe_of(tensor: TensorProto) -> dict[str, Any] | None:
    return next((json.loads(entry.value) for entry in tensor.external_data if entry.key == RECIPE), None)


def _made(name: str, dims: tuple[int, ...], element: int, recipe: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))
    match recipe["kind"]:
        case "fill":
            return np.full(dims, recipe["value"], dtype)
        case "arange":
            row = recipe["start"] + recipe["step"] * np.arange(dims[-1])
            return np.broadcast_to(row, dims).astype(dtype)
        case "tril":
            return np.broadcast_to(np.tril(np.ones(dims[-2:])), dims).astype(dtype)
        case "uniform":
            return _random(name).uniform(recipe["lo"], recipe["hi"], dims).astype(dtype)
        case kind:
            random = _random(name).standard_normal(dims, np.float32) * recipe["std"]
            if kind == "lognormal":
                return (recipe["mean"] * np.exp(random)).astype(dtype)
            values = np.clip(random + recipe.get("mean", 0), recipe.get("lo"), recipe.get("hi"))
            return (np.rint(values) if dtype.kind in "iu" else values).astype(dtype)


def _random(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))
