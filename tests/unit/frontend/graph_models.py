"""What the tests of import and export share: models from text, and what ONNX Runtime says of them."""

from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import ModelProto

from gecc.frontend import export_model, import_model, materialise

Arrays = dict[str, Any]


def model(text: str, opset: int = 21, ir: int = 10, imports: str = "") -> ModelProto:
    """A model whose graph is written as the onnx package's parser has it."""
    return onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{imports}]> {text}')


def through(source: ModelProto, opset: int | None = None) -> ModelProto:
    """The model, imported and exported without a pass."""
    module = import_model(source)
    module.verify()
    return materialise(export_model(module, opset))


def ran(proto: ModelProto, feeds: Arrays) -> list[Any]:
    """Its outputs in ONNX Runtime, which warns of nothing that this test is about."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})


def feeds_for(proto: ModelProto, seed: int = 0) -> Arrays:
    random = np.random.default_rng(seed)
    made: Arrays = {}
    for info in proto.graph.input:
        shape = [d.dim_value or 2 for d in info.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        if dtype == np.bool_:
            made[info.name] = random.integers(0, 2, shape).astype(bool)
        elif dtype.kind in "iu":
            made[info.name] = random.integers(1, 4, shape).astype(dtype)
        else:
            made[info.name] = random.standard_normal(shape).astype(dtype)
    return made


def check_equal(source: ModelProto, exported: ModelProto, feeds: Arrays | None = None) -> None:
    given = feeds if feeds is not None else feeds_for(source)
    for got, wanted in zip(ran(exported, given), ran(source, given), strict=True):
        np.testing.assert_array_equal(got, wanted)


def names(proto: ModelProto) -> list[list[str]]:
    """Names of inputs, outputs, initialisers and nodes."""
    graph = proto.graph
    return [[x.name for x in field] for field in (graph.input, graph.output, graph.initializer, graph.node)]
