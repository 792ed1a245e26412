"""Which ops change their type, what casts stand between them, and what is left alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.data import array_of
from gecc.dialects.ge.errors import UsageError, node_name
from gecc.dialects.ge.types import element_of
from gecc.frontend import export_model, import_model
from gecc.reference import run
from gecc.transforms.precision.constants import Converter, converted
from gecc.transforms.precision.keep_list import OTHERS, WORDS, read_keep_list
from gecc.transforms.precision.mixed_list import read_colours
from gecc.transforms.precision.precision import MODES, Precision
from gecc.transforms.report import Report, collecting

HALF = element_of(TensorProto.FLOAT16)
FLOAT = TensorProto.FLOAT


def model(text: str, opset: int = 17, shape: tuple[int, ...] = (2, 4), **weights: object) -> ModelProto:
    """`y = Add x w; z = Softmax y`: nodes named as their output, inputs `x` and `n` (of i64), an output: the last."""
    nodes, known = [], {"x", "n", *weights}
    for line in filter(None, (part.strip() for part in text.split(";"))):
        output, _, call = line.partition(" = ")
        kind, *rest = call.split()
        inputs = [word.strip("-") for word in rest if "=" not in word]
        attributes = {k: int(v) for k, v in (word.split("=") for word in rest if "=" in word)}
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        known.add(output)
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, shape),
        helper.make_tensor_value_info("n", TensorProto.INT64, [4]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [helper.make_empty_tensor_value_info(nodes[-1].output[0])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def changed(made: ModelProto, **options: object) -> tuple[ModuleOp, Report]:
    module, report = import_model(made), Report()
    with collecting(report):
        Precision(**options).apply(Context(), module)  # pyright: ignore[reportArgumentType]
    module.verify()
    return module, report


def types(module: ModuleOp) -> dict[str, str]:
    """The element type of each node's first result."""
    named = {node_name(op): op for op in module.walk() if op.results and op.name not in ("ge.constant", "ge.weights")}
    return {name: str(op.results[0].type.element_type) for name, op in named.items() if name}  # pyright: ignore


def casts(module: ModuleOp) -> int:
    return sum(op.name == "ge.cast" for op in module.walk())


DENSE = "a = MatMul x w; b = Add a v; s = Softmax b; y = MatMul s w"
WEIGHTS = {"w": np.eye(4, dtype=np.float32), "v": np.ones(4, np.float32)}


@pytest.mark.parametrize(
    ("mode", "wide"),
    [
        ("force_fp16", ""),
        ("fp16", ""),
        ("allow_mix_precision", "s"),
        ("allow_mix_precision_fp16", "s"),
        ("mixed_float16", "s"),
        ("allow_fp32_to_fp16", "b s"),
        ("allow_mix_precision_bf16", "s"),
        ("mixed_bfloat16", "s"),
        ("allow_fp32_to_bf16", "b s"),
        ("must_keep_origin_dtype", "a b s y"),
        ("origin", "a b s y"),
        ("force_fp32", "a b s y"),
    ],
)
def test_modes(mode: str, wide: str):
    module, _ = changed(model(DENSE, **WEIGHTS), mode=mode)
    found = types(module)
    assert [name for name in "absy" if found[name] == "f32"] == wide.split()
    narrow = "bf16" if "bf" in mode else "f16"
    assert [name for name in "absy" if found[name] == narrow] == [n for n in "absy" if n not in wide]


def test_what_onnx_lacks_in_bf16_at_the_model_s_opset_stays():
    """Conv has bf16 from opset 22 on."""
    for opset, element in ((17, "f32"), (22, "bf16")):
        made = model("y = Conv x w", opset, (1, 2, 3, 3), w=np.ones((1, 2, 1, 1), np.float32))
        assert types(changed(made, mode="mixed_bfloat16")[0])["y"] == element


def test_every_mode_is_tested():
    assert set(MODES) == {mark[0] for mark in test_modes.pytestmark[0].args[1]}  # pyright: ignore


def test_force_fp32_makes_a_half_model_wide():
    weights = {name: value.astype(np.float16) for name, value in WEIGHTS.items()}
    made = model(DENSE, **weights)
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT16, [2, 4]))
    module, _ = changed(made, mode="force_fp32")
    assert [types(module)[name] for name in "absy"] == ["f32"] * 4
    assert casts(module) == 2
    assert export_model(module).graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT16


def test_inputs_and_outputs_keep_their_types_unless_asked():
    made = model(DENSE, **WEIGHTS)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, [2, 4]))
    kept = export_model(changed(made)[0]).graph
    assert [v.type.tensor_type.elem_type for v in (kept.input[0], kept.output[0])] == [FLOAT] * 2
    asked = export_model(changed(made, interface=True)[0]).graph
    assert [v.type.tensor_type.elem_type for v in (asked.input[0], asked.output[0])] == [TensorProto.FLOAT16] * 2
    assert not any(node.op_type == "Cast" for node in asked.node)


