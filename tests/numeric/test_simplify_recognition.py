"""Operators recognised in arithmetic give its numbers; what only looks like one stays."""

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from xdsl.context import Context

from gecc.frontend import import_model
from gecc.reference import run
from gecc.transforms.base import GePass
from gecc.transforms.simplify.activation_fusion import ActivationFusion
from gecc.transforms.simplify.layer_norm_fusion import LayerNormFusion
from gecc.transforms.simplify.rms_norm_fusion import RMSNormFusion

# name: (the op that all of it becomes, or "" for none; a node a line)
ACTIVATIONS = {
    "gelu": ("ge.gelu", "a = Div x 1.4142135; b = Erf a; c = Add b 1; d = Mul x c; y = Mul d 0.5"),
    "gelu by factors": ("ge.gelu", "a = Mul x 0.70710678; b = Erf a; c = Add 1 b; e = Mul 0.5 c; y = Mul x e"),
    "gelu, rounded": ("ge.gelu", "e = Mul 0.5 x; a = Div x 1.4142; b = Erf a; c = Add b 1; y = Mul e c"),
    "gelu by tanh": (
        "ge.gelu",
        "p = Pow x 3; q = Mul p 0.044715; r = Add x q; s = Mul r 0.7978845608; t = Tanh s; u = Add t 1; v = Mul x u;"
        "y = Mul v 0.5",
    ),
    "gelu by tanh and squares": (
        "ge.gelu",
        "p = Mul x x; q = Mul p 0.044715; r = Add q 1; w = Mul r x; s = Mul w 0.7978845608; t = Tanh s; u = Add t 1;"
        "v = Mul x 0.5; y = Mul v u",
    ),
    "hard swish": ("ge.hard_swish", "a = Add x 3; b = Clip a 0 6; c = Mul x b; y = Div c 6"),
    "hard sigmoid": ("ge.hard_sigmoid", "a = Add x 3; b = Clip a 0 6; y = Div b 6"),
    "mish": ("ge.mish", "a = Softplus x; b = Tanh a; y = Mul x b"),
    "mish, spelled out": ("ge.mish", "e = Exp x; f = Add e 1; a = Log f; b = Tanh a; y = Mul x b"),
    "softplus": ("ge.softplus", "m = Max x 0; a = Abs x; n = Neg a; e = Exp n; f = Add e 1; l = Log f; y = Add m l"),
    "sigmoid": ("ge.sigmoid", "n = Neg x; e = Exp n; f = Add e 1; y = Div 1 f"),
    "a softplus that overflows": ("", "e = Exp x; f = Add e 1; y = Log f"),
    "another factor": ("", "a = Div x 1.5; b = Erf a; c = Add b 1; d = Mul x c; y = Mul d 0.5"),
    "another bound": ("", "a = Add x 3; b = Clip a 0 5; c = Mul x b; y = Div c 6"),
}
NORMS = {
    "layer": "m = M x; d = Sub x m; p = Pow d 2; v = M p; w = Add v 0.01; r = Sqrt w; n = Div d r; s = Mul n G;"
    "y = Add s B",
    "rms": "p = Mul x x; v = M p; w = Add 0.01 v; r = Sqrt w; q = Div 1 r; n = Mul q x; y = Mul G n",
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str, dtype: type[np.floating]):
    wanted, text = ACTIVATIONS[name]
    x = np.concatenate([np.linspace(-9, 9, 38), [0.0, 1e-3]]).astype(dtype)
    ops = changed(model(text, 22, x), ActivationFusion(), x)
    assert ops == ([wanted] if wanted else [f"ge.{line.split()[2].lower()}" for line in text.split(";")])


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("name", NORMS)
def test_normalisations(name: str, axis: int):
    x = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
    ops = changed(model(NORMS[name], 23, x, axis), LayerNormFusion() if name == "layer" else RMSNormFusion(), x)
    if axis == -1:
        assert ops == ["ge.layer_normalization" if name == "layer" else "ge.rms_normalization"]
    else:
        assert "ge.reduce_mean" in ops, "the mean goes over an axis that is not the last"


@pytest.mark.parametrize("one", [ActivationFusion(), LayerNormFusion(), RMSNormFusion()])
def test_an_opset_without_the_operator(one: GePass):
    x = np.ones((3, 4, 5), np.float32)
    for text in (ACTIVATIONS["gelu"][1], NORMS["layer"], NORMS["rms"]):
        assert len(changed(model(text, 16, x), one, x)) == text.count("=")


def test_a_value_with_another_reader():
    x = np.linspace(-2, 2, 5).astype(np.float32)
    text = ACTIVATIONS["gelu"][1].replace("y =", "z =") + "; y = Add z c"
    assert "ge.gelu" not in changed(model(text, 22, x), ActivationFusion(), x)


def changed(source: ModelProto, one: GePass, x: np.ndarray) -> list[str]:
    """The ops after the pass, which must keep the numbers."""
    module = import_model(source)
    before = run(module, {"x": x})["y"]
    one.apply(Context(), module)
    module.verify()
    after = run(module, {"x": x})["y"]
    assert before.dtype == after.dtype
    tolerance = 1e-4 if x.dtype == np.float32 else 2e-2
    assert np.max(np.abs(before - after)) <= tolerance * np.max(np.abs(before))
    return [op.name for op in module.walk() if op.name.startswith("ge.") and op.name != "ge.constant"]


def model(text: str, opset: int, x: np.ndarray, axis: int = -1) -> ModelProto:
    """`text` as a model; numbers are constants, M is the mean over `axis`, G and B are vectors of its last axis."""
    weights = {
        "G": np.linspace(1, 2, x.shape[-1]).astype(x.dtype),
        "B": np.linspace(-1, 1, x.shape[-1]).astype(x.dtype),
    }
    weights["axes"] = np.array([axis])
    nodes = [line.replace("=", "").split() for line in text.split(";")]
    for _, _, *operands in nodes:
        weights |= {word: np.array(float(word), x.dtype) for word in operands if word[0].isdigit()}
    made = []
    for output, kind, *operands in nodes:
        if kind == "M" and opset < 18:
            made.append(helper.make_node("ReduceMean", operands, [output], axes=[axis]))
        elif kind == "M":
            made.append(helper.make_node("ReduceMean", [*operands, "axes"], [output]))
        else:
            made.append(helper.make_node(kind, operands, [output]))
    used = {name for node in made for name in node.input}
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items() if name in used],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
