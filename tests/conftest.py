"""For all tests: which are too slow for every run, and hypothesis without a clock and without chance."""

import hypothesis
import pytest

hypothesis.settings.register_profile("gecc", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("gecc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runslow", action="store_true", help="run the tests marked slow too")
    parser.addoption("--programs", type=int, default=5000, help="how many random programs to try passes on")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--runslow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: give --runslow"))