def test_one_cast_a_value_and_one_conversion_a_constant():
    text = "a = Softmax x; b = MatMul a w; c = MatMul a w; d = Add b c; e = Mul b c; y = Add d e"
    module, report = changed(model(text, **WEIGHTS), keep_types=("Softmax",))
    assert casts(module) == report.counts["casts added"] == 2  # of a, of the result
    assert report.counts["constants converted"] == 1


def test_equal_data_is_converted_once():
    big = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    module = import_model(model("a = MatMul x w; y = MatMul a w", w=big, shape=(2, 40)))
    converter = Converter(module, HALF)
    [op] = [op for op in module.walk() if isinstance(op, ConstantOp)]
    assert converter.of(op) is converter.of(op.clone())
    found = converter.of(op)
    np.testing.assert_array_equal(array_of(found.value, found.type, module), big.astype(np.float16))


def test_it_does_nothing_the_second_time():
    for mode in MODES:
        module, _ = changed(model(DENSE, **WEIGHTS), mode=mode)
        before = str(module)
        Precision(mode=mode).apply(Context(), module)  # pyright: ignore[reportArgumentType]
        assert str(module) == before, mode


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        # Sizes: what a Resize scales by has f32 alone, and so has what makes it.
        ("f = Cast n to=1; s = Div f four; y = Resize x - s", "f s"),
        # A number that ends as an integer, not what only looks at data.
        ("f = Cast n to=1; g = Mul f four; i = Cast g to=7; y = Gather x i", "f g"),
        # A mask is no position.
        ("f = Cast n to=1; g = Sub four f; y = Add x g", ""),
        # An angle of data is data.
        ("g = Mul x four; y = Sin g", ""),
    ],
)
def test_positions(text: str, wide: str):
    made = model(text, four=np.full(4, 4, np.float32), shape=(1, 1, 2, 4))
    found = types(changed(made)[0])
    assert [name for name in "fgs" if found.get(name) == "f32"] == wide.split()


def test_an_epsilon_that_would_vanish_stays_with_its_op_in_mixed_mode():
    # The variance's way through a LayerNorm that was not recognised.
    text = "m = ReduceMean x; p = Mul m m; v = Add p eps; d = Add x eps; y = Mul d x"
    found = types(changed(model(text, eps=np.float32(1e-12)), mode="allow_mix_precision")[0])
    assert found["d"] == "f32"


def test_what_onnx_lacks_in_half_stays():
    # Before opset 11 Equal had integers alone, IsInf had f32 and f64 until 20.
    for opset, element in ((17, "f32"), (20, "f16")):
        module, _ = changed(model("r = Relu x; y = IsInf r", opset=opset))
        [isinf] = [op for op in module.walk() if op.name == "ge.is_inf"]
        assert str(isinf.operands[0].type.element_type) == element  # pyright: ignore


def test_what_reads_a_cast_of_the_source_reads_half_still():
    # The cast goes, since the relu is half already; the function gives half as it did.
    module, report = changed(model("r = Relu x; y = Cast r to=10"))
    [function] = [op for op in module.walk() if isinstance(op, FuncOp)]
    assert [str(t) for t in function.function_type.outputs] == ["tensor<2x4xf16>"]
    assert (casts(module), report.counts["casts cancelled"]) == (1, 1)


def test_what_engines_do_not_run_in_half_stays():
    made = model("y = ScatterND x i u", i=np.zeros((1, 1), np.int64), u=np.ones((1, 4), np.float32))
    assert types(changed(made)[0])["y"] == "f16"
    made.graph.node[0].attribute.append(helper.make_attribute("reduction", "add"))
    assert types(changed(made)[0])["y"] == "f32"


def test_quantised_parts_stay():
    text = "q = QuantizeLinear x s z; d = DequantizeLinear q s z; a = MatMul d w; r = Relu a; t = QuantizeLinear r s z"
    text += "; e = DequantizeLinear t s z; y = Relu e"
    module, report = changed(model(text, s=np.float32(0.1), z=np.int8(0), w=WEIGHTS["w"]))
    assert casts(module) == 0
    assert report.counts["ops kept: quantised"] == 7


def test_an_initialiser_that_is_an_input_too_is_listed_as_what_it_is():
    made = model(DENSE, **WEIGHTS)
    made.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [4, 4]))
    made.graph.input.append(helper.make_tensor_value_info("v", FLOAT, [4]))
    made.ir_version = 3
    module, _ = changed(made)
    graph = export_model(module).graph
    elements = {t.name: t.data_type for t in graph.initializer}
    listed = {v.name: v.type.tensor_type.elem_type for v in graph.input}
    assert listed["w"] == elements["w"] == TensorProto.FLOAT16


