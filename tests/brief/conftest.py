"""A folder as the brief's reader has it, the models and config files in it, and a shell to type its lines into."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .models import MODELS

CONFIGS = {
    "ge_config.json": {"ge": {"opt_passes": {"ConstantFoldingPass": 1}}},
    "fusion_rules.json": {
        "rules": [
            {
                "pattern": ["Embedding", "Add", "LayerNorm"],
                "replacement": "FusedEmbeddingAddLayerNorm",
                "condition": "input_dtype==float16",
            },
            {
                "pattern": ["MatMul", "BiasAdd", "Relu"],
                "replacement": "FusedDense",
                "condition": "weights_shape[0] % 16 == 0",
            },
        ]
    },
    "memory_config.json": {"reuse_policy": "lifetime", "alignment": 32, "max_reuse_ratio": 0.8},
    "l2_config.json": {"l2_size": 32, "fusion_threshold": 0.8, "blacklist": ["Softmax", "LayerNorm"]},
}

Shell = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, make in MODELS.items():
        (tmp_path / name).write_bytes(make().SerializeToString())
    for name, content in CONFIGS.items():
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


@pytest.fixture
def shell(folder: Path) -> Shell:
    """Types a line in `folder`, with the tools of this Python and without GE_* variables of ours; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GE_")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])

    def run(line: str) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"
        return result

    return run
