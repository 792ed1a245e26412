"""docs/opaque.md says of every ONNX operator that is no op of the dialect why."""

import importlib.util
from pathlib import Path

import onnx.defs
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "opaque.py"


def test_the_page_is_current():
    text = SCRIPT.with_name("opaque.md").read_text()
    if f"operator set {onnx.defs.onnx_opset_version()};" not in text:
        pytest.skip("the page is written for another operator set")
    spec = importlib.util.spec_from_file_location("opaque_page", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.page() == text, "run python docs/opaque.py"
