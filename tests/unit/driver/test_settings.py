"""Which word comes first, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from gecc.dialects.ge.errors import UsageError
from gecc.driver.registry import Registry
from gecc.driver.settings import Settings, mistyped, resolve

FOLD = "ConstantFoldingPass"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for state in (0, 1):
        write(f"fold{state}.json", {"ge": {"opt_passes": {FOLD: state}}})
    write("l2.json", {"l2_size": 32, "fusion_threshold": 0.8, "blacklist": ["Softmax", "LayerNorm"]})
    write("memory.json", {"reuse_policy": "size", "alignment": 32, "max_reuse_ratio": 0.8})
    write("rules.json", {"rules": []})
    return tmp_path


def write(name: str, content: Any) -> str:
    Path(name).write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return name


def refusal(given: dict[str, str], environment: dict[str, str], registry: Registry) -> str:
    with pytest.raises(UsageError) as error:
        resolve(given, environment, registry)
    return str(error.value)


# The rows of the precedence, each on top of all those below it: the first place that speaks is heard.
PLACES = [
    ("line", "opt_passes", f"{FOLD}:%d"),
    ("line", "config", "fold%d.json"),
    ("environment", "GE_OPTIMIZATION_PASSES", f"{FOLD}:%d"),
    ("environment", "GE_CONFIG", "fold%d.json"),
]


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("first", range(len(PLACES)))
def test_the_first_place_that_speaks_is_heard(first: int, on: bool, registry: Registry):
    said: dict[str, dict[str, str]] = {"line": {}, "environment": {}}
    for rank, (where, name, text) in enumerate(PLACES[first:]):
        said[where][name] = text % (on if rank == 0 else not on)
    assert resolve(said["line"], said["environment"], registry).switches == {"constant-folding": on}


def test_places_add_up_where_they_speak_of_different_passes(registry: Registry):
    settings = resolve(
        {"opt_passes": "PrunePass:0"}, {"GE_OPTIMIZATION_PASSES": f"{FOLD}:1;OpFusionPass:off"}, registry
    )
    assert settings.switches == {"prune": False, "constant-folding": True, "op-fusion": False}


def test_without_a_word_everything_is_as_the_level_says(registry: Registry):
    assert resolve({}, {"PATH": "/bin", "GE_L2_FUSION": ""}, registry) == Settings()


@pytest.mark.parametrize(
    ("given", "environment", "on"),
    [
        ({"enable_l2_fusion": "1"}, {}, True),
        ({"enable_l2_fusion": "1"}, {"GE_L2_FUSION": "0"}, True),
        ({"enable_l2_fusion": "0"}, {"GE_L2_FUSION": "1"}, False),
        ({}, {"GE_L2_FUSION": "1"}, True),
        ({}, {"GE_L2_FUSION": "0"}, False),
        ({"l2_fusion_config": "l2.json"}, {}, True),
        ({"l2_fusion_config": "l2.json"}, {"GE_L2_FUSION": "0"}, True),
        ({"buffer_optimize": "l2_optimize"}, {}, True),
        ({"buffer_optimize": "off_optimize"}, {"GE_L2_FUSION": "1"}, False),
        ({"buffer_optimize": "l1_optimize"}, {}, False),
        ({"opt_passes": "L2FusionPass:1"}, {}, True),
    ],
)
def test_ways_to_l2_fusion(given: dict[str, str], environment: dict[str, str], on: bool, registry: Registry):
    assert resolve(given, environment, registry).switches == {"l2-fusion": on}


def test_files_become_options(registry: Registry):
    given = {"l2_fusion_config": "l2.json", "memory_config_file": "memory.json", "fusion_rules_file": "rules.json"}
    settings = resolve(given, {"GE_MEMORY_STRATEGY": "conservative", "GE_FUSION_RULE": "1"}, registry)
    assert settings.options == {
        "l2-fusion": {"l2_size": 32, "fusion_threshold": 0.8, "blacklist": ["Softmax", "LayerNorm"]},
        "ge-bufferize": {"in_place": False, "views": False},
        "memory-reuse": {"reuse_policy": "size", "alignment": 32, "max_reuse_ratio": 0.8, "strategy": "conservative"},
        "op-fusion": {"rules_file": "rules.json", "mode": "conservative"},
    }
    assert settings.switches == {"l2-fusion": True, "memory-reuse": True, "op-fusion": True}


def test_the_chip_goes_to_l2_fusion_and_asks_for_nothing(registry: Registry):
    settings = resolve({"soc_version": "Ascend910B1"}, {}, registry)
    assert settings.options == {"l2-fusion": {"target": "ascend910b1"}}
    assert settings.switches == {}
    assert settings.notes([]) == []


def test_what_has_no_effect_is_noted(registry: Registry):
    settings = resolve({}, {"GE_FUSION_RULE": "1"}, registry)
    assert settings.notes(["constant-folding"]) == ["GE_FUSION_RULE=1 has no effect: op-fusion does not run"]
    assert settings.notes(["op-fusion"]) == []


@pytest.mark.parametrize(
    ("given", "off", "on"),
    [
        (
            {"enable_l2_fusion": "0", "l2_fusion_config": "l2.json"},
            "--enable_l2_fusion=0",
            "--l2_fusion_config=l2.json",
        ),
        (
            {"opt_passes": "L2FusionPass:0", "enable_l2_fusion": "1"},
            "--opt_passes=L2FusionPass:0",
            "--enable_l2_fusion=1",
        ),
        (
            {"buffer_optimize": "off_optimize", "enable_l2_fusion": "1"},
            "--buffer_optimize=off_optimize",
            "--enable_l2_fusion=1",
        ),
        (
            {"opt_passes": "L2FusionPass:0", "l2_fusion_config": "l2.json"},
            "--opt_passes=L2FusionPass:0",
            "--l2_fusion_config=l2.json",
        ),
    ],
)
def test_contradictions_name_both(given: dict[str, str], off: str, on: str, registry: Registry):
    assert refusal(given, {}, registry) == f"{off} switches l2-fusion off, but {on} asks for it"


@pytest.mark.parametrize(
    ("given", "environment", "message"),
    [
        ({"opt_passes": "ConstantFolding:1"}, {}, f"--opt_passes: no pass 'ConstantFolding'; did you mean '{FOLD}'?"),
        ({"opt_passes": FOLD}, {}, f"--opt_passes: '{FOLD}' is no switch; write {FOLD}:1 or {FOLD}:0"),
        ({"opt_passes": f"{FOLD}:2"}, {}, f"--opt_passes: '{FOLD}:2' is no switch; write {FOLD}:1 or {FOLD}:0"),
        (
            {"opt_passes": "PrunePass:1,DeadCodeEliminationPass:0"},
            {},
            "--opt_passes: prune is switched both on and off",
        ),
        ({}, {"GE_OPTIMIZATION_PASSES": "X:1"}, "GE_OPTIMIZATION_PASSES: no pass 'X'"),
        ({"enable_l2_fusion": "yes"}, {}, "--enable_l2_fusion must be one of 0, 1; got 'yes'"),
        ({}, {"GE_L2_FUSION": "on"}, "GE_L2_FUSION must be one of 0, 1; got 'on'"),
        ({}, {"GE_FUSION_RULE": "3"}, "GE_FUSION_RULE must be one of 1, 2; got '3'"),
        (
            {},
            {"GE_MEMORY_STRATEGY": "greedy"},
            "GE_MEMORY_STRATEGY must be one of conservative, balanced, aggressive; got 'greedy'",
        ),
        (
            {"buffer_optimize": "l3"},
            {},
            "--buffer_optimize must be one of l2_optimize, off_optimize, l1_optimize; got 'l3'",
        ),
        ({"auto_tune_mode": "XX"}, {}, "--auto_tune_mode must be one of GA, RL, GA,RL, RL,GA; got 'XX'"),
        ({"fusion_rules_file": "none.json"}, {}, "--fusion_rules_file=none.json: no such file"),
        ({"op_precision_mode": "none.ini"}, {}, "--op_precision_mode=none.ini: no such file"),
        ({"config": "none.json"}, {}, "--config=none.json: none.json: no such file or folder"),
        ({}, {"GE_CONFIG": "none.json"}, "GE_CONFIG=none.json: none.json: no such file or folder"),
        ({"oo_level": "O5"}, {}, "no optimisation level 'O5'; it is one of O0, O1, O2, O3"),
    ],
)
def test_what_means_nothing(given: dict[str, str], environment: dict[str, str], message: str, registry: Registry):
    assert refusal(given, environment, registry) == message


def test_an_unknown_chip_lists_the_known_ones(registry: Registry):
    message = refusal({"soc_version": "Ascend999"}, {}, registry)
    assert message.startswith("--soc_version: no target 'Ascend999'")
    assert "ascend910b1" in message


def test_an_unknown_mode_of_precision_lists_the_known_ones(registry: Registry):
    message = refusal({"op_precision_mode": "half"}, {}, registry)
    assert message.startswith("--op_precision_mode must be one of force_fp16, force_fp32,")
    assert message.endswith("the path of an .ini file; got 'half'")


@pytest.mark.parametrize(
    ("given", "environment", "what"),
    [
        ({"op_precision_mode": "force_fp16"}, {}, "--op_precision_mode=force_fp16"),
        ({"precision_mode": "allow_mix_precision"}, {}, "--precision_mode=allow_mix_precision"),
        ({"auto_tune_mode": "RL"}, {}, "--auto_tune_mode=RL"),
        ({}, {"GE_MEMORY_STRATEGY": "aggressive"}, "GE_MEMORY_STRATEGY=aggressive"),
        ({}, {"GE_FUSION_RULE": "2"}, "GE_FUSION_RULE=2"),
    ],
)
def test_what_is_still_to_come_is_said_so(
    given: dict[str, str], environment: dict[str, str], what: str, registry: Registry
):
    assert refusal(given, environment, registry) == f"not available in this version: {what}"


def test_tuning_writes_a_file_beside_the_output(registry: Registry):
    settings = resolve({"auto_tune_mode": "GA", "output": "a/m.onnx", "tune_trials": "50"}, {}, registry)
    assert settings.options == {"l2-fusion": {"tune": "GA", "tune_trials": "50", "tuning": "a/m.tuning.json"}}


@pytest.mark.parametrize(
    ("flag", "value", "must"),
    [
        ("tune_seconds", "abc", "a number"),
        ("tune_trials", "1.5", "a whole number"),
        ("tune_seed", "x", "a whole number"),
    ],
)
def test_a_number_of_tuning_is_one(flag: str, value: str, must: str, registry: Registry):
    assert refusal({"auto_tune_mode": "GA", flag: value}, {}, registry) == f"--{flag} must be {must}, got '{value}'"


def test_tuning_asks_for_no_groups(registry: Registry):
    settings = resolve({"auto_tune_mode": "GA", "output": "m"}, {}, registry)
    assert settings.switches == {}
    assert settings.notes([]) == ["--auto_tune_mode=GA has no effect: l2-fusion does not run"]


def test_a_tuning_that_is_given_is_applied(registry: Registry):
    settings = resolve({"tuning": "best.json"}, {}, registry)
    assert settings.switches == {"l2-fusion": True}
    assert settings.options == {"l2-fusion": {"tuning": "best.json"}}


def test_a_budget_without_tuning(registry: Registry):
    assert refusal({"tune_trials": "5"}, {}, registry) == "--tune_trials=5 is about tuning: add --auto_tune_mode=GA"


def test_a_mode_that_changes_nothing_needs_no_pass(registry: Registry):
    assert resolve({"precision_mode": "must_keep_origin_dtype"}, {}, registry) == Settings()


def test_precision_works_the_day_its_pass_is_there(registry_with_precision: Registry):
    settings = resolve({"op_precision_mode": "force_fp16"}, {}, registry_with_precision)
    assert settings.switches == {"precision": True}
    assert settings.options == {"precision": {"mode": "force_fp16"}}


def test_two_modes_of_precision(registry_with_precision: Registry):
    given = {"op_precision_mode": "force_fp16", "precision_mode": "force_fp32"}
    message = "--precision_mode=force_fp32 and --op_precision_mode=force_fp16 contradict each other"
    assert refusal(given, {}, registry_with_precision) == message


@pytest.mark.parametrize(
    ("flag", "content", "message"),
    [
        ("config", "{\n  'ge': 1}", "f.json:2:3: is not JSON: Expecting property name enclosed in double quotes"),
        ("config", "[]", "f.json:1: must be an object {...}, got []"),
        ("config", {}, "f.json:1: the key 'ge' is missing"),
        (
            "config",
            {"ge": {"passes": {}}},
            "f.json:3: ge: unknown key 'passes'; allowed: opt_passes; did you mean 'opt_passes'?",
        ),
        (
            "config",
            {"ge": {"opt_passes": {FOLD: 2}}},
            f"f.json:4: ge: opt_passes: {FOLD}: must be one of 0, 1, true, false, got 2",
        ),
        ("config", {"ge": {"opt_passes": {"Fold": 1}}}, "f.json: no pass 'Fold'"),
        ("config", '{"ge": {}, "ge": {}}', "f.json: the key 'ge' stands there twice"),
        (
            "l2_fusion_config",
            {"l2_size": 32, "blacklst": []},
            "f.json:3: unknown key 'blacklst'; allowed: l2_size, fusion_threshold, blacklist"
            "; did you mean 'blacklist'?",
        ),
        ("l2_fusion_config", {"l2_size": 0}, "f.json:2: l2_size: must be greater than 0, got 0"),
        ("l2_fusion_config", '{"l2_size": NaN}', "f.json: NaN is not JSON"),
        ("l2_fusion_config", {"fusion_threshold": 80}, "f.json:2: fusion_threshold: must be at most 1, got 80"),
        ("l2_fusion_config", {"blacklist": "Softmax"}, 'f.json:2: blacklist: must be a list [...], got "Softmax"'),
        ("memory_config_file", {"alignment": "32"}, 'f.json:2: alignment: must be a whole number, got "32"'),
        ("memory_config_file", {"alignment": 0}, "f.json:2: alignment: must be at least 1, got 0"),
        (
            "memory_config_file",
            {"reuse_policy": "all"},
            'f.json:2: reuse_policy: must be one of "lifetime", "size", got "all"',
        ),
    ],
)
def test_config_files_are_checked(flag: str, content: Any, message: str, registry: Registry):
    assert refusal({flag: write("f.json", content)}, {}, registry) == message


def test_a_variable_that_is_almost_ours_is_worth_a_warning():
    environment = {"GE_FUSION_RULES": "1", "GE_L2_FUSION": "1", "GE_HOME": "/opt", "PATH": "/bin"}
    assert mistyped(environment) == ["GE_FUSION_RULES is not a variable of ge; did you mean 'GE_FUSION_RULE'?"]
