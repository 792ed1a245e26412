"""GE's switch file in both forms, and what fusion_result.json says."""

import json
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from gecc.dialects.ge import Ge
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.errors import UsageError
from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.driver.settings import resolve
from gecc.transforms.fusion.catalogue import CATALOGUE
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.fusion.switches import ge_name, is_on, read_switches

BODY = """
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x2xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>) {
  %0 = ge.matmul %x, %w : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %1 = ge.relu %0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %3 = ge.abs %2 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %1, %3 : tensor<2x2xf32>, tensor<2x4xf32>
}"""


def parsed() -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    return parse_module(context, BODY, "test.mlir")


def labels(folder: Path, switches: str) -> list[str]:
    (folder / "switch.cfg").write_text(switches)
    module = parsed()
    OpFusion(switch_file=str(folder / "switch.cfg")).apply(Context(), module)
    return [op.label.data for op in module.walk() if isinstance(op, FusionOp)]


def switch(**states: str) -> str:
    return json.dumps({"Switch": {"GraphFusion": states}})


def test_rules_by_both_names_and_all_at_once(tmp_path: Path):
    assert labels(tmp_path, "") == ["MatMulRelu", "ExpAbs"]
    assert labels(tmp_path, "product:off\n\nElementwiseFusionPass:on\n") == ["ExpAbs"]
    assert labels(tmp_path, switch(ElementwiseFusionPass="off")) == ["MatMulRelu"]
    assert labels(tmp_path, switch(ALL="off")) == []
    assert labels(tmp_path, switch(ALL="off", ProductFusionPass="on")) == ["MatMulRelu"]


def test_every_rule_has_a_name_of_its_own():
    names = [ge_name(rule.name) for rule in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    assert not any(is_on(rule.name, {ge_name(rule.name): False}) for rule in CATALOGUE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("product off", '1: must be Name:on or Name:off, got "product off"'),
        ("product:on\nconvolution:of\n", '2: must be Name:on or Name:off, got "convolution:of"'),
        ("{,}", "1:2: is not JSON"),
        ("{}", "the key 'Switch' is missing"),
        ('{"Switch": []}', "Switch: must be an object {...}, got []"),
        ('{"Switch": {"Graph": {}}}', "Switch: unknown key 'Graph'; allowed: GraphFusion, UBFusion"),
        ('{"Switch": {"UBFusion": {"a": 0}}}', 'UBFusion: a: must be "on" or "off", got 0'),
    ],
)
def test_a_wrong_file_is_one_line_that_says_what_to_do(text: str, message: str, tmp_path: Path):
    (tmp_path / "switch.cfg").write_text(text)
    with pytest.raises(UsageError) as error:
        read_switches(tmp_path / "switch.cfg")
    assert str(error.value).startswith(str(tmp_path / "switch.cfg"))
    assert message in str(error.value)


def test_what_matched_and_what_came_of_it(tmp_path: Path):
    rules = {"pattern": ["MatMul", "Relu"], "replacement": "Mine", "condition": "input_dtype == float16"}
    (tmp_path / "rules.json").write_text(json.dumps({"rules": [rules]}))
    OpFusion(rules_file=str(tmp_path / "rules.json"), result_file=str(tmp_path / "r.json")).apply(Context(), parsed())
    assert json.loads((tmp_path / "r.json").read_text()) == {
        "session_and_graph_id_0_0": {
            "graph_fusion": {
                "Mine": {"match_times": 1, "effect_times": 0},
                "ProductFusionPass": {"match_times": 1, "effect_times": 1},
                "ElementwiseFusionPass": {"match_times": 1, "effect_times": 1},
            },
            "ub_fusion": {},
        }
    }


def test_the_file_switches_passes_too_and_other_names_are_told(tmp_path: Path):
    path = tmp_path / "switch.json"
    path.write_text(
        switch(CommonSubexpressionEliminationPass="off", ProductFusionPass="off", TbePoolQuantFusionPass="off")
    )
    registry = default_registry(lambda text: None)
    given = {"fusion_switch_file": str(path), "export_compile_stat": "1"}
    settings = resolve(given, {}, registry)
    assert settings.switches == {"common-subexpression-elimination": False}
    assert settings.options["op-fusion"] == {"switch_file": str(path), "result_file": "fusion_result.json"}
    (note,) = settings.notes(["op-fusion"])
    assert "TbePoolQuantFusionPass has no effect: there is no such pass and no such rule" in note
    with pytest.raises(UsageError, match="no such file"):
        resolve({"fusion_switch_file": str(tmp_path / "none")}, {}, registry)
