"""What is compiled does as Python does; what is not in its part of Python is refused."""

import types
from collections.abc import Callable
from pathlib import Path

import pytest

from gecc.planning.packing import native

pytestmark = pytest.mark.skipif(not native.is_available(), reason="no llvmlite: the extra `search`")

HEAD = """
from collections.abc import MutableSequence
from dataclasses import dataclass

Ints = MutableSequence[int]
SEVEN = 7

@dataclass
class Sums:
    count: int
    items: Ints

"""


def module_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> types.ModuleType:
    (tmp_path / "compiled_in_a_test.py").write_text(HEAD + text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "compiled_in_a_test", raising=False)
    return __import__("compiled_in_a_test")


ALL = """
def twice(x: Sums, n: int) -> int:
    return n + n

def note(x: Sums, at: int, value: int) -> None:
    x.items[at] = value

def run(x: Sums) -> int:
    items = x.items
    total = -SEVEN
    for i in range(x.count):
        if i == 2 or (i > 5 and not i < 7):
            continue
        total += twice(x, items[i]) << 1
        i = 100
    k = 0
    while True:
        k += 1
        if k * k >= 50:
            break
        elif k & 1 == 1:
            total ^= k
        else:
            total |= 8 >> 2
    for i in range(3, x.count - 1):
        note(x, i, items[i] * (i <= 4) - (i != 4))
    x.count -= 1
    return total
"""


def test_as_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    module = module_of(tmp_path, monkeypatch, ALL)
    compiled: Callable[[object], int] = native.compiled(module.run, module.Sums)
    mine, theirs = (module.Sums(9, [5, -3, 8, 1, 6, 2, 9, 4, 7]) for _ in range(2))
    assert compiled(mine) == module.run(theirs)
    assert (mine.count, list(mine.items)) == (theirs.count, theirs.items)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return x.count / 2", "`x.count / 2`: is not in the part"),
        ("n = x.items\n    n = 3\n    return n", "holds a number here and an array there"),
        ("return x.items", "is no number"),
        ("return x.count[0]", "`x.count`: is no array"),
        ("x.items = x.items\n    return 0", "a field's array is not replaced"),
        ("return len(x.items)", "is not in the part"),
        ("return x.other", "is not in the part"),
        ("return unknown", "is not in the part"),
        ("while x.count:\n        x.count -= 1\n    else:\n        return 1\n    return 0", "is not in the part"),
    ],
)
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str):
    module = module_of(tmp_path, monkeypatch, f"def run(x: Sums) -> int:\n    {body}\n")
    with pytest.raises(native.NotCompiled, match=why):
        native.llvm_text(module.run, module.Sums)
