"""The brief's sum: 24 layers with two activations of 2 MB each need 96 MB without reuse and 8 MB with it."""

import re
from itertools import pairwise
from pathlib import Path

import onnx
import onnx.parser
import pytest

from .conftest import Shell
from .models import Graph, two_activations_a_layer

MIB = 1 << 20
CONVERT = "ge --model=decoder.onnx --framework=5 --output=out.mlir"


def arena(folder: Path) -> int:
    """Bytes of the one arena that the module's function takes."""
    [size] = re.findall(r"%\w+ *: *memref<(\d+)xi8>[^,)]*\{[^}]*ge\.arena", (folder / "out.mlir").read_text())
    return int(size)


@pytest.fixture
def decoder(folder: Path) -> None:
    (folder / "decoder.onnx").write_bytes(two_activations_a_layer().SerializeToString())


@pytest.mark.usefixtures("decoder")
@pytest.mark.parametrize("strategy", ["conservative", "balanced", "aggressive"])
def test_reuse(strategy: str, shell: Shell, folder: Path):
    shell(f"GE_MEMORY_STRATEGY={strategy} {CONVERT}")
    assert arena(folder) <= 8 * MIB


@pytest.mark.usefixtures("decoder")
def test_reuse_is_on_by_default(shell: Shell, folder: Path):
    shell(CONVERT)
    assert arena(folder) <= 8 * MIB


@pytest.mark.usefixtures("decoder")
@pytest.mark.parametrize("policy", ["lifetime", "size"])
def test_the_file_s_policies(policy: str, shell: Shell, folder: Path):
    (folder / "memory.json").write_text(f'{{"reuse_policy": "{policy}", "alignment": 32, "max_reuse_ratio": 1.0}}')
    shell(f"{CONVERT} --memory_config_file=memory.json")
    assert arena(folder) <= 8 * MIB


@pytest.mark.usefixtures("decoder")
def test_max_reuse_ratio_leaves_a_share_alone(shell: Shell, folder: Path):
    # 47 activations of 2 MB, at most 80 % of them where another one lies: 37 (78.7 %; 38 would be 80.9 %). They share
    # 2 x 2 MB, and ten lie alone: 4 + 20 MB.
    shell(f"{CONVERT} --memory_config_file=memory_config.json")
    assert arena(folder) == 24 * MIB


@pytest.mark.usefixtures("decoder")
def test_only_two_are_alive_at_a_time(shell: Shell, folder: Path):
    # A product's operand and its result: 2 + 2 MB.
    shell(CONVERT)
    assert arena(folder) == 4 * MIB


def test_policy_size_keeps_classes_of_size_apart(shell: Shell, folder: Path):
    # In a row 2, 1, 2 and 0.5 MiB, each alive with the next: by lifetime the last lies where the second was, 2 + 1 MiB;
    # by size nobody but the two of 2 MiB share, 2 + 1 + 0.5 MiB.
    widths = [512, 256, 512, 128, 512]
    graph, rows = Graph(), 1024
    x = graph.input("x", rows, 512)
    for at, (before, after) in enumerate(pairwise([512, *widths])):
        last = at == len(widths) - 1
        x = graph.op("MatMul", x, graph.weight(before, after), output="y" if last else None)
    (folder / "decoder.onnx").write_bytes(graph.model(y=[rows, 512]).SerializeToString())
    for policy, expected in (("lifetime", 3 * MIB), ("size", 3 * MIB + MIB // 2)):
        (folder / "memory.json").write_text(f'{{"reuse_policy": "{policy}"}}')
        shell(f"{CONVERT} --memory_config_file=memory.json")
        assert arena(folder) == expected


@pytest.mark.usefixtures("decoder")
def test_off(shell: Shell, folder: Path):
    shell(f"{CONVERT} --opt_passes=MemoryReusePass:0")
    # Two activations a layer, apart from the last, which is the function's output and stands outside the arena.
    assert arena(folder) >= 94 * MIB


@pytest.mark.parametrize(("strategy", "in_place"), [("conservative", False), ("balanced", True)])
def test_the_strategy_holds_in_the_body_of_a_loop(strategy: str, in_place: bool, shell: Shell, folder: Path):
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        loops (int64 m, float[4] x) => (float[4] y) {
          y = Loop (m, , x) <body = turn (int64 i, bool go, float[4] a) => (bool on, float[4] b) {
            on = Identity (go)
            b = Sin (a)
          }>
        }""")
    onnx.save(model, folder / "decoder.onnx")
    shell(f"GE_MEMORY_STRATEGY={strategy} {CONVERT}")
    [(read, written)] = re.findall(r"ge.launch ins\((%\w+) .*outs\((%\w+) ", (folder / "out.mlir").read_text())
    assert (read == written) is in_place
