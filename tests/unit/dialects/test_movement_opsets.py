"""Ops that move elements in the operator sets that wrote them otherwise: what they become, and what is written back."""

import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from gecc.dialects.ge import GeOp
from gecc.frontend import export_model, import_model

MODELS = [
    (9, "y = Squeeze<axes = [1]>(x)", "ge.squeeze"),
    (13, "y = Squeeze(x, one)", "ge.squeeze"),
    (11, "y = Unsqueeze<axes = [0, -1]>(x)", "ge.unsqueeze"),
    (23, "y = Unsqueeze(x, one)", "ge.unsqueeze"),
    (9, "y = Slice<axes = [1, 3], ends = [9, 3], starts = [0, -4]>(x)", "ge.slice"),
    (9, "y = Slice<ends = [1], starts = [0]>(x)", "ge.slice"),
    (13, "y = Slice(x, two, two)", "ge.slice"),
    (1, "y = Pad<paddings = [0, 0, 1, 1, 0, 0, 1, 1], value = 2.0>(x)", "ge.pad"),
    (2, "y = Pad<mode = 'edge', pads = [0, 0, 1, 1, 0, 0, 1, 1]>(x)", "ge.pad"),
    (10, "y = Pad<pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 2.0>(x)", "ge.pad"),
    (19, "y = Pad<mode = 'wrap'>(x, pads, , two)", "ge.pad"),
    (11, "y, z = Split<axis = 3, split = [2, 2]>(x)", "ge.split"),
    (11, "y, z = Split<axis = 3>(x)", "ge.split"),
    (13, "y, z = Split<axis = 3>(x)", "ge.split"),
    (18, "y, z = Split<axis = 3, num_outputs = 2>(x)", "ge.split"),
    (4, "y = Concat<axis = 1>(x, x)", "ge.concat"),
    (11, "y = Concat<axis = -1>(x, x)", "ge.concat"),
    (1, "y = DepthToSpace<blocksize = 2>(x)", "ge.depth_to_space"),
    (13, "y = DepthToSpace<blocksize = 2, mode = 'CRD'>(x)", "ge.depth_to_space"),
    (1, "y = SpaceToDepth<blocksize = 2>(x)", "ge.space_to_depth"),
    (5, "y = Reshape(x, two)", "ge.reshape"),
    (14, "y = Reshape<allowzero = 1>(x, two)", "ge.reshape"),
    (1, "y = Flatten(x)", "ge.flatten"),
    (8, "y = Expand(x, two)", "ge.expand"),
    (6, "y = Tile(x, ones)", "ge.tile"),
    (14, "y = Trilu<upper = 0>(x)", "ge.trilu"),
    (1, "y = Gather<axis = 1>(x, one)", "ge.gather"),
    (11, "y = OneHot(one, one, pair)", "ge.one_hot"),
    (9, "y = ConstantOfShape<value = int64[1] {7}>(two)", "ge.constant_of_shape"),
    (9, "y = ConstantOfShape(two)", "ge.constant_of_shape"),
    (1, "y = Shape(x)", "ge.shape"),
    (15, "y = Shape<end = 3, start = 1>(x)", "ge.shape"),
    (11, "y = Range(a, b, c)", "ge.range"),
    (9, "y = EyeLike<dtype = 10>(m)", "ge.eye_like"),
    (11, "y = Resize(x, none, scales)", "ge.resize"),
    (13, "y = Resize<mode = 'linear'>(x, , , sizes)", "ge.resize"),
    (19, "y = Resize<axes = [2, 3], mode = 'cubic'>(x, , , two)", "ge.resize"),
    # Where an older operator means something else, the node stays as it is.
    (1, "y = Concat(x, x)", "ge.opaque"),
    (1, "y = Reshape<shape = [4, -1]>(x)", "ge.opaque"),
    (9, "y = OneHot(one, one, pair)", "ge.opaque"),
    (10, "y = Resize(x, scales)", "ge.resize"),
    (11, "y = Resize<coordinate_transformation_mode = 'tf_half_pixel_for_nn'>(x, none, scales)", "ge.opaque"),
]


def model(opset: int, node: str) -> onnx.ModelProto:
    outputs = ", ".join(f"float {name.strip()}" for name in node.partition(" = ")[0].split(","))
    text = f"""
        <ir_version: 10, opset_import: ["" : {opset}]>
        main (float[4, 1, 6, 4] x, float[2, 3] m) => ({outputs})
        <int64[1] one = {{1}}, int64[2] two = {{2, 3}}, int64[4] ones = {{1, 1, 1, 1}}, float[2] pair = {{0, 1}},
         int64[4] pads = {{1, 2, 1, 2}}, int64 a = {{0}}, int64 b = {{9}}, int64 c = {{2}}, float[0] none = {{}},
         float[4] scales = {{1, 1, 2, 2}}, int64[4] sizes = {{4, 1, 3, 3}}>
        {{ {node.replace("'", '"')} }}
    """
    made = onnx.parser.parse_model(fitting(text, node))
    made.graph.node[0].name = "node"
    for attribute in made.graph.node[0].attribute:
        if attribute.HasField("t"):  # the parser fills the typed field, the export writes raw data
            attribute.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(attribute.t)))
    return made


def fitting(text: str, node: str) -> str:
    """Shapes that the node takes."""
    if "DepthToSpace" in node:
        return text.replace("[4, 1, 6, 4]", "[4, 8, 6, 4]")
    if "Expand" in node:
        return text.replace("{2, 3}", "{6, 1}")
    return text.replace("{2, 3}", "{8, 12}") if "Reshape" in node else text


@pytest.mark.parametrize(("opset", "node", "name"), MODELS)
def test_a_node_comes_back_as_it_was(opset: int, node: str, name: str) -> None:
    source = model(opset, node)
    module = import_model(source)
    (op,) = [op for op in module.walk() if (isinstance(op, GeOp) or op.name == "ge.opaque")]
    assert op.name == name
    module.verify()
    assert list(export_model(module).graph.node) == list(source.graph.node)
