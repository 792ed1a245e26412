"""How far outputs are from those that they should be, and whether that is near enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..driver.numerics import HALF_TOLERANCE, STEP, TOLERANCE


@dataclass(frozen=True)
class Distance:
    """
    One output against the expected one.

    absolute   max |a - b|
    relative   max |a - b| / max |b|; max |a - b| where all of b is 0
    passes     whether that is allowed
    problem    what cannot be measured (another type, NaNs elsewhere), in words; "" where all was measured
    allowed    the rule, in words
    """

    absolute: float
    relative: float
    passes: bool
    problem: str = ""
    allowed: str = ""


def compare(got: Mapping[str, Any], expected: Mapping[str, Any], exact: bool = False) -> Iterator[tuple[str, Distance]]:
    """A distance for each expected output, in order, and one for each that nobody expects."""
    for name, value in expected.items():
        yield name, _distance(got[name], value, exact) if name in got else _unlike("is missing")
    for name in got:
        if name not in expected:
            yield name, _unlike("is not an output of the other model")


def same_bits(a: Any, b: Any) -> bool:
    """Whether two outputs are of one type and shape, with the same bits: a zero is not a negative zero."""
    if isinstance(b, list | tuple):
        items = cast("Sequence[Any]", b)
        return (
            isinstance(a, list | tuple)
            and len(cast("Sequence[Any]", a)) == len(items)
            and all(map(same_bits, a, items))
        )
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return np.array_equal(a, b) if a.dtype == object else a.tobytes() == b.tobytes()


def _distance(a: Any, b: Any, exact: bool) -> Distance:
    if isinstance(b, list | tuple) or isinstance(a, list | tuple):
        return _of_sequences(a, b, exact)
    if a is None or b is None:
        return Distance(0, 0, a is b, "" if a is b else "one is an empty optional")
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype.kind in "OUS") and (b.dtype.kind in "OUS"):
        same = a.shape == b.shape and bool((a == b).all())
        return Distance(0, 0, same, "" if same else "has other texts", "equal")
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return _unlike(f"is {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}")
    if not a.size:
        return Distance(0, 0, True, allowed="equal")
    if a.dtype.kind in "biu" or "int" in a.dtype.name:  # int4 and the like are no numbers to numpy
        return _of_integers(a, b, exact)
    return _of_floats(a, b, exact)


def _of_sequences(a: Any, b: Any, exact: bool) -> Distance:
    if not (isinstance(a, Sequence) and isinstance(b, Sequence)) or len(a) != len(b):
        return _unlike("is not a sequence of the same length")
    parts = [_distance(x, y, exact) for x, y in zip(a, b, strict=True)]
    if not parts:
        return Distance(0, 0, True, allowed="equal")
    return next((p for p in parts if not p.passes), max(parts, key=lambda p: p.relative))


def _of_integers(a: Any, b: Any, exact: bool) -> Distance:
    wide_a, wide_b = (x.astype(object if x.dtype.itemsize == 8 else np.int64) for x in (a, b))
    far, scale = int(np.max(np.abs(wide_a - wide_b))), int(np.max(np.abs(wide_b)))
    quantised = a.dtype.kind != "b" and a.dtype.itemsize == 1
    step = STEP if quantised and not exact else 0
    return Distance(far, far / (scale or 1), far <= step, allowed="one step" if step else "equal")


def _of_floats(a: Any, b: Any, exact: bool) -> Distance:
    tolerance = TOLERANCE if a.dtype.itemsize >= 4 else HALF_TOLERANCE
    allowed = "equal" if exact else f"{tolerance:g}"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return _unlike("has other infinities or NaNs")
    if not finite.any():
        return Distance(0, 0, True, allowed=allowed)
    far, scale = float(np.max(np.abs(a[finite] - b[finite]))), float(np.max(np.abs(b[finite])))
    relative = far / scale if scale else far
    return Distance(far, relative, far == 0 if exact else relative <= tolerance, allowed=allowed)


def _unlike(problem: str) -> Distance:
    return Distance(float("inf"), float("inf"), False, problem)
