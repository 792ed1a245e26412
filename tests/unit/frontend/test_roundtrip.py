"""Import and export without a pass: the same nodes, the same results, at every opset that wrote them otherwise."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.declare import REQUIRED
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.registry import default_registry
from gecc.frontend import export_model, import_model, materialise, node_count

from .graph_models import check_equal, model, names, through

X, X1, X4 = "float[2,3,4] x", "float[1,3,1] x", "float[1,1,3,4] x"
FORMS = [
    # opsets, inputs, results, constants, node
    ([7, 11], X1, ["y"], "", "y = Squeeze<axes = [0]>(x)"),
    ([7, 11, 13, 21, 24], X1, ["y"], "", "y = Squeeze(x)"),
    ([13, 21, 24], X1, ["y"], "int64[1] a = {-1}", "y = Squeeze(x, a)"),
    ([7, 11], X, ["y"], "", "y = Unsqueeze<axes = [0, 2]>(x)"),
    ([13, 21, 24], X, ["y"], "int64[2] a = {0, -1}", "y = Unsqueeze(x, a)"),
    ([7, 10], X, ["y"], "", "y = Clip<max = 0.5, min = -0.5>(x)"),
    ([7, 10], X, ["y"], "", "y = Clip<min = -0.5>(x)"),
    ([7, 10, 11, 13, 21], X, ["y"], "", "y = Clip(x)"),
    ([11, 12, 13, 21], X, ["y"], "float l = {-0.5}, float h = {0.5}", "y = Clip(x, l, h)"),
    ([11, 12, 13, 21], X, ["y"], "float h = {0.5}", "y = Clip(x, , h)"),
    ([7, 10], X, ["y"], "", "y = Pad<pads = [0, 1, 0, 2, 0, 1], value = 3.0>(x)"),
    ([7, 10], X, ["y"], "", 'y = Pad<mode = "reflect", pads = [0, 1, 0, 1, 0, 1]>(x)'),
    ([11, 13, 21], X, ["y"], "int64[6] p = {0, 1, 0, 2, 0, 1}, float v = {3.0}", "y = Pad(x, p, v)"),
    ([18, 21, 24], X, ["y"], "int64[2] p = {1, 2}, int64[1] a = {-1}", 'y = Pad<mode = "edge">(x, p, , a)'),
    ([7, 9], X, ["y"], "", "y = Slice<axes = [1], ends = [9], starts = [-2]>(x)"),
    ([10, 11, 13, 21], X, ["y"], "int64[1] s = {-2}, int64[1] e = {9}, int64[1] a = {1}", "y = Slice(x, s, e, a)"),
    ([10, 13], X, ["y"], "int64[1] s = {9}, int64[1] e = {-9}, int64[1] m = {-1}", "y = Slice(x, s, e, , m)"),
    ([7, 11], X, ["y", "z"], "", "y, z = Split<axis = 2, split = [1, 3]>(x)"),
    ([7, 11, 13], X, ["y", "z"], "", "y, z = Split<axis = 2>(x)"),
    ([13, 18, 21], X, ["y", "z"], "int64[2] s = {1, 3}", "y, z = Split<axis = 2>(x, s)"),
    ([18, 21], X, ["y", "z"], "", "y, z = Split<axis = 2, num_outputs = 2>(x)"),
    ([7, 9], X, ["y", "int64 i"], "", "y, i = TopK<axis = 2, k = 2>(x)"),
    ([10, 11, 21], X, ["y", "int64 i"], "int64[1] k = {2}", "y, i = TopK(x, k)"),
    ([11, 21], X, ["y", "int64 i"], "int64[1] k = {2}", "y, i = TopK<axis = 0, largest = 0, sorted = 1>(x, k)"),
    ([7, 11], X, ["y"], "", "y = ReduceSum<axes = [-1], keepdims = 0>(x)"),
    ([13, 21], X, ["y"], "int64[1] a = {-1}", "y = ReduceSum<keepdims = 0>(x, a)"),
    ([13, 21], X, ["y"], "", "y = ReduceSum<noop_with_empty_axes = 1>(x)"),
    ([7, 11, 13, 17], X, ["y"], "", "y = ReduceMean<axes = [0, 2]>(x)"),
    ([18, 21], X, ["y"], "int64[2] a = {0, 2}", "y = ReduceMean(x, a)"),
    ([7, 12, 18, 21], X, ["y"], "", "y = ReduceMax(x)"),
    ([7, 10], X, ["y"], "", "y = Dropout<ratio = 0.25>(x)"),
    ([12, 13, 21], X, ["y"], "float r = {0.25}", "y = Dropout(x, r)"),
    ([12, 21], X, ["y"], "float r = {0.25}, bool t = {0}", "y = Dropout<seed = 3>(x, r, t)"),
    ([7, 10, 12], X, ["y"], "", "y, mask = Dropout(x)"),
    ([7], X4, ["y"], "", 'y = Upsample<mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]>(x)'),
    ([9], X4, ["y"], "float[4] s = {1.0, 1.0, 2.0, 2.0}", "y = Upsample(x, s)"),
    ([10], X4, ["y"], "float[4] s = {1.0, 1.0, 2.0, 2.0}", "y = Resize(x, s)"),
    ([11, 13, 18, 19], X4, ["y"], "float[0] r = {}, float[4] s = {1.0, 1.0, 2.0, 2.0}", "y = Resize(x, r, s)"),
    ([13, 18, 19], X4, ["y"], "int64[4] n = {1, 1, 6, 5}", 'y = Resize<mode = "linear">(x, , , n)'),
    ([18, 19], X4, ["y"], "int64[2] n = {6, 5}", "y = Resize<axes = [2, 3]>(x, , , n)"),
    ([7, 11, 12, 13, 21], X, ["y"], "", "y = Softmax<axis = 2>(x)"),
    ([7, 11, 12, 13, 21], X, ["y"], "", "y = Softmax(x)"),
    ([7, 11], X, ["y"], "", "y = Softmax<axis = 0>(x)"),
    ([7, 9, 11, 13, 21], X, ["y"], "float[4,2] w = {1.,2.,3.,4.,5.,6.,7.,8.}", "y = MatMul(x, w)"),
    ([11, 13, 21], "float[2,2] x", ["y"], "float[2,2] w = {1.,2.,3.,4.}", "y = Gemm<alpha = 0.5, transB = 1>(x, w)"),
    ([7, 13, 21], X, ["y"], "int64[2] s = {0, -1}", "y = Reshape(x, s)"),
    ([7, 13, 21], X, ["int64 y"], "", "y = Shape(x)"),
    ([15, 21], X, ["int64 y"], "", "y = Shape<end = -1, start = 1>(x)"),
    ([7, 13, 21], X, ["float16 y"], "", "y = Cast<to = 10>(x)"),
    ([7, 9, 14, 15, 21], X, ["y"], "float[3] v = {1.,2.,3.}",
     "y = BatchNormalization<epsilon = 0.01>(x, v, v, v, v)"),
]  # fmt: skip
CASES = [(opset, *form) for opsets, *form in FORMS for opset in opsets]


@pytest.mark.parametrize(
    ("opset", "inputs", "outputs", "constants", "node"),
    CASES,
    ids=[f"{c[0]}-{c[-1].partition(' = ')[2]}" for c in CASES],
)
def test_one_node(opset: int, inputs: str, outputs: list[str], constants: str, node: str):
    results = ", ".join(o if " " in o else f"float {o}" for o in outputs)
    source = model(f"main ({inputs}) => ({results}) <{constants}> {{ {node} }}", opset, 8)
    for output in source.graph.output:
        output.type.tensor_type.ClearField("shape")
    exported = through(source)
    assert [n.op_type for n in exported.graph.node] == [n.op_type for n in source.graph.node]
    assert [o.version for o in exported.opset_import] == [opset]
    # What became an operand and an attribute again has left no constant behind.
    assert names(exported)[:3] == names(source)[:3]
    assert list(exported.graph.node[0].input) == list(source.graph.node[0].input)
    check_equal(source, exported)


DEFAULTS = sorted(
    (cls.onnx.type, version, name)
    for cls in ONNX_OPS.values()
    for version in range(cls.onnx.since, onnx.defs.onnx_opset_version() + 1)
    if not cls.onnx.domain
    for name, decl in cls.decls.items()
    if not decl.ours and decl.default is not None and decl.default is not REQUIRED
    if name in onnx.defs.get_schema(cls.onnx.type, version).attributes
)


def test_a_default_is_onnxs_in_every_version():
    # What equals the default is not kept, so it must be the default wherever it may be written back.
    found: dict[tuple[str, int, str], object] = {}
    for op_type, version, name in DEFAULTS:
        attribute = onnx.defs.get_schema(op_type, version).attributes[name]
        decl = ONNX_OPS["", op_type].decls[name]
        if not attribute.default_value.name:
            continue
        theirs = onnx.helper.get_attribute_value(attribute.default_value)
        ours = decl.default
        if decl.codec.kind == "type":
            continue
        if isinstance(theirs, bytes):
            theirs = theirs.decode()
        same = abs(theirs - ours) <= 1e-6 * abs(ours) if isinstance(ours, float) else theirs == ours
        if not same and not (isinstance(theirs, list) and tuple(theirs) == tuple(ours)):
            found[op_type, version, name] = (theirs, ours)
    assert found == {}


# ------------------------------------------------------------------ whole models

CONTROL = {
    "if": """main (bool c, float[4] x) => (float[4] y) {
        [branch] y = If (c) <
          then_branch = t () => (float[4] o) { r = Relu(x)  o = Neg(r) },
          else_branch = e () => (float[4] o) { r = Abs(x)  o = Neg(r) }
        > }""",
    "nested": """main (bool c, bool d, float[4] x) => (float[4] y) <float[4] k = {1., 2., 3., 4.}> {
        s = Add(x, k)
        y = If (c) <
          then_branch = t () => (float[4] o) {
            o = If (d) <
              then_branch = tt () => (float[4] p) { p = Add(s, k) },
              else_branch = te () => (float[4] p) { p = Sub(s, x) }
            > },
          else_branch = e () => (float[4] o) { o = Identity(s) }
        > }""",
    "types differ": """main (bool c, float[4] x) => (float[n] y) {
        y = If (c) <
          then_branch = t () => (float[4] o) { o = Relu(x) },
          else_branch = e () => (float[8] q) { q = Concat<axis = 0>(x, x) }
        > }""",
    "loop": """main (float[3] x) => (float[3] y, float[n,3] all) <int64 m = {4}, bool go = {1}> {
        y, all = Loop (m, go, x) <
          body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] s) {
            f = Cast<to = 1>(i)
            w = Add(v, f)
            s = Mul(w, x)
            d = Identity(c)
          }
        > }""",
    "scan": """main (float[2] x, float[5,2] xs) => (float[2] y, float[5,2] all) {
        y, all = Scan (x, xs) <
          num_scan_inputs = 1,
          body = b (float[2] v, float[2] e) => (float[2] w, float[2] s) {
            w = Add(v, e)
            s = Identity(w)
          }
        > }""",
    "sequence": """main (float[4] x) => (float[n] y) <int64 k = {1}> {
        s = SequenceConstruct(x, x)
        t = SequenceInsert(s, x)
        e = SequenceAt(t, k)
        n = SequenceLength(t)
        y = ConcatFromSequence<axis = 0>(t)
    }""",
}


@pytest.mark.parametrize("text", CONTROL.values(), ids=CONTROL.keys())
def test_control_flow(text: str):
    source = model(text)
    exported = through(source)
    onnx.checker.check_model(exported, full_check=True)
    assert node_count(exported) == node_count(source)
    check_equal(source, exported)


def test_names_of_branches():
    body = through(model(CONTROL["if"])).graph.node[0].attribute
    assert through(model(CONTROL["if"])).graph.node[0].name == "branch"
    assert [[n.output[0] for n in a.g.node] for a in body] == [["r", "o"], ["r", "o"]]


def test_a_constant_that_branches_read_has_a_name_of_its_own():
    # `k` is named where the first branch reads it; what the second branch calls k is another value.
    source = model("""main (bool c, float[4] x) => (float[4] y) <float[4] k = {1., 2., 3., 4.}> {
        y = If (c) <
          then_branch = t () => (float[4] o) { o = Add(x, k) },
          else_branch = e () => (float[4] o) { l = Neg(x)  o = Neg(l) }
        >
    }""")
    for node in (n for a in source.graph.node[0].attribute for n in a.g.node):
        node.input[:] = ["k" if n == "l" else n for n in node.input]
        node.output[:] = ["k" if n == "l" else n for n in node.output]
    source.graph.initializer[0].name = "q"
    branch = next(a.g for a in source.graph.node[0].attribute if a.name == "then_branch")
    branch.node[0].input[1] = "q"
    module = import_model(source)
    constant = next(op for op in module.walk() if op.name == "ge.constant")
    constant.attributes["onnx.outputs"] = ArrayAttr([StringAttr("k")])
    exported = materialise(export_model(module))
    onnx.checker.check_model(exported, full_check=True)
    check_equal(source, exported)


def test_a_name_of_a_branch_may_be_taken_outside_later():
    source = model("""main (bool c, float[4] x) => (float[4] z) {
        y = If (c) <
          then_branch = t () => (float[4] z) { z = Relu(x) },
          else_branch = e () => (float[4] w) { w = Neg(x) }
        >
        z = Neg(y)
    }""")
    check_equal(source, through(source))


def test_one_name_for_two_types_in_two_branches():
    # No op of the dialect makes `r`: its type is asked of ONNX, by name.
    source = model("""main (bool c, float[4] x) => (float[k] y) <int64[1] m = {-1}, bool[4] b = {1, 0, 1, 0}> {
        y = If (c) <
          then_branch = t () => (float[k] o) { r = NonZero(x)  s = Cast<to = 1>(r)  o = Reshape(s, m) },
          else_branch = e () => (float[k] o) { r = Compress(x, b)  o = Neg(r) }
        >
    }""")
    check_equal(source, through(source))


def test_initialisers_that_are_inputs():
    text = "main (float[4] c, float[2,4] x) => (float[2,4] y) <float[4] c = {1., 2., 3., 4.}> { y = Add(x, c) }"
    for ir in (3, 4, 8):
        source = model(text, 8, ir)
        exported = through(source)
        assert exported.ir_version == ir
        assert names(exported) == names(source)
        check_equal(source, exported)


def test_only_a_constant_of_ir_version_3_is_one():
    text = "main (float[4] c, float[2,4] x) => (float[2,4] y) <float[4] c = {1., 2., 3., 4.}> { y = Add(x, c) }"
    for ir, arguments in ((3, 1), (4, 2)):
        function = import_model(model(text, 8, ir)).body.block.last_op
        assert len(function.body.block.args) == arguments


OUTPUTS = {
    "an input": "main (float[4] x) => (float[4] y, float[4] x) { y = Relu(x) }",
    "nothing but an input": "main (float[4] x) => (float[4] x) { }",
    "an overridable input": "main (float[2] x, float[2] c) => (float[2] c) <float[2] c = {1., 2.}> { y = Relu(x) }",
    "an initialiser": "main (float[4] x) => (float[4] y, float[2] c) <float[2] c = {1., 2.}> { y = Relu(x) }",
    "read inside too": "main (float[4] x) => (float[4] y, float[4] z) { y = Relu(x)  z = Neg(y) }",
}


@pytest.mark.parametrize("text", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_outputs_that_are(text: str):
    source = model(text, 13, 8)
    exported = through(source)
    assert names(exported)[:2] == names(source)[:2]
    assert node_count(exported) == node_count(source)
    check_equal(source, exported)


def test_a_constant_node_that_is_an_output():
    source = model("main (float[4] x) => (float[4] y, int64[2] c) { c = Constant<value_ints = [1, 2]>()  y = Relu(x) }")
    check_equal(source, through(source))


def test_optional_inputs_in_the_middle():
    source = model("""main (float[2,3,4] x) => (float[a,b,c] y, float[2,3,4] z)
        <int64[6] p = {0, 1, 0, 2, 0, 1}, int64[3] q = {0, 1, 2}, float h = {0.5}> {
        y = Pad(x, p, , q)
        z = Clip(x, , h)
    }""")
    exported = through(source)
    assert [list(n.input) for n in exported.graph.node] == [["x", "p", "", "q"], ["x", "", "h"]]
    check_equal(source, exported)


def test_absent_results():
    source = model("main (float[1,1,4,4] x) => (int64[a,b,c,d] i) { , i = MaxPool<kernel_shape = [2, 2]>(x) }")
    del source.graph.node[0].output[:]
    source.graph.node[0].output.extend(["y", "i"])
    check_equal(source, through(source))


def test_nodes_in_any_order():
    source = model("main (float[4] x) => (float[4] y) { y = Neg(a)  a = Abs(b)  b = Relu(x) }")
    exported = through(source)
    assert [n.op_type for n in exported.graph.node] == ["Relu", "Abs", "Neg"]


def test_symbols_and_what_the_model_says_of_itself():
    source = model("main (float[N, 3, ?] x) => (float[N, k] y, float[M] z) { y = Flatten(x)  z = Foo(x) }", 21)
    source.graph.node[1].domain, source.graph.node[1].op_type = "acme", "Foo"
    source.opset_import.add(domain="acme", version=3)
    source.producer_name, source.producer_version, source.model_version = "torch", "2.0", 7
    source.domain, source.doc_string, source.graph.name = "org.acme", "what it is — ü", "net"
    source.graph.input[0].doc_string = "an image"
    source.metadata_props.add(key="author", value="ä")
    exported = through(source)
    assert list(exported.graph.input) == list(source.graph.input)
    assert list(exported.graph.output) == list(source.graph.output)
    told = ("model_version", "domain", "doc_string", "ir_version")
    assert [getattr(exported, t) for t in told] == [getattr(source, t) for t in told]
    assert exported.graph.name == "net"
    assert exported.producer_name == "gecc"
    assert {p.key: p.value for p in exported.metadata_props} == {"author": "ä", "gecc.source_producer": "torch 2.0"}
    assert {o.domain: o.version for o in exported.opset_import} == {"": 21, "acme": 3}
    # Once more, the first producer stays the one that is told of.
    again = {p.key: p.value for p in through(exported).metadata_props}
    assert again["gecc.source_producer"] == "torch 2.0"


def test_what_nodes_say_of_themselves():
    source = model(CONTROL["if"], 21, 10)
    source.graph.doc_string = "a graph — ü"
    source.graph.metadata_props.add(key="made by", value='hand, "quoted"')
    (node,) = source.graph.node
    for told in (node, node.attribute[0].g.node[0], source.graph.input[0], source.graph.output[0]):
        told.doc_string = "line 1\n\\ line 2"
        told.metadata_props.add(key="pkg.torch.onnx.stack_trace", value='File "x.py", ü')
    text = module_text(import_model(source))
    exported = materialise(export_model(parse_module(default_registry(pytest.fail).context(), text, "test")))
    (again,) = exported.graph.node
    assert (exported.graph.doc_string, *exported.graph.metadata_props) == ("a graph — ü", *source.graph.metadata_props)
    for one, other in (
        (again, node),
        (again.attribute[0].g.node[0], node.attribute[0].g.node[0]),
        (exported.graph.input[0], source.graph.input[0]),
        (exported.graph.output[0], source.graph.output[0]),
    ):
        assert (one.doc_string, *one.metadata_props) == (other.doc_string, *other.metadata_props)


def test_local_functions_are_their_nodes():
    text = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
    main (float[4] x) => (float[4] y) { y = local.twice(x) }
    <domain: "local", opset_import: ["" : 18]>
    twice (a) => (c) { b = Add(a, a)  c = Relu(b) }"""
    source = onnx.parser.parse_model(text)
    exported = through(source)
    assert [n.op_type for n in exported.graph.node] == ["Add", "Relu"]
    check_equal(source, exported)


def test_sparse_initialisers_and_odd_constants():
    source = model("main (float[3] x) => (float[3] y) { y = Add(x, s) }", 13, 8)
    values = numpy_helper.from_array(np.array([2.0], "float32"), "s")
    indices = numpy_helper.from_array(np.array([1], "int64"))
    source.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=indices, dims=[3]))
    exported = through(source)
    check_equal(model("main (float[3] x) => (float[3] y) <float[3] s = {0., 2., 0.}> { y = Add(x, s) }"), exported)
