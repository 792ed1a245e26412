"""Tuning as l2-fusion does it: its options, and the file that it writes and applies again."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from gecc.planning import Group, Plan, Score, Scorer
from gecc.tools import ge_opt
from gecc.transforms.l2.study import Budget, Study, Tuned
from gecc.transforms.l2.tune import Task

MODEL = """
func.func @main(%x: tensor<32x64x32x32xf32>, %w1: tensor<64x64x1x1xf32>, %w2: tensor<64x64x1x1xf32>)
    -> tensor<32x64x32x32xf32> {
  %1 = ge.conv %x, %w1 : tensor<32x64x32x32xf32>, tensor<64x64x1x1xf32> -> tensor<32x64x32x32xf32>
  %2 = ge.relu %1 : tensor<32x64x32x32xf32> -> tensor<32x64x32x32xf32>
  %3 = ge.conv %2, %w2 : tensor<32x64x32x32xf32>, tensor<64x64x1x1xf32> -> tensor<32x64x32x32xf32>
  %4 = ge.add %3, %x : tensor<32x64x32x32xf32>, tensor<32x64x32x32xf32> -> tensor<32x64x32x32xf32>
  func.return %4 : tensor<32x64x32x32xf32>
}
"""

Tool = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs l2-fusion with options on a small model, in a folder of its own: code, module, what was said."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(MODEL)
    Path("other.mlir").write_text(MODEL.replace("32x32xf32", "16x16xf32"))

    def run(options: str, model: str = "m.mlir") -> tuple[int, str, str]:
        code = ge_opt.main([f"--l2-fusion={options}", model])
        return code, *capsys.readouterr()

    return run


TUNE = "l2-size=8 tune=GA tune-trials=20 tuning=m.json"


def test_the_file_gives_the_same_module(tool: Tool):
    code, tuned, said = tool(TUNE)
    assert (code, said) == (0, "")
    assert "ge.l2_tiling" in tuned
    assert tool("l2-size=8 tuning=m.json") == (0, tuned, "")


def test_the_file_is_small_and_says_what_it_is_for(tool: Tool):
    tool(TUNE)
    content = json.loads(Path("m.json").read_text())
    found = content["functions"]["main"]
    assert content["format"] == "gecc-tuning-2"
    assert found["machine"] == {"target": "brief-910b", "l2_bytes": 8 << 20, "cache": "plain", "page": 4096}
    assert found["trials"] == 20
    before, after = found["modelled"]["seconds"]
    assert after <= before
    assert Path("m.journal").exists()


def test_the_same_line_twice_writes_the_same_file(tool: Tool):
    tool(TUNE)
    first = Path("m.json").read_bytes()
    tool(TUNE)  # the journal has all its trials
    assert Path("m.json").read_bytes() == first
    Path("m.journal").unlink()
    tool(TUNE)
    assert Path("m.json").read_bytes() == first


def test_where_nothing_can_be_gained_nothing_is_tried(tool: Tool):
    code, tuned, _ = tool("l2-size=192 tune=GA tuning=m.json")
    assert code == 0
    assert "ge.l2_tiling" not in tuned
    for found in json.loads(Path("m.json").read_text())["functions"].values():
        assert (found["trials"], found["groups"]) == (0, [])


STREAMING = """
func.func @main(%x: tensor<600x512xf32>, %w1: tensor<512x1024xf32>, %w2: tensor<1024x512xf32>) -> tensor<600x512xf32> {
  %1 = ge.matmul %x, %w1 : tensor<600x512xf32>, tensor<512x1024xf32> -> tensor<600x1024xf32>
  %2 = ge.matmul %1, %w2 : tensor<600x1024xf32>, tensor<1024x512xf32> -> tensor<600x512xf32>
  func.return %2 : tensor<600x512xf32>
}
"""
STREAMED = "l2-size=1.5 cache=hints tuning=s.json"


@pytest.fixture
def streaming(tool: Tool) -> tuple[int, str, str]:
    """Weights of 2 MiB in a cache of 1.5 MiB: by the rule they pass by three times, and need to pass but once."""
    Path("s.mlir").write_text(STREAMING)
    return tool(f"{STREAMED} tune=GA tune-trials=20", "s.mlir")


def test_kernel_tiles_are_found_and_applied_again(streaming: tuple[int, str, str], tool: Tool):
    code, tuned, said = streaming
    assert (code, said) == (0, "")
    assert "#ge.kernel_tile<axis = 0, size = " in tuned
    (found,) = json.loads(Path("s.json").read_text())["functions"].values()
    assert found["kernels"]
    assert found["modelled"]["bytes"][1] < found["modelled"]["bytes"][0]
    assert tool(STREAMED, "s.mlir") == (0, tuned, "")


def test_a_function_that_is_planned_stays_as_it_is(streaming: tuple[int, str, str], tool: Tool):
    Path("planned.mlir").write_text(streaming[1])
    assert tool("l2-size=1.5", "planned.mlir") == (0, streaming[1], "")


@pytest.mark.parametrize(
    "walk",
    [
        {"begin": 0, "end": 2, "samples": 4},
        {"begin": 5, "end": 6, "samples": 4},
        {"begin": 0, "end": 1, "samples": 4000},
        {"begin": 0, "end": 1, "samples": 4, "outer": 2},
        {"begin": 0, "end": 1, "samples": 4, "lines": True},
    ],
)
def test_a_walk_that_is_none_is_refused(walk: dict[str, int], streaming: tuple[int, str, str], tool: Tool):
    content = json.loads(Path("s.json").read_text())
    content["functions"]["main"] |= {"groups": [], "kernels": [walk]}
    Path("s.json").write_text(json.dumps(content))
    said = refusal(tool, STREAMED, "s.mlir")
    assert re.fullmatch(r"s\.json: main: \{.*\} is not how an op by itself can walk", said)


def test_a_walk_of_an_op_in_a_group_is_refused(tool: Tool):
    tool(TUNE)
    walk = {"begin": 1, "end": 2, "samples": 32, "outer": 4}
    changed(
        lambda content: content["functions"]["main"].update(
            kernels=[walk], groups=[{"begin": 0, "end": 3, "samples": 32}]
        )
    )
    assert refusal(tool, "l2-size=8 tuning=m.json").endswith("is not how an op by itself can walk")


def test_a_file_of_before_kernel_tiles_is_read(tool: Tool):
    code, tuned, _ = tool(TUNE)
    content = json.loads(Path("m.json").read_text())
    content["format"] = "gecc-tuning-1"
    for found in content["functions"].values():
        assert found.pop("kernels") == []
    Path("m.json").write_text(json.dumps(content))
    assert tool("l2-size=8 tuning=m.json") == (code, tuned, "")


def refusal(tool: Tool, options: str, model: str = "m.mlir") -> str:
    code, out, said = tool(options, model)
    assert (code, out, said.count("\n")) == (2, "", 1)
    return said.removeprefix("ge-opt: error: ").strip()


def test_a_file_for_another_model_is_refused(tool: Tool):
    tool(TUNE)
    said = refusal(tool, "l2-size=8 tuning=m.json", "other.mlir")
    assert said == "m.json: was tuned for another model: 'main' is of other ops or sizes; tune it again"


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ("l2-size=16", "l2_bytes 8388608, not 16777216"),
        ("l2-size=8 cache=hints", "cache plain, not hints"),
        ("l2-size=8 blacklist=Relu", "blacklist [], not ['Relu']"),
        ("l2-size=8 fusion-threshold=0.5", "fusion_threshold 0.8, not 0.5"),
    ],
)
def test_a_file_for_another_chip_or_rules_is_refused(options: str, difference: str, tool: Tool):
    tool(TUNE)
    assert refusal(tool, f"{options} tuning=m.json") == f"m.json: was tuned for {difference}; tune it again"


def changed(change: Callable[[Any], None]) -> None:
    content = json.loads(Path("m.json").read_text())
    change(content)
    Path("m.json").write_text(json.dumps(content, indent=1))


def set_group(**values: int) -> Callable[[Any], None]:
    return lambda content: next(iter(content["functions"].values()))["groups"][0].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: content.update(format="x"),
            r'm.json:2: format: must be one of "gecc-tuning-2", "gecc-tuning-1", got "x"',
        ),
        (lambda content: content.pop("functions"), r"m.json:1: the key 'functions' is missing"),
        (set_group(samples=0), r"m.json:\d+: functions: \S+ ?\S*: groups: samples: must be at least 1, got 0"),
        (set_group(end=9), r"m.json: main.*: the group of ops \[\d, 9\) is not one of 4 ops in order"),
        (set_group(outer=32), r"m.json: main.*: .* is not several whole tiles"),
    ],
)
def test_a_file_that_is_wrong_is_refused(change: Callable[[Any], None], message: str, tool: Tool):
    tool(TUNE)
    changed(change)
    assert re.fullmatch(message, refusal(tool, "l2-size=8 tuning=m.json"))


def test_a_file_that_is_missing_is_refused(tool: Tool):
    assert refusal(tool, "tuning=none.json") == "none.json: No such file or directory"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", ".: is a folder: name the file that tuning is to write"),
        ("..", "..: is a folder: name the file that tuning is to write"),
        ("none/m.json", "none/m.json: there is no folder none"),
        ("m.journal", "m.journal: the trials are kept under this name; name the result m.json, say"),
        ("m.mlir", "m.mlir: is there, and no file of tuning: remove it, or name another"),
    ],
)
def test_a_place_that_the_result_cannot_have_is_refused_before_tuning(path: str, message: str, tool: Tool):
    model = Path("m.mlir").read_text()
    assert refusal(tool, f"tune=GA tuning={path}") == message
    assert not list(Path().glob("*.journal"))
    assert Path("m.mlir").read_text() == model


def test_trials_of_other_genes_do_not_mix(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    Path("s.mlir").write_text(STREAMING)

    def trials() -> int:
        assert tool(f"{STREAMED} tune=GA tune-trials=4", "s.mlir")[0] == 0
        (found,) = json.loads(Path("s.json").read_text())["functions"].values()
        return found["trials"]

    assert trials() == 4
    monkeypatch.setattr("gecc.planning.tuning.MOST_KERNELS", 0)
    assert trials() == 1  # the plan without tuning: without kernel tiles there is no other
    storage = JournalStorage(JournalFileBackend("s.journal"))
    assert [study.n_trials for study in optuna.get_all_study_summaries(storage)] == [4, 1]


def test_plans_of_long_functions_are_scored_by_their_trace(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    def never(self: Task, plan: Plan) -> Score:
        raise AssertionError

    monkeypatch.setattr("gecc.transforms.l2.tune.MOST_LOWERED", 3)
    monkeypatch.setattr(Task, "scored", never)
    code, tuned, said = tool(TUNE)
    assert (code, said) == (0, "")
    assert "ge.l2_tiling" in tuned


def test_functions_share_the_seconds(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    given: list[float] = []

    def run(self: Study, scorer: Scorer, budget: Budget, tell: Callable[[float, str], None]) -> Tuned:
        assert budget.seconds is not None
        given.append(budget.seconds)
        return Tuned([], Score(1.0, 1), 0)

    monkeypatch.setattr(Study, "run", run)
    Path("two.mlir").write_text(MODEL + MODEL.replace("@main", "@other"))
    assert tool("l2-size=8 tune=GA tune-seconds=1000", "two.mlir")[0] == 0
    one, other = given
    assert 400 < one < 500 < other < 1000


@pytest.mark.parametrize(
    "options", ["l2-size=2", "l2-size=4 cache=hints", "l2-size=6 cache=write-allocate", "l2-size=12"]
)
@pytest.mark.parametrize("text", [MODEL, STREAMING])
def test_what_tuning_leaves_moves_no_more_bytes(options: str, text: str, tool: Tool):
    Path("any.mlir").write_text(text)
    moved: list[int] = []
    for tune in ("", " tune=GA tune-trials=15"):
        code, module, _ = tool(options + tune, "any.mlir")
        assert code == 0
        found = re.search(r"judge_after = (\d+)", module)
        assert found is not None
        moved.append(int(found[1]))
    assert moved[1] <= moved[0]


def test_who_stops_tuning_is_told_where_the_trials_are(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    def stop(self: Task, plan: Plan) -> Score:
        raise KeyboardInterrupt

    monkeypatch.setattr(Task, "scored", stop)
    code, out, said = tool(TUNE)
    assert (code, out) == (130, "")
    assert said == "ge-opt: tuning was stopped; the same line goes on from the trials in m.journal\n"
    assert tool("l2-size=8 tune=GA tune-trials=5")[2] == "ge-opt: tuning was stopped; nothing is kept\n"


@pytest.mark.parametrize("text", ["1,2\n3,4\n", '"text"\n', "[]\n", '{"op_code": 99}\n', "{}\n", "\x00\n\x01\n"])
def test_a_journal_that_is_none_is_refused(text: str, tool: Tool):
    Path("m.journal").write_text(text)
    assert refusal(tool, TUNE).startswith("m.journal: is no journal of tuning (")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("tune-trials=5", "tune-trials is about tuning: add tune=GA"),
        ("tune-seconds=5 tuning=m.json", "tune-seconds is about tuning: add tune=GA"),
        ("tune-seed=5", "tune-seed is about tuning: add tune=GA"),
        ("tune=GA tune-trials=0", "tune-trials must be at least 1, got 0"),
        ("tune=GA tune-seconds=0", "tune-seconds must be greater than 0, got 0.0"),
    ],
)
def test_a_budget_that_means_nothing(options: str, message: str, tool: Tool):
    assert refusal(tool, options) == f"l2-fusion: {message}"


def test_without_optuna_the_extra_is_named(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "gecc.transforms.l2.study")
    assert refusal(tool, TUNE) == "tuning needs the package optuna: pip install 'gecc[tune]'"


def test_a_group_of_the_file_is_a_group():
    # The file's keys are the fields: a field that it does not know would be lost.
    from gecc.transforms.l2.tuning_file import SCHEMA

    found = SCHEMA["properties"]["functions"]["additionalProperties"]
    assert set(found["properties"]["groups"]["items"]["properties"]) == set(Group._fields)
