"""Large weights that were only moved: in the sidecar by name, on the disk once the output is written."""

import numpy as np
import pytest
from onnx import TensorProto, helper, load, numpy_helper, save
from xdsl.dialects.builtin import ModuleOp

import gecc
from gecc.dialects.ge import data
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.data import append_to_sidecar, mapped, pieces, postponed, settle, sidecar_path
from gecc.driver import load_module, save_module
from gecc.transforms.simplify.constant_folding import ConstantFolding

ROWS, COLUMNS = 640, 1024  # more than a chunk


@pytest.fixture
def weight(tmp_path):
    """A mapped array of its own file."""
    array = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    (tmp_path / "w").write_bytes(array.tobytes())
    yield mapped(str(tmp_path / "w")).view(np.float32).reshape(ROWS, COLUMNS)
    settle()


def place_of(array):
    begin = append_to_sidecar(array)
    return str(sidecar_path()), begin, array.nbytes


def test_a_moved_weight_has_a_place_and_is_not_written(weight):
    place = place_of(weight.T)
    assert postponed(*place) is not None
    assert not mapped(place[0])[place[1] : place[1] + place[2]].any()


def test_what_was_computed_is_written_at_once(weight):
    path, begin, size = place_of(weight + 1)
    assert postponed(path, begin, size) is None
    assert mapped(path)[begin : begin + size].tobytes() == (weight + 1).tobytes()


def test_settled_bytes_are_in_the_file(weight):
    path, begin, size = place_of(weight.T)
    settle()
    assert postponed(path, begin, size) is None
    assert mapped(path)[begin : begin + size].tobytes() == weight.T.tobytes()


def test_who_reads_a_part_finds_it_written(weight):
    path, begin, _ = place_of(weight.T)
    assert postponed(path, begin + 64, 128) is None
    assert mapped(path)[begin + 64 : begin + 192].tobytes() == weight.T.tobytes()[64:192]


def test_bytes_beside_it_leave_it_as_it_is(weight):
    written = np.ones((2, 4096), np.float32)[0]  # part of something: it is not kept
    path, first, _ = place_of(written)
    place = place_of(weight.T)
    after = append_to_sidecar(written)
    assert postponed(path, first, 4096 * 4) is None
    assert postponed(path, after, 4096 * 4) is None
    assert postponed(*place) is not None


def test_what_was_computed_is_kept_while_it_is_not_too_much(monkeypatch):
    monkeypatch.setattr(data, "_KEPT", 20_000)
    first, second = (np.full(4096, k, np.float32) for k in (1, 2))
    assert postponed(*place_of(first)) is first
    place = place_of(second)
    assert postponed(*place) is None
    assert mapped(place[0])[place[1] : place[1] + place[2]].tobytes() == second.tobytes()


def test_what_has_its_place_does_not_change(weight):
    array = np.ones(4096, np.float32)
    place_of(array)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 2


def test_a_constant_of_it_is_the_array(weight):
    module = ModuleOp([])
    op = constant(weight.T, module)
    module.body.block.add_op(op)
    assert np.shares_memory(op.array(), weight)
    assert np.array_equal(op.array(), weight.T)


@pytest.mark.parametrize(
    "moved",
    [
        lambda w: w,
        lambda w: w.T,
        lambda w: w.T[1:, 3:],
        lambda w: w[:, ::2],
        lambda w: w.reshape(2, 320, 1024).transpose(2, 0, 1),
        lambda w: w.reshape(-1)[3:],
        lambda w: w[:0],
    ],
)
def test_pieces_are_the_bytes_in_order(weight, moved):
    assert b"".join(pieces(moved(weight))) == moved(weight).tobytes()


@pytest.fixture
def model(tmp_path):
    """x @ w.T with a large w."""
    w = numpy_helper.from_array(np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32), "w")
    nodes = [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, COLUMNS])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, ROWS])
    save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [w]), ir_version=8), tmp_path / "m.onnx")
    return tmp_path / "m.onnx", numpy_helper.to_array(w).T


def test_an_onnx_file_takes_it_from_where_it_lies(model, tmp_path):
    path, expected = model
    gecc.optimize(path, tmp_path / "out.onnx")
    [weight] = load(tmp_path / "out.onnx").graph.initializer
    assert np.array_equal(numpy_helper.to_array(weight), expected)


def test_a_model_in_memory_has_it(model):
    path, expected = model
    [weight] = gecc.optimize(path).graph.initializer
    assert np.array_equal(numpy_helper.to_array(weight), expected)


def test_weights_beside_text_have_it(model, tmp_path):
    path, expected = model
    module = load_module(path)
    ConstantFolding().apply(None, module)
    assert data._postponed
    save_module(module, tmp_path / "out.mlir")
    again = load_module(tmp_path / "out.mlir")
    [folded] = [op for op in again.walk() if op.name == "ge.constant"]
    assert np.array_equal(folded.array(), expected)
