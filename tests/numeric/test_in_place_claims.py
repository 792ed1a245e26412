"""
The claim of every op that lets an operand be written over (`Overwrites`), plugins included: the result at an index
depends on that operand at the same index alone, or, where it says that it takes what it needs of a row before it writes
any of it, on the same row. A row is what a tile must cover.

The reference cannot see a wrong claim, since it copies what a launch reads. Cases are those of test_tiles.py; an op
that claims and has no case fails.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecc.dialects.ge import Ge
from gecc.dialects.ge.interfaces import Overwrites, Tiles
from gecc.dialects.ge.movement import TransposeOp
from gecc.dialects.ge.rearrange import ReverseSequenceOp
from gecc.dialects.ge.softmax import CumSumOp, SoftmaxOp
from gecc.dialects.ge.state import TensorScatterOp
from gecc.dialects.ge.types import is_as_wide
from gecc.dialects.ort import Ort
from gecc.driver.plugins import find_plugins

from .test_tiles import CASES as TILED
from .test_tiles import compute, value


def tensor_scatter(rng: np.random.Generator) -> Any:
    batch, heads, length, depth = rng.integers(1, 5, 4)
    count = int(rng.integers(1, length + 1))
    indices = rng.integers(0, length - count + 1, batch)
    cache, update = (rng.standard_normal((batch, heads, n, depth)).astype(np.float32) for n in (length, count))
    return TensorScatterOp, [cache, update, indices if rng.integers(2) else None], {}


CASES = {**TILED, "ge.tensor_scatter": tensor_scatter}


def claiming() -> list[str]:
    dialects = [Ge, Ort, *(load() for plugin in find_plugins(pytest.fail) for load in plugin.dialects.values())]
    return sorted(op.name for dialect in dialects for op in dialect.operations if issubclass(op, Overwrites))


def check(name: str, rng: np.random.Generator) -> int:
    """Changes one element of each operand that may be written over; how many results changed."""
    cls, arrays, attributes = CASES[name](rng)
    op: Any = cls(*map(value, arrays), **attributes)
    op.verify()
    given_ = [a for a in arrays if a is not None]
    before = compute(op, given_)[0]
    changed = 0
    for k in op.overwrites():
        operand = given_[k]
        assert is_as_wide(op.operands[k].type, op.results[0].type), f"{op}\ncannot lie over operand {k}"
        if not operand.size:
            continue
        at = tuple(int(rng.integers(n)) for n in operand.shape)
        changed_operand = operand.copy()
        # What will be written there, or another of the elements.
        written = before.view(operand.dtype)[at] if rng.integers(2) else rng.choice(operand.ravel())
        changed_operand[at] = written
        after = compute(op, [changed_operand if n == k else a for n, a in enumerate(given_)])[0]
        differs = (raw(after) != raw(before)).any(-1)
        changed += int(differs.any())
        differs[allowed(op, at)] = False
        others = np.argwhere(differs).tolist()
        assert not others, f"{op}\nthe result at {others} depends on operand {k} at {at}"
    return changed


def allowed(op: Any, at: tuple[int, ...]) -> tuple[Any, ...]:
    """The index, or the row that it is in."""
    if getattr(op, "BY_INDEX", True):
        return at
    assert isinstance(op, Tiles), f"{op.name} claims rows and does not say what a row is"
    return tuple(i if loop == "parallel" else slice(None) for i, loop in zip(at, op.loops(), strict=False))


def raw(array: Any) -> np.ndarray:
    """Bytes, along one more axis."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(*np.shape(array), -1)


def test_every_op_that_claims_has_a_case():
    assert [name for name in claiming() if name not in CASES] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", claiming())
def test_a_result_depends_on_the_same_index_or_row_alone(name: str):
    @given(st.integers(0, 2**32 - 1))
    @settings(max_examples=40)
    def examples(seed: int):
        check(name, np.random.default_rng(seed))

    examples()


@pytest.mark.parametrize("name", ["ge.neg", "ge.add", "ge.softmax", "ge.layer_normalization", "ge.scatter_elements"])
def test_what_is_changed_shows(name: str):
    """Else nothing would be tested."""
    assert sum(check(name, np.random.default_rng(seed)) for seed in range(40)) >= 10


def first(op: Any) -> tuple[int, ...]:
    return (0,) if is_as_wide(op.operands[0].type, op.results[0].type) else ()


INDEX = {"overwrites": first, "BY_INDEX": True}


@pytest.mark.parametrize(
    ("cls", "claims"),
    [
        pytest.param(TransposeOp, INDEX, id="moves what it reads"),
        pytest.param(ReverseSequenceOp, INDEX, id="turns what it reads round"),
        pytest.param(CumSumOp, INDEX, id="reads what it has written"),
        pytest.param(SoftmaxOp, {"BY_INDEX": True}, id="reads a row, and says an index"),
        pytest.param(SoftmaxOp, {"loops": lambda _: ("parallel",) * 4}, id="reads a row, and says a shorter one"),
    ],
)
def test_a_wrong_claim_is_found(cls: Any, claims: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    for what, claim in claims.items():
        monkeypatch.setattr(cls, what, claim, raising=False)
    found: list[str] = []
    for seed in range(40):
        try:
            check(cls.name, np.random.default_rng(seed))
        except AssertionError as error:
            found.append(str(error))
    assert found
    assert all("depends on operand 0 at" in words for words in found)


def test_a_new_op_that_claims_must_have_a_case(monkeypatch: pytest.MonkeyPatch):
    class NewOp(TransposeOp, Overwrites):
        name = "ge.new"
        overwrites = first

    monkeypatch.setattr(Ge, "_operations", [*Ge.operations, NewOp])
    assert "ge.new" in claiming()
    with pytest.raises(AssertionError, match=r"ge\.new"):
        test_every_op_that_claims_has_a_case()
