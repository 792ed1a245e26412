"""
How the graphs beside this file were made: the graph of an exported model with some of its dims made smaller.

    python shrink.py model.stripped.onnx small.onnx 768:96 3072:384 64:8

Each number stands for a dim wherever it is one: of constants, of inputs and outputs, in the small integer tensors of
which shapes are made, as an LSTM's hidden_size. The source's tensors have recipes as tests/numeric/whole_models.py
tells; other data is cut. Inferred types of inner values are dropped: they would be wrong, and are half of the file.
"""

import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

SHAPE = 4
"""Elements up to which an integer tensor may be part of a shape."""


def main(source: str, target: str, *pairs: str) -> None:
    smaller = {int(old): int(new) for old, new in (pair.split(":") for pair in pairs)}
    model = onnx.load(source, load_external_data=False)
    graph = model.graph
    for tensor in graph.initializer:
        shrink(tensor, smaller)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                shrink(attribute.t, smaller)
            if attribute.name == "hidden_size":
                attribute.i = smaller.get(attribute.i, attribute.i)
    for info in (*graph.input, *graph.output):
        for dim in info.type.tensor_type.shape.dim:
            if dim.HasField("dim_value"):
                dim.dim_value = smaller.get(dim.dim_value, dim.dim_value)
    del graph.value_info[:]
    del model.metadata_props[:]
    onnx.save(model, target)


def shrink(tensor: TensorProto, smaller: dict[int, int]) -> None:
    dims = [smaller.get(dim, dim) for dim in tensor.dims]
    recipe = next((json.loads(entry.value) for entry in tensor.external_data if entry.key == "recipe"), None)
    if recipe is not None:
        if str(recipe.get("role")).endswith("_weight"):  # sums have fewer terms: their size is to stay
            recipe["std"] *= max(old / new for old, new in zip(tensor.dims, dims, strict=True)) ** 0.5
        recipe.pop("role", None)
        tensor.dims[:] = dims
        del tensor.external_data[:]
        for key, value in (("location", "recipe"), ("recipe", json.dumps(recipe, separators=(",", ":")))):
            tensor.external_data.add(key=key, value=value)
        return
    array = numpy_helper.to_array(tensor)
    array = array[tuple(slice(dim) for dim in dims)]
    if array.dtype == np.int64 and array.size <= SHAPE:
        array = np.array([smaller.get(int(x), int(x)) for x in array.ravel()], np.int64).reshape(array.shape)
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), tensor.name))


if __name__ == "__main__":
    main(*sys.argv[1:])