def test_numbers_beyond_the_range():
    x = np.array([-3e38, 65519, 1e6, -np.inf, np.inf, np.nan, 1e-12], np.float32)
    out, clipped, guarded = converted(x, HALF)
    assert out.dtype == np.float16
    np.testing.assert_array_equal(out, np.array([-65504, 65504, 65504, -np.inf, np.inf, np.nan, 0], np.float16))
    assert (clipped, guarded) == (2, False)


@pytest.mark.parametrize("shape", [(), (1,), (3, 5)])
@pytest.mark.parametrize("value", [1e-12, -1e-12, 0.0, 1e9])
def test_one_number_throughout(shape: tuple[int, ...], value: float):
    array = np.broadcast_to(np.float32(value), shape)
    out, clipped, guarded = converted(array, HALF, splat=True)
    assert out.shape == shape
    assert guarded == (0 < abs(value) < 1e-8)
    assert clipped == (array.size if value > 65504 else 0)
    assert np.all(np.sign(out) == np.sign(array))


def test_clipped_elements_are_counted_and_told():
    _, report = changed(model("y = Add x v", v=np.array([1e9, -1e9, 0, 1], np.float32)))
    assert report.counts["constant elements clipped to the range"] == 2
    assert any("2 elements beyond the range of f16" in remark for remark in report.remarks)


def test_a_fully_masked_row_is_no_nan():
    # -3e38 in f16 would be -inf, and the softmax of nothing but -inf is no number.
    made = model("a = Add x v; y = Softmax a", v=np.full(4, np.finfo(np.float32).min))
    [y] = run(changed(made)[0], {"x": np.ones((2, 4), np.float32), "n": np.zeros(4, np.int64)}).values()
    np.testing.assert_allclose(y, 0.25, rtol=1e-3)


# ------------------------------------------------------------------ lists


def test_atc_s_file(tmp_path: Path):
    path = tmp_path / "ops.ini"
    path.write_text("# comment\nSoftmaxV2=high_precision\n[ByNodeName]\na = high_precision\n")
    assert types(changed(model(DENSE, **WEIGHTS), ops_file=str(path))[0])["a"] == "f32"
    found = read_keep_list(str(path))
    assert (found.types, found.nodes) == ({"Softmax": False}, {"a": False})


def test_a_node_s_word_comes_before_its_type_s_and_a_mode_s(tmp_path: Path):
    path = tmp_path / "ops.ini"
    path.write_text("[ByOpType]\nMatMul = high_precision\nSoftmax = keep_fp16\n[ByNodeName]\ny = high_performance\n")
    found = types(changed(model(DENSE, **WEIGHTS), mode="allow_mix_precision", ops_file=str(path))[0])
    assert [found[name] for name in "asy"] == ["f32", "f16", "f16"]


def test_words_for_single_ops_in_a_mode_that_changes_nothing(tmp_path: Path):
    path = tmp_path / "ops.ini"
    path.write_text("[ByNodeName]\ny = keep_fp16\n")
    found = types(changed(model(DENSE, **WEIGHTS), mode="origin", ops_file=str(path))[0])
    assert [found[name] for name in "absy"] == ["f32", "f32", "f32", "f16"]


def test_a_file_of_what_stays(tmp_path: Path):
    path = tmp_path / "keep.cfg"
    path.write_text("# what is kept\ny\n\nOpType::SoftmaxV2\n")
    found = types(changed(model(DENSE, **WEIGHTS), keep_file=str(path))[0])
    assert [found[name] for name in "absy"] == ["f16", "f16", "f32", "f32"]


@pytest.mark.parametrize(
    ("lists", "wide"),
    [
        ({}, "s"),
        ({"black-list": {"to-add": ["BatchMatMul"]}}, "absy"),
        ({"black-list": {"to-add": ["MatMul"]}, "white-list": {"to-add": ["Add"]}}, "asy"),
        ({"white-list": {"to-add": ["SoftmaxV2"]}}, ""),
        ({"black-list": {"to-remove": ["Softmax"]}}, ""),
        ({"black-list": {"to-add": ["Add"], "to-remove": ["Softmax"]}, "white-list": {"to-remove": ["MatMul"]}}, "bsy"),
        ({"black-list": {"to-add": ["Add"]}, "gray-list": {"to-add": ["Softmax"]}}, "bs"),
    ],
)
def test_lists_of_mixed_precision(lists: object, wide: str, tmp_path: Path):
    """Black stays, white is converted whatever it reads, gray goes with what it reads."""
    (tmp_path / "mix.json").write_text(json.dumps(lists))
    made = model(DENSE, **WEIGHTS)
    found = types(changed(made, mode="allow_mix_precision", mix_file=str(tmp_path / "mix.json"))[0])
    assert "".join(name for name in "absy" if found[name] == "f32") == wide


