"""
For all tests: which are too slow for every run; hypothesis without a clock and without chance, with modules as text.
"""

import hypothesis
import pytest
from hypothesis.vendor.pretty import for_type_by_name

hypothesis.settings.register_profile("gecc", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("gecc")
# Else a failing module is told as the tree of its objects: minutes, and hundreds of megabytes.
for_type_by_name("xdsl.dialects.builtin", "ModuleOp", lambda module, printer, cycle: printer.text(str(module)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runslow", action="store_true", help="run the tests marked slow too")
    parser.addoption("--programs", type=int, default=5000, help="how many random programs to try passes on")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--runslow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: give --runslow"))
