"""The tools start at once: what few calls need is imported when they need it."""

import subprocess
import sys

SLOW = {"onnx", "rich", "jsonschema", "gecc.reference.evaluator"}
CODE = """
import sys
from gecc.tools.ge_opt import main
code = main(["-"])
print(sorted(set(sys.modules) & {slow}), code, file=sys.stderr)
"""


def test_ge_opt_imports_nothing_slow_for_text():
    code = CODE.format(slow=SLOW)
    result = subprocess.run([sys.executable, "-c", code], input="module {}", capture_output=True, text=True)
    assert result.stderr == "[] 0\n"
