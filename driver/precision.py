"""
What a lower precision costs, layer by layer, and which ops to keep so that it costs no more than so much.

    compared = Exact(before, inputs)                 the module as it was, run once by the reference
    compared.layers(after)                           a row an op: how far its results are, and what of it is its own
    search(module, one, compared, goal)              names of the nodes to keep

Products are of the type that an op has, their sums are kept in f32, as matrix units and kernels do.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..dialects.ge.errors import UsageError, node_name
from .files import replacing

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation, SSAValue

    from ..transforms.precision.precision import Precision

COLUMNS = ("node", "operator", "type", "error", "own_error")
TRIALS = 16
TOLERANCE = 2e-2


@dataclass(frozen=True)
class Layer:
    """
    node, operator  ONNX's
    type            of its first result, now
    error           largest |a - b| / largest |a|: a without, b with the lower precision throughout
    own_error       the same where all before it is exact, apart from its operands' types; nan where it did not change
    """

    node: str
    operator: str
    type: str
    error: float
    own_error: float


@dataclass(frozen=True)
class Goal:
    """
    What outputs may be off by.

    atol    largest |a - b| of an element
    rtol    largest |a - b| / largest |a| of an output
    trials  how many modules may be tried
    """

    atol: float = math.inf
    rtol: float = TOLERANCE
    trials: int = TRIALS

    def missed_by(self, exact: Mapping[str, Any], got: Mapping[str, Any]) -> float:
        """1 or less: within the goal; otherwise by which factor not."""
        worst = 0.0
        for name, a in exact.items():
            absolute, relative = distances(a, got[name])
            worst = max(worst, absolute / self.atol, relative / self.rtol)
        return worst


def parse_goal(text: str) -> tuple[Goal, Path | None]:
    """
    `auto`, `auto,atol=1e-2`, `auto,rtol=5e-3,trials=8,file=keep.ini`: the goal, and where the list is to be written.

    raises  UsageError
    """
    first, *rest = (part.strip() for part in text.split(","))
    file: Path | None = None
    values: dict[str, float] = {}
    for name, _, value in (part.partition("=") for part in rest):
        if name == "file" and value:
            file = Path(value)
            continue
        try:
            values[name] = int(value) if name == "trials" else float(value)
        except ValueError:
            values[name] = 0
    if first != "auto" or not values.keys() <= {"atol", "rtol", "trials"} or not all(v > 0 for v in values.values()):
        form = "auto or auto,atol=1e-2,rtol=1e-2,trials=16,file=keep.ini"
        raise UsageError(f"--precision_keep must be {form}; got '{text}'")
    if "atol" in values:
        values.setdefault("rtol", math.inf)
    return Goal(**cast(Any, values)), file


class Exact:
    """A module on tensors, and all that it computes on given inputs. Results are spooled to disk."""

    def __init__(self, module: ModuleOp, inputs: Mapping[str, Any]) -> None:
        from ..reference import run

        self.module, self.inputs = module, inputs
        self._folder = Path(tempfile.mkdtemp(prefix="gecc-exact-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._files: dict[SSAValue, Path] = {}
        self._ops = set(_ops(module))
        self.outputs = run(module, inputs, self._spool)

    def _spool(self, op: Operation, results: Sequence[Any]) -> None:
        if op not in self._ops:
            return
        for value, array in zip(op.results, results, strict=True):
            given: Any = array
            if isinstance(array, np.ndarray) and given.dtype != object:
                path = self._files[value] = self._folder / f"{len(self._files)}.npy"
                np.save(path, given)

    def result(self, value: SSAValue) -> Any:
        """None for what is no array of numbers."""
        path = self._files.get(value)
        return None if path is None else np.load(path)

    def run(self, after: ModuleOp, watch: Callable[[Operation, Sequence[Any]], None] | None = None) -> dict[str, Any]:
        """The outputs of `after`, of which the contractions are rewritten to keep sums in f32."""
        from ..reference import run

        widen_contractions(after)
        return run(after, self.inputs, watch)

    def layers(self, after: ModuleOp) -> list[Layer]:
        """
        A row for each op that makes floats, in order.

        after   this module after the precision pass; it is changed
        raises  InputError for a module that the reference cannot run
        cost    a run by the reference, and one more of each op that changed
        """
        partners = _partners(self.module, after)
        own = {a: self._own(a, b) for b, a in partners.items()}
        types = {a: _element(b) for b, a in partners.items()}
        for old, new in widen_contractions(after).items():
            partners[new] = partners[old]
        errors: dict[Operation, float] = {}

        def watch(op: Operation, results: Sequence[Any]) -> None:
            a = partners.get(op)
            if a is not None:
                found = [distances(self.result(x), y)[1] for x, y in zip(a.results, results, strict=False)]
                errors[a] = max(found, default=0.0)

        self.run(after, watch)
        made = [a for a, type_ in types.items() if type_]
        return [Layer(node_name(a) or "", _operator(a), types[a], errors.get(a, math.nan), own[a]) for a in made]

    def _own(self, a: Operation, b: Operation) -> float:
        from ..dialects.ge.constants import ConstantOp
        from ..dialects.ge.interfaces import Contraction
        from ..reference import evaluate

        if _types(a) == _types(b) or a.regions:
            return math.nan
        operands: list[Any] = []
        for x, y in zip(a.operands, b.operands, strict=True):
            if isinstance(y.owner, ConstantOp):
                operands.append(y.owner.array())
                continue
            array = self.inputs.get(self._input_name(x)) if x not in self._files else self.result(x)
            if array is None:
                return math.nan
            operands.append(_as(array, _dtype(y)))
        if isinstance(b, Contraction):
            operands = [x.astype(_dtype(y)) for x, y in zip(operands, a.operands, strict=True)]
            results = [np.asarray(x).astype(_dtype(y)) for x, y in zip(evaluate(a, operands), b.results, strict=True)]
        else:
            results = evaluate(b, operands)
        found = [distances(self.result(x), y)[1] for x, y in zip(a.results, results, strict=True)]
        return max(found, default=math.nan)

    def _input_name(self, value: SSAValue) -> str:
        from ..dialects.ge.errors import text_of
        from ..reference.interpreter import said_of

        block: Any = value.owner
        function = block.parent_op() if hasattr(block, "parent_op") else None
        if function is None or function.name != "func.func":
            return ""
        k = list(block.args).index(value)
        return text_of(said_of(function, k).get("onnx.name")) or f"input_{k}"


def distances(a: Any, b: Any) -> tuple[float, float]:
    """
    Largest |a - b|, and that over the largest |a|; infinite where one is finite and the other not, 0 for what is no
    float. What is no finite number in both is not looked at; what f16 cannot hold is to be its largest number there.
    """
    given: Any = a
    if not isinstance(a, np.ndarray) or given.dtype.kind not in "fV":
        return 0.0, 0.0
    other: Any = np.asarray(b)
    if other.dtype == np.float16 and given.dtype != np.float16:
        given = _clipped(given)
    x, y = given.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(x)
    if x.shape != y.shape or not np.array_equal(finite, np.isfinite(y)):
        return math.inf, math.inf
    if not finite.any():
        return 0.0, 0.0
    far, scale = float(np.abs(x[finite] - y[finite]).max()), float(np.abs(x[finite]).max())
    return far, far / scale if scale else far


def _as(array: Any, dtype: Any) -> Any:
    return (_clipped(array) if dtype == np.float16 else array).astype(dtype)


def _clipped(array: Any) -> Any:
    """Finite numbers within the range of f16, as constants are."""
    largest = float(np.finfo(np.float16).max)
    return cast(Any, np.where(np.isfinite(array), np.clip(array, -largest, largest), array))


def search(
    module: ModuleOp,
    one: Precision,
    exact: Exact,
    goal: Goal,
    show: Callable[[str], None] = lambda text: None,
) -> tuple[str, ...]:
    """
    Names of nodes that, kept as they are, let the outputs of `one` on `module` be within the goal: as many of the worst
    as it takes. By twos until it is reached, then halving.

    raises  UsageError where the trials do not reach the goal; InputError for a module that the reference cannot run
    cost    a run by the reference a trial
    """
    from ..transforms.precision.precision import Lowering

    lowering = Lowering(one, module)
    rows = [row for row in exact.layers(lowering.lowered(one.keep_nodes)) if row.node and not math.isnan(row.own_error)]
    worst = list(dict.fromkeys(row.node for row in sorted(rows, key=lambda row: -row.own_error)))
    tried: dict[int, float] = {}

    def fits(count: int) -> bool:
        if count not in tried:
            after = lowering.lowered((*one.keep_nodes, *worst[:count]))
            tried[count] = goal.missed_by(exact.outputs, exact.run(after))
            show(_bar(len(tried), goal.trials, count, tried[count]))
        return tried[count] <= 1

    low, high = -1, 0  # so many ops are not enough, so many may be
    while not fits(high):
        if high == len(worst) or len(tried) == goal.trials:
            best = min(tried.values())
            raise UsageError(f"--precision_keep: not reached in {len(tried)} trials: off by a factor of {best:.3g}")
        low, high = high, min(max(2 * high, 1), len(worst))
    while high - low > 1 and len(tried) < goal.trials:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return tuple(worst[:high])


def _bar(done: int, most: int, kept: int, missed_by: float) -> str:
    filled = round(20 * done / most)
    state = "within" if missed_by <= 1 else f"{missed_by:.3g} times"
    return f"precision [{'#' * filled}{'.' * (20 - filled)}] trial {done} of {most}: {kept} ops kept, {state} the goal"


def write_report(rows: Sequence[Layer], path: Path) -> None:
    """A table as CSV: see COLUMNS."""
    with replacing(path) as fresh, fresh.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(_cells(row) for row in rows)


def write_keep_list(names: Sequence[str], path: Path) -> None:
    """As `--op_precision_mode` reads it."""
    with replacing(path) as fresh:
        fresh.write_text("\n".join(["[ByNodeName]", *(f"{name} = high_precision" for name in names), ""]), "utf-8")


def _cells(row: Layer) -> Iterator[str]:
    for value in dataclasses.astuple(row):
        yield ("" if math.isnan(value) else f"{value:.3e}") if isinstance(value, float) else value


def widen_contractions(module: ModuleOp) -> dict[Operation, Operation]:
    """
    Products of f16 with sums in f32: contractions on f16 become contractions of casts, cast back.

    returns  what stands for each that there was
    """
    from xdsl.rewriter import InsertPoint, Rewriter

    from ..dialects.ge.conversion import CastOp
    from ..dialects.ge.core import GeOp
    from ..dialects.ge.interfaces import Contraction
    from ..dialects.ge.types import element_of

    made: dict[Operation, Operation] = {}
    for op in list(module.walk()):
        if not isinstance(op, GeOp) or not isinstance(op, Contraction) or _element(op) != "f16":
            continue
        wide, narrow = (element_of(np.dtype(d)).type for d in (np.float32, np.float16))
        casts = [None if v is None else CastOp(v, to=wide) for v in op.by_slot()]
        inner = op.rebuilt([None if c is None else c.output for c in casts])
        outer = CastOp(inner.results[0], to=narrow)
        outer.attributes.update(op.attributes)
        inner.attributes.clear()
        for new in (*filter(None, casts), inner, outer):
            Rewriter.insert_op(new, InsertPoint.before(op))
        op.results[0].replace_all_uses_with(outer.output)
        op.detach()
        op.drop_all_references()
        made[op] = outer
    return made


def _ops(module: ModuleOp) -> list[Operation]:
    """The ops of the function itself, without constants."""
    functions = [op for op in module.body.block.ops if op.name == "func.func"]
    return [op for f in functions for op in f.regions[0].block.ops if op.name not in ("ge.constant", "func.return")]


def _partners(before: ModuleOp, after: ModuleOp) -> dict[Operation, Operation]:
    """Each op of `after` that was in `before`, and which one: the pass keeps ops and their order, and adds casts."""
    found: dict[Operation, Operation] = {}
    rest = iter(_ops(after))
    for a in _ops(before):
        if a.name == "ge.cast":
            continue
        found[next(b for b in rest if b.name == a.name)] = a
    return found


def _types(op: Operation) -> list[Any]:
    return [value.type for value in (*op.operands, *op.results)]


def _element(op: Operation) -> str:
    """The element type of the first result where that is a float; else nothing."""
    from ..dialects.ge.types import is_float, is_tensor

    type_ = op.results[0].type if op.results else None
    if type_ is None or not is_tensor(type_) or not is_float(type_.element_type):
        return ""
    return str(type_.element_type)


def _dtype(value: SSAValue) -> Any:
    from ..dialects.ge.types import element_of

    return element_of(cast(Any, value.type).element_type).dtype


def _operator(op: Operation) -> str:
    from ..transforms.fusion.names import type_of

    return type_of(op) or op.name
