"""Rules in GE's form: what they match, and one line for each way to get one wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from gecc.dialects.ge import Ge
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.errors import UsageError
from gecc.dialects.ge.text import parse_module
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.op_fusion import fuse_in
from gecc.transforms.fusion.rules_file import read_rules
from gecc.transforms.rewriting import functions

CLIP: dict[str, Any] = {
    "RuleName": "MinMaxToClip",
    "OuterInputs": [
        {"name": "x", "src": "low:0"},
        {"name": "min", "src": "low:1"},
        {"name": "max", "src": "high:1"},
    ],
    "OuterOutputs": [{"name": "y", "src": "high:0"}],
    "OriginGraph": {
        "Nodes": [{"name": "low", "type": ["Max"]}, {"name": "high", "type": ["Min"]}],
        "Edges": [{"src": "low:0", "dst": "high:0"}],
    },
    "FusionGraph": {
        "Nodes": [{"name": "clip", "type": ["ClipByValue"]}],
        "Edges": [{"src": "x", "dst": "clip:0"}, {"src": "clip:0", "dst": "y"}],
        "Attrs": [{"attr": "clip.mode", "expr": "=", "value": 1}],
    },
}
PARTS: dict[str, Any] = {
    "RuleName": "TwoOutputs",
    "OuterInputs": [{"name": "x", "src": "root:0"}],
    "OuterOutputs": [{"name": "y", "src": "half:0"}, {"name": "z", "src": "other:0"}],
    "OriginGraph": {
        "Nodes": [
            {"name": "root", "type": "Sqrt"},
            {"name": "half", "type": ["Exp", "Log"]},
            {"name": "other", "type": "Add"},
        ],
        "Edges": [
            {"src": "root:0", "dst": "half:0"},
            {"src": "half:0", "dst": "other:0"},
            {"src": "root:0", "dst": "other:1"},
        ],
    },
    "FusionGraph": {"Nodes": [{"name": "a", "type": "A"}, {"name": "b", "type": "B"}]},
}
X = "tensor<4xf32>"


def parsed(body: str, results: str = X) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    text = f"func.func @main(%x: {X}, %y: {X}, %z: {X}) -> ({results}) {{\n{body}\n}}"
    return parse_module(context, text, "test.mlir")


def fused(folder: Path, module: ModuleOp, *rules: dict[str, Any]) -> list[FusionOp]:
    (folder / "rules.json").write_text(json.dumps({"Rules": list(rules)}))
    inputs = make_inputs(module)
    before = run(module, inputs)
    for function in functions(module):
        fuse_in(function.body.block, read_rules(folder / "rules.json"))
    module.verify()
    after = run(module, inputs)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    return [op for op in module.walk() if isinstance(op, FusionOp)]


def test_a_graph_becomes_the_op_that_it_names(tmp_path: Path):
    body = f"""
%0 = ge.max %y, %x : {X}, {X} -> {X}
%1 = ge.min %z, %0 : {X}, {X} -> {X}
func.return %1 : {X}"""
    (fusion,) = fused(tmp_path, parsed(body), CLIP)

    assert fusion.label.data == "ClipByValue"
    assert [op.name for op in fusion.body.block.ops] == ["ge.max", "ge.min", "ge.yield"]


def test_an_inner_value_that_is_read_outside_keeps_it_off(tmp_path: Path):
    body = f"""
%0 = ge.max %x, %y : {X}, {X} -> {X}
%1 = ge.min %0, %z : {X}, {X} -> {X}
func.return %0, %1 : {X}, {X}"""
    assert not fused(tmp_path, parsed(body, f"{X}, {X}"), CLIP)


def test_two_outputs_a_choice_of_types_and_operands_the_other_way_round(tmp_path: Path):
    body = f"""
