"""The brief's sum: 24 layers with two activations of 2 MB each need 96 MB without reuse and 8 MB with it."""

import re
from pathlib import Path

import pytest

from .conftest import Shell
from .models import two_activations_a_layer

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
    # At most 80 % of the planned bytes may lie where another tensor lies: ten activations of 2 MB lie alone.
    shell(f"{CONVERT} --memory_config_file=memory_config.json")
    assert arena(folder) >= 0.2 * 96 * MIB


@pytest.mark.usefixtures("decoder")
def test_off(shell: Shell, folder: Path):
    shell(f"{CONVERT} --opt_passes=MemoryReusePass:0")
    # Two activations a layer, apart from the last, which is the function's output and stands outside the arena.
    assert arena(folder) >= 94 * MIB
