"""The committed example model is what its script writes."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_script_reproduces_the_model(tmp_path: Path):
    made = tmp_path / "made.onnx"
    subprocess.run([sys.executable, "-W", "error", str(EXAMPLES / "make_tiny_mobilevit.py"), str(made)], check=True)
    # Not `==` in the assert: pytest would print a difference of 500 kB.
    same = made.read_bytes() == (EXAMPLES / "tiny_mobilevit.onnx").read_bytes()
    assert same, "run python examples/make_tiny_mobilevit.py and commit its output"
