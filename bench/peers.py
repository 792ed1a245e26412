"""
The optimisers that bench/compile.py measures, each as the command that its user types.

    python bench/peers.py onnxscript in.onnx out.onnx       # those that bring no command, in one of the fewest lines

Imports the standard library only until one is called: what a process takes is to be the optimiser's alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

LIMIT = 1_900_000_000
"""Bytes of a model above which a result needs external data: protobuf ends at 2 GB."""

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Peer:
    """
    command  from the model's path, the result's path and the model's bytes to the words that are typed
    package  what must be installed
    """

    command: Callable[[Path, Path, int], list[str]]
    package: str


def _ge(model: Path, result: Path, size: int) -> list[str]:
    del size
    return [str(BIN / "ge"), f"--model={model}", "--framework=5", f"--output={result}"]


def _console(name: str) -> Callable[[Path, Path, int], list[str]]:
    def command(model: Path, result: Path, size: int) -> list[str]:
        apart = ["--save-as-external-data"] if size > LIMIT else []
        return [str(BIN / name), str(model), str(result), *apart]

    return command


def _script(name: str) -> Callable[[Path, Path, int], list[str]]:
    def command(model: Path, result: Path, size: int) -> list[str]:
        return [sys.executable, __file__, name, str(model), str(result), *(["external"] if size > LIMIT else [])]

    return command


PEERS = {
    "ge": Peer(_ge, "gecc"),
    "onnxsim": Peer(_console("onnxsim"), "onnxsim"),
    "onnxslim": Peer(_console("onnxslim"), "onnxslim"),
    "onnxscript": Peer(_script("onnxscript"), "onnxscript"),
    "ort-basic": Peer(_script("ort-basic"), "onnxruntime"),
}


def _onnxscript(model: str, result: str, external: bool) -> None:
    import onnx
    import onnxscript.optimizer

    optimised = onnxscript.optimizer.optimize(onnx.load(model))
    if external:
        onnx.save(optimised, result, save_as_external_data=True, location=f"{Path(result).name}.data")
    else:
        onnx.save(optimised, result)


def _ort_basic(model: str, result: str, external: bool) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = result
    if external:
        prefix = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(f"{prefix}file_name", f"{Path(result).name}.data")
        options.add_session_config_entry(f"{prefix}min_size_in_bytes", "1024")
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


_SCRIPTS: Mapping[str, Callable[[str, str, bool], None]] = {"onnxscript": _onnxscript, "ort-basic": _ort_basic}


if __name__ == "__main__":
    _SCRIPTS[sys.argv[1]](sys.argv[2], sys.argv[3], len(sys.argv) > 4)
