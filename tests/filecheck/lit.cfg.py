"""lit's configuration (`config` is lit's). Run it with `pytest tests/test_filecheck.py` or `lit tests/filecheck`."""

import os
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
build = here.parents[1] / "build" / "filecheck"

config.name = "gecc"
config.test_format = lit.formats.ShTest(execute_external=False)  # lit's own shell: no dependence on /bin/sh
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(build)
config.maxIndividualTestTime = 120  # seconds; on `config`, since lit refuses it on `lit_config`

# The tools of the Python that runs lit, whether or not its environment is active.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), config.environment["PATH"]])
config.environment["PYTHONWARNINGS"] = "error"
for name in ("PYTHONPATH", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
