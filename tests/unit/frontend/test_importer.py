"""What an import makes of a model; and bad input, which is one line, exit code 1, and nothing written."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gecc.dialects.ge.errors import InputError
from gecc.dialects.ge.interfaces import is_pure
from gecc.dialects.ge.text import module_text
from gecc.frontend import import_model, importer
from gecc.tools import ge, ge_opt

from .graph_models import model


def ops(proto: ModelProto) -> list[str]:
    return [op.name.removeprefix("ge.") for op in import_model(proto).walk() if op.name.startswith("ge.")]


def text(proto: ModelProto) -> str:
    module = import_model(proto)
    module.verify()
    return module_text(module)


# ------------------------------------------------------------------ what it becomes


def test_every_op_has_its_nodes_name():
    source = model("main (float[4] x) => (float[4] y) <float[4] w = {1., 2., 3., 4.}> { y = Add(x, w) }")
    source.graph.node[0].name = "block/Add_1"
    assert 'ge.add %x, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> onnx "block/Add_1" ["y"]' in text(source)
    assert (
        'ge.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32> onnx ["w"]'
        in text(source)
    )


def test_symbols_stand_on_arguments_and_dims_stay_free():
    printed = text(model("main (float[N, 3, ?] x) => (float[N, k] y) { y = Flatten(x) }"))
    assert '%x: tensor<?x3x?xf32> {onnx.name = "x", ge.dims = ["N", 3 : i64, unit]}' in printed
    assert '-> (tensor<?x?xf32> {onnx.name = "y", ge.dims = ["N", "k"]})' in printed


def test_what_the_dialect_does_not_know_is_opaque():
    source = model(
        "main (float[4] x) => (float[4] y) { a = acme.Swish<beta = 2.0>(x)  y = Relu(a) }", imports=', "acme" : 3'
    )
    printed = text(source)
    assert 'ge.opaque "Swish" domain "acme" version 3 (%x) attrs {beta = 2.000000e+00 : f32}' in printed
    # Of what it gives nothing is known, so what reads it is opaque too.
    assert 'ge.opaque "Relu" version 21 pure' in printed


def test_only_what_onnx_calls_deterministic_is_pure():
    source = model("""main (float[4] x) => (float[4] y) {
        a = RandomNormalLike(x)
        b = acme.Foo(x)
        c = NonZero(x)
        d = Bernoulli(x)
        y = Relu(x)
    }""", imports=', "acme" : 1')  # fmt: skip
    pure = {op.properties["op_type"].data: is_pure(op) for op in import_model(source).walk() if op.name == "ge.opaque"}
    assert pure == {"RandomNormalLike": False, "Foo": False, "Bernoulli": False} | {
        k: True for k in pure if k == "NonZero"
    }


def test_an_explicit_default_is_no_attribute():
    source = model("main (float[4] x) => (float[4] y, float[4] z) { y = LeakyRelu<alpha = 0.01>(x)  z = Selu(x) }")
    assert "alpha" not in text(source)


def test_zero_for_an_element_type_means_that_it_is_absent():
    source = model("main (float[4] x) => (uint8[4] y) <float s = {1.}> { y = QuantizeLinear<output_dtype = 0>(x, s) }")
    assert ops(source) == ["constant", "quantize_linear"]


def test_dropout_that_never_drops():
    source = "main (float[4] x) => (float[4] y) <float r = {0.5}, bool t = {%d}> { y = Dropout(x, r, t) }"
    assert ops(model(source % 0))[-1] == "dropout"
    assert ops(model(source % 1))[-1] == "opaque"


def test_a_string_that_is_no_text_is_kept():
    source = model("main () => (string y) { y = Identity(c) }")
    source.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value_string=b"\xff\xfe"))
    assert ops(source)[0] == "opaque"


def test_what_a_branch_gave_up_leaves_no_reader_behind():
    # The branches' types have nothing in common: the node stays opaque, with the bodies that were built.
    source = model("""main (bool c, float[4] x) => (y) {
        y = If (c) <
          then_branch = t () => (float[4] o) { o = Relu(x) },
          else_branch = e () => (int64[4] p) { p = Cast<to = 7>(x) }
        >
    }""".replace("=> (y)", "=> (float[4] y)"))  # fmt: skip
    module = import_model(source)
    function = module.body.block.last_op
    x = function.body.block.args[1]
    assert sorted(use.operation.name for use in x.uses) == ["ge.cast", "ge.relu"]
    inside = set(function.walk())
    assert all(use.operation in inside for use in x.uses)


def test_a_node_that_is_refused_leaves_no_reader_behind():
    # In a branch that never runs a node may contradict itself; it stays opaque.
    source = model("""main (bool c, float[2,4] x) => (float[n] y) {
        y = If (c) <
          then_branch = t () => (float[n] o) { o = Squeeze<axes = [0]>(x) },
          else_branch = e () => (float[n] p) { p = Squeeze<axes = [1]>(x) }
        >
    }""", 11)  # fmt: skip
    module = import_model(source)
    assert [op.name for op in module.walk() if op.name.startswith("ge.")] == [
        "ge.if", "ge.opaque", "ge.yield", "ge.opaque", "ge.yield",
    ]  # fmt: skip
    x = module.body.block.last_op.body.block.args[1]
    assert [use.operation.name for use in x.uses] == ["ge.opaque", "ge.opaque"]


def test_nested_branches_are_read_once(monkeypatch: pytest.MonkeyPatch):
    graph = "o = acme.Foo(x)"
    for k in range(12):
        graph = f"""o = If (c) <
          then_branch = t{k} () => (float[4] o) {{ {graph} }},
          else_branch = e{k} () => (int64[4] o{k}) {{ o{k} = acme.Bar(x) }}
        >"""
    source = model(f"main (bool c, float[4] x) => (float[4] o) {{ {graph} }}", imports=', "acme" : 1')
    read: list[str] = []
    node = importer._Importer.node

    def counted(self: object, block: object, proto: NodeProto, scope: object) -> None:
        read.append(proto.op_type)
        node(self, block, proto, scope)

    monkeypatch.setattr(importer._Importer, "node", counted)
    # Types of branches that have nothing in common make every If opaque, once its bodies are there.
    assert ops(source).count("opaque") == 12 + 12 + 1
    assert len(read) == 12 + 12 + 1


# ------------------------------------------------------------------ bad models


def bad_models() -> dict[str, tuple[ModelProto, str]]:
    def altered(graph: str, change: Callable[[ModelProto], object], **kwargs: int) -> ModelProto:
        proto = model(graph, **kwargs)
        change(proto)
        return proto

    plain = "main (float[4] x) => (float[4] y) { [one] a = Relu(x)  [two] y = Neg(a) }"
    twice = numpy_helper.from_array(np.zeros(4, np.float32), "w")

    def opset(version: int) -> Callable[[ModelProto], object]:
        return lambda m: m.opset_import[0].CopyFrom(helper.make_opsetid("", version))

    return {
        "types that differ": (
            model("main (float[4] x, int64[4] i) => (float[4] y) { [sum] y = Add(x, i) }"),
            "node \"sum\": 'ge.add' operands must have one element type, got f32 and i64",
        ),
        "shapes that do not meet": (
            model("main (float[4] x, float[3] z) => (float[4] y) { y = Add(x, z) }"),
            'node "y": \'ge.add\' dims must be equal or 1 to broadcast, got 4 and 3',
        ),
        "an opset to come": (altered(plain, opset(999)), "opset 999 is not known: this version reads opset 1 to"),
        "opset zero": (altered(plain, opset(0)), "opset 0 is not known"),
        "no such operator": (
            altered(plain, lambda m: setattr(m.graph.node[0], "op_type", "Foo")),
            'node "one": opset 21 has no operator Foo',
        ),
        "a domain that is not imported": (
            altered(plain, lambda m: setattr(m.graph.node[0], "domain", "acme")),
            "node \"one\": operator Relu is of domain 'acme', which the model does not import",
        ),
        "a cycle": (
            altered(plain, lambda m: m.graph.node[0].input.__setitem__(0, "y")),
            "the graph has a cycle through this node",
        ),
        "an input that nobody makes": (
            altered(plain, lambda m: m.graph.node[1].input.__setitem__(0, "z")),
            "node \"two\": an input 'z' is not defined",
        ),
        "an output that nobody makes": (
            altered(plain, lambda m: setattr(m.graph.output[0], "name", "z")),
            "the graph's output 'z' is not defined",
        ),
        "two definitions": (
            altered(plain, lambda m: m.graph.node[1].output.__setitem__(0, "a")),
            "node \"two\": value 'a' has two definitions",
        ),
        "an input twice": (
            altered(plain, lambda m: m.graph.input.append(m.graph.input[0])),
            "input 'x' has two definitions",
        ),
        "an initialiser twice": (
            altered(plain, lambda m: m.graph.initializer.extend([twice, twice])),
            "initialiser 'w' has two definitions",
        ),
        "an attribute that must be there": (
            model("main (float[4] x) => (float[4] y) { [cast] y = Cast(x) }"),
            'node "cast": Cast lacks an attribute that it must have',
        ),
        "an element type that is none": (
            altered(plain, lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 99)),
            "element type 99 is not one of ONNX's",
        ),
        "an initialiser of no type": (
            altered(plain, lambda m: m.graph.initializer.append(TensorProto(name="w", data_type=99))),
            'tensor "w" has element type 99, which ONNX does not define',
        ),
        "an initialiser with too little data": (
            altered(plain, lambda m: m.graph.initializer.append(
                TensorProto(name="w", data_type=1, dims=[4], raw_data=b"1234"))),
            'tensor "w" holds 4 bytes, dims [4] of FLOAT need 16',
        ),
    }  # fmt: skip


@pytest.mark.parametrize(("proto", "message"), bad_models().values(), ids=bad_models().keys())
def test_a_bad_model_names_what_is_wrong(proto: ModelProto, message: str):
    with pytest.raises(InputError) as error:
        import_model(proto)
    assert message in str(error.value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("GE_")]:
        monkeypatch.delenv(name)
    return tmp_path


def good() -> ModelProto:
    weight = numpy_helper.from_array(np.arange(64 * 64, dtype=np.float32).reshape(64, 64), "w")
    proto = model("main (float[64,64] x) => (float[64,64] y) { y = MatMul(x, w) }", 17, 8)
    proto.graph.initializer.append(weight)
    return proto


def bad_files(folder: Path) -> list[tuple[str, str]]:
    """Names of bad files, which it writes, and what must be said of each."""
    onnx.save(good(), folder / "good.onnx")
    whole = (folder / "good.onnx").read_bytes()
    (folder / "empty.onnx").touch()
    (folder / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (folder / "text.onnx").write_text("func.func @main() { return }\n" * 20)
    (folder / "dir.onnx").mkdir()
    onnx.save(good(), folder / "gone.onnx", save_as_external_data=True, location="gone.bin", size_threshold=0)
    (folder / "gone.bin").unlink()
    onnx.save(good(), folder / "out.onnx", save_as_external_data=True, location="o.bin", size_threshold=0)
    outside = onnx.load(folder / "out.onnx", load_external_data=False)
    (folder.parent / "outside.bin").write_bytes((folder / "o.bin").read_bytes())
    outside.graph.initializer[0].external_data[0].value = "../outside.bin"
    (folder / "out.onnx").write_bytes(outside.SerializeToString())
    for name, (proto, _) in bad_models().items():
        (folder / f"{name.replace(' ', '_')}.onnx").write_bytes(proto.SerializeToString())
    listed = [(f"{name.replace(' ', '_')}.onnx", message) for name, (_, message) in bad_models().items()]
    return [
        ("missing.onnx", "No such file"), ("empty.onnx", "empty"), ("cut.onnx", "cut.onnx"), ("text.onnx", "text.onnx"),
        ("dir.onnx", "dir.onnx"), ("gone.onnx", "gone.bin"), ("out.onnx", "outside"), *listed,
    ]  # fmt: skip


def test_bad_files_end_in_one_line_and_leave_the_output(folder: Path, capsys: pytest.CaptureFixture[str]):
    for name, message in bad_files(folder):
        for tool, line, out in (
            (ge_opt.main, ["--prune", name, "-o", "old.onnx"], "old.onnx"),
            (ge.main, [f"--model={name}", "--framework=5", "--output=old.onnx"], "old.onnx"),
            (ge_opt.main, [name, "-o", "new.mlir"], "new.mlir"),
            (ge.main, [f"--model={name}", "--framework=5", "--output=new"], "new.onnx"),
        ):
            old = folder / "old.onnx"
            old.write_bytes(b"as it was")
            before = sorted(p.name for p in folder.iterdir())
            code = tool(line)
            stdout, stderr = capsys.readouterr()
            assert code == 1, (name, line, stderr)
            assert stdout == "", (name, line)
            assert stderr.count("\n") == 1, stderr
            assert name in stderr, stderr
            assert message in stderr, stderr
            assert old.read_bytes() == b"as it was", (name, line)
            assert sorted(p.name for p in folder.iterdir()) == before, (name, line)
            assert out == "old.onnx" or not (folder / out).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system of its own can only be mounted by root")
def test_a_full_disk_leaves_the_old_output(folder: Path, capsys: pytest.CaptureFixture[str]):
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        (disk / "m.onnx").write_bytes(b"as it was")
        onnx.save(good(), folder / "good.onnx")
        for tool, line in (
            (ge_opt.main, ["good.onnx", "-o", "disk/m.onnx"]),
            (ge.main, ["--model=good.onnx", "--framework=5", "--output=disk/m.onnx"]),
        ):
            assert tool(line) == 1
            stdout, stderr = capsys.readouterr()
            assert (stdout, stderr.count("\n")) == ("", 1)
            assert "No space left" in stderr
            assert [p.name for p in disk.iterdir()] == ["m.onnx"]
            assert (disk / "m.onnx").read_bytes() == b"as it was"
    finally:
        subprocess.run(["umount", str(disk)], check=True)
