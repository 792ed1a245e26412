"""
A folder imports only from the folders before it, and from third parties only what it is meant to know.

Imports inside functions and under TYPE_CHECKING count: they are dependencies all the same.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
ORDER = (
    "planning", "targets", "dialects", "frontend", "reference", "transforms", "runtime", "backends", "driver", "tools",
)  # fmt: skip

# What a folder may import beside the standard library; a folder that is not named may import every dependency.
THIRD_PARTIES = {
    "planning": {"numpy"},
    "targets": set[str](),
    "dialects": {"numpy", "ml_dtypes", "xdsl"},
    "runtime": {"numpy", "ml_dtypes"},
}

SOURCES = sorted(path.relative_to(TOP) for name in ORDER for path in (TOP / name).rglob("*.py"))


def imported(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and full name of what the file at `path` (relative to the top) imports; `from` imports name the member."""
    package = ["gecc", *path.parent.parts]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*base, alias.name])) for alias in node.names)


def complaints(path: Path, text: str) -> list[str]:
    folder = path.parts[0]
    before = ORDER[: ORDER.index(folder) + 1]
    declared = dependencies()
    found: list[str] = []
    for line, name in imported(path, text):
        first, *rest = name.split(".")
        if first == "gecc":
            if rest and rest[0] in ORDER and rest[0] not in before:
                found.append(f"{path}:{line}: {folder} comes before {rest[0]} and must not import it")
        elif first not in sys.stdlib_module_names and first not in THIRD_PARTIES.get(folder, declared):
            found.append(f"{path}:{line}: {folder} must not import {first}")
    return found


def dependencies() -> set[str]:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = project["dependencies"] + extras["ort"] + extras["report"] + extras["tune"]
    return {re.split(r"[<>=\[ ]", requirement)[0] for requirement in declared}


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports(path: Path):
    assert complaints(path, (TOP / path).read_text()) == []


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_a_sub_package_imports_relatively(path: Path):
    # An absolute self-import makes a type checker see two copies of each class.
    nodes = ast.walk(ast.parse((TOP / path).read_text()))
    absolute = [
        node.lineno
        for node in nodes
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "gecc" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "gecc")
    ]
    assert absolute == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("planning/x.py", "from ..dialects.ge import ConvOp"),
        ("planning/x.py", "from .. import dialects"),
        ("planning/sub/x.py", "from ...targets import CHIPS"),
        ("planning/x.py", "import xdsl.ir"),
        ("targets/x.py", "import numpy"),
        ("dialects/ge/x.py", "def f():\n    import onnx"),
        ("transforms/x.py", "import scipy"),
    ],
)
def test_the_check_sees(path: str, text: str):
    assert complaints(Path(path), text) != []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("dialects/ge/x.py", "from .core import GeOp\nfrom ...planning import plan\nimport numpy as np"),
        ("tools/x.py", "from .. import __version__\nfrom ..driver import optimize\nimport onnxruntime"),
        ("planning/x.py", "import heapq, numpy"),
    ],
)
def test_the_check_lets_pass(path: str, text: str):
    assert complaints(Path(path), text) == []