%0 = ge.sqrt %x : {X} -> {X}
%1 = ge.log %0 : {X} -> {X}
%2 = ge.neg %y : {X} -> {X}
%3 = ge.add %0, %1 : {X}, {X} -> {X}
func.return %1, %2, %3 : {X}, {X}, {X}"""
    (fusion,) = fused(tmp_path, parsed(body, f"{X}, {X}, {X}"), PARTS)

    assert fusion.label.data == "TwoOutputs"
    assert len(fusion.outs) == 2


def test_one_name_of_an_input_is_one_value(tmp_path: Path):
    same = {**CLIP, "OuterInputs": [{"name": "x", "src": "low:0"}, {"name": "x", "src": "high:1"}]}
    one = f"%0 = ge.max %x, %y : {X}, {X} -> {X}\n%1 = ge.min %0, {{}} : {X}, {X} -> {X}\nfunc.return %1 : {X}"

    assert fused(tmp_path, parsed(one.format("%x")), same)
    assert not fused(tmp_path, parsed(one.format("%z")), same)


def test_the_condition_is_ours(tmp_path: Path):
    body = f"%0 = ge.max %x, %y : {X}, {X} -> {X}\n%1 = ge.min %0, %z : {X}, {X} -> {X}\nfunc.return %1 : {X}"

    assert not fused(tmp_path, parsed(body), {**CLIP, "Condition": "input_dtype == float16"})
    assert fused(tmp_path, parsed(body), {**CLIP, "Condition": "input_shape[0] % 4 == 0"})


def changed(path: str, content: Any) -> dict[str, Any]:
    rule = json.loads(json.dumps(CLIP))
    *keys, last = path.split(".")
    at = rule
    for key in keys:
        at = at[int(key) if key.isdigit() else key]
    at[int(last) if last.isdigit() else last] = content
    return rule


EDGES = [{"src": "low:0", "dst": "high:0"}, {"src": "high:0", "dst": "low:0"}]


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("RuleNam", 1, "unknown key 'RuleNam'; allowed: RuleName, OuterInputs,"),
        ("RuleName", 3, "RuleName: must be a name"),
        ("OriginGraph", [], "OriginGraph: must be an object {...}, got []"),
        ("OriginGraph.Nodes", [], "OriginGraph: Nodes: must have 1 to 64 nodes, got 0"),
        ("OriginGraph.Nodes.0.type", ["Maxx"], "OriginGraph: Nodes: type: no operator 'Maxx'; did you mean 'Max'?"),
        ("OriginGraph.Nodes.0.type", [], "OriginGraph: Nodes: type: must have a type at least"),
        ("OriginGraph.Nodes.1.name", "low", "OriginGraph: Nodes: two nodes are 'low'"),
        ("OriginGraph.Edges.0.dst", "hihg:0", "Edges: no node 'hihg'; there are low, high; did you mean 'high'?"),
        ("OriginGraph.Edges.0.dst", "high:x", 'Edges: must be node:index, got "high:x"'),
        ("OriginGraph.Edges.0.dst", "high:1", "OuterInputs: operand 1 of 'high' comes from two places"),
        ("OriginGraph.Edges", EDGES, "OuterInputs: operand 0 of 'low' comes from two places"),
        ("OuterInputs", EDGES, "OuterInputs: unknown key 'dst'; allowed: name, src"),
        ("OuterOutputs", [], "OuterOutputs: must have an output at least"),
        ("OuterOutputs.0.src", "low:0", "OriginGraph: the node 'high' leads to no outer output"),
        ("FusionGraph.Edges.0.dst", "clap:0", "FusionGraph: Edges: no node 'clap'"),
        ("FusionGraph.Attrs.0.attr", "min.x", "FusionGraph: Attrs: must be node.attribute of a node of FusionGraph"),
        ("Condition", "Conv.group == 1", "Condition: column 6: 'Conv' is not in the pattern; allowed: Max, Min"),
        ("Condition", 7, "Condition: must be text, got 7"),
    ],
)
def test_a_wrong_rule_is_one_line_that_says_what_to_do(path: str, content: Any, message: str, tmp_path: Path):
    (tmp_path / "rules.json").write_text(json.dumps({"Rules": [changed(path, content)]}, indent=1))
    with pytest.raises(UsageError) as error:
        read_rules(tmp_path / "rules.json")

    assert str(error.value).startswith(f"{tmp_path / 'rules.json'}:3: rule 1")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["RuleName", "OuterInputs", "OuterOutputs", "OriginGraph", "FusionGraph"])
def test_a_missing_key_is_named(key: str, tmp_path: Path):
    rule = {name: value for name, value in CLIP.items() if name != key}
    (tmp_path / "rules.json").write_text(json.dumps({"Rules": [rule]}))
    with pytest.raises(UsageError, match=rf"rules\.json:1: rule 1.*: the key '{key}' is missing"):
        read_rules(tmp_path / "rules.json")


def test_a_rule_whose_product_is_what_it_matches_ends(tmp_path: Path):
    body = "".join(f"%{k + 1} = ge.max %{k or 'x'}, %{'z' if k % 2 else 'y'} : {X}, {X} -> {X}\n" for k in range(6))
    rule = json.loads(json.dumps(CLIP).replace('"Min"', '"Max"').replace("ClipByValue", "Max"))
    rule["FusionGraph"]["Attrs"] = []
    fusions = fused(tmp_path, parsed(f"{body}func.return %6 : {X}"), rule)
    assert [fusion.label.data for fusion in fusions] == ["Max"] * 3


def test_edges_that_go_round_in_a_circle(tmp_path: Path):
    rule = changed("OriginGraph.Edges", EDGES)
    rule["OuterInputs"], rule["FusionGraph"] = [], {"Nodes": []}
    (tmp_path / "rules.json").write_text(json.dumps({"Rules": [rule]}))
    with pytest.raises(UsageError, match="the edges go round in a circle at 'high'"):
        read_rules(tmp_path / "rules.json")