def test_what_moves_elements_is_told_apart_by_the_lists_too(tmp_path: Path):
    (tmp_path / "mix.json").write_text('{"black-list": {"to-add": ["Transpose"]}}')
    made = model("a = MatMul x w; t = Transpose a; y = MatMul w t", shape=(4, 4), w=np.eye(4, dtype=np.float32))
    found = types(changed(made, mode="allow_mix_precision", mix_file=str(tmp_path / "mix.json"))[0])
    assert [found[name] for name in "aty"] == ["f16", "f32", "f16"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "mix.json:1:1: is not JSON"),
        ("[]", "mix.json:1: must be an object"),
        ('{"blacklist": {}}', "unknown key 'blacklist'; allowed: black-list, white-list, gray-list; did you mean"),
        ('{\n"black-list": []}', "mix.json:2: black-list: must be an object {...}, got []"),
        ('{\n"black-list": {\n"to-add": "Exp"}}', "mix.json:3: black-list: to-add: must be a list [...], got"),
        ('{"gray-list": {"to-remove": []}}', "gray-list: unknown key 'to-remove'; allowed: to-add"),
        ('{"black-list": {"to-add": ["Sofmax"]}}', "black-list: to-add: no operator 'Sofmax'; did you mean 'Softmax'"),
        (
            '{"black-list": {"to-add": ["MatMul"]}, "white-list": {"to-add": ["BatchMatMul"]}}',
            "white-list: to-add: BatchMatMul stands there and in another list",
        ),
    ],
)
def test_lists_that_mean_nothing(content: str, message: str, tmp_path: Path):
    (tmp_path / "mix.json").write_text(content)
    with pytest.raises(UsageError) as error:
        read_colours(str(tmp_path / "mix.json"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_lists_of_mixed_precision_are_for_that_mode(tmp_path: Path):
    (tmp_path / "mix.json").write_text("{}")
    with pytest.raises(UsageError, match=r"mix.json: is for mixed precision .* got mode force_fp16"):
        changed(model(DENSE, **WEIGHTS), mix_file=str(tmp_path / "mix.json"))


def test_what_no_node_has_is_told(tmp_path: Path):
    _, report = changed(model(DENSE, **WEIGHTS), keep_nodes=("nowhere",))
    assert report.counts["names in lists that no node has"] == 1
    assert any('"nowhere"' in remark for remark in report.remarks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ByOpType]\nGelu = low\n", "ops.ini:2: Gelu: must be one of high_precision"),
        ("[ByOpType]\nGelu = high_precison\n", "did you mean 'high_precision'"),
        ("[ByOpTypes]\n", "a section must be [ByOpType] or [ByNodeName], got [ByOpTypes]; did you mean 'ByOpType'"),
        ("[ByOpType]\nMatMull = high_precision\n", "no operator 'MatMull'; did you mean 'MatMul'"),
        ("Gelu\n", "ops.ini:1: write name=high_precision, got Gelu"),
        ("Gelu=high_precision\nGelu=keep_fp16\n", "ops.ini:2: Gelu stands there twice"),
        *((f"Gelu = {word}\n", "means nothing here") for word in OTHERS),
        (b"\xff\xfe", "is not UTF-8 text"),
        (None, "No such file"),
    ],
)
def test_a_file_that_means_nothing(text: str | bytes | None, message: str, tmp_path: Path):
    path = tmp_path / "ops.ini"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as error:
        read_keep_list(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_every_word_of_the_file(tmp_path: Path):
    for word, narrow in WORDS.items():
        path = tmp_path / "ops.ini"
        path.write_text(f"Softmax={word}\n")
        assert read_keep_list(str(path)).types == {"Softmax": narrow}


def test_a_type_that_there_is_not_in_a_file_of_what_stays(tmp_path: Path):
    (tmp_path / "keep.cfg").write_text("y\nOpType::Sofmax\n")
    with pytest.raises(UsageError, match=r"keep\.cfg:2: no operator 'Sofmax'; did you mean 'Softmax'"):
        changed(model(DENSE, **WEIGHTS), keep_file=str(tmp_path / "keep.cfg"))


def test_a_type_that_there_is_not():
    with pytest.raises(UsageError, match="keep-types: no operator 'Sofmax'; did you mean 'Softmax'"):
        changed(model(DENSE, **WEIGHTS), keep_types=("Sofmax",))
