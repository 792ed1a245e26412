"""ONNX Runtime as the other opinion: a model's outputs, with none of its own graph optimisations."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dialects.ge.errors import InputError, UsageError
from ..driver.files import Source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def run_onnxruntime(source: Source, module: ModuleOp, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """
    Outputs by name, in order.

    source   the model's file, if it is ONNX; else `module` is exported for it
    inputs   by name; those that the model does not have are left out
    raises   UsageError where ONNX Runtime is not installed; InputError where it refuses the model or its inputs
    """
    try:
        import onnxruntime
    except ImportError:
        raise UsageError("--compare=ort needs ONNX Runtime: pip install gecc[ort]") from None
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4  # what is wrong comes as an exception, and only there
    with _as_file(source, module) as path:
        try:
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            known = {each.name for each in (*session.get_inputs(), *session.get_overridable_initializers())}
            results = session.run(None, {name: value for name, value in inputs.items() if name in known})
        except Exception as error:  # its exceptions have no base of their own
            raise InputError(f"ONNX Runtime refuses it: {error}", file=source.name) from None
        return {each.name: value for each, value in zip(session.get_outputs(), results, strict=True)}


@contextlib.contextmanager
def _as_file(source: Source, module: ModuleOp) -> Generator[Path]:
    if source.onnx is not None:
        yield source.onnx
        return
    from ..frontend import export_model, write_model

    with tempfile.TemporaryDirectory(prefix="gecc-") as folder:
        path = Path(folder) / "model.onnx"
        write_model(export_model(module), path)
        yield path
