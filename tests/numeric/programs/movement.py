"""Steps that move elements: views, slices, joins, pads, repetition."""

import numpy as np

from .program import DTYPES, ONE, Dim, Program, Value, step, times


@step("movement")
@step("movement")
def transpose(p: Program, x: Value) -> Value | None:
    perm = list(range(x.rank))
    p.r.shuffle(perm)
    if x.rank and p.r.randrange(8) == 0:
        return Value(p.op("Transpose", x.name), x.element, x.dims[::-1])
    return Value(p.op("Transpose", x.name, perm=perm), x.element, tuple(x.dims[k] for k in perm)) if x.rank else None


def reshaped(p: Program, x: Value, dims: list[Dim]) -> Value | None:
    shape = p.shape(dims)
    return None if shape is None else Value(p.op("Reshape", x.name, shape), x.element, tuple(dims))


@step("movement")
def merge(p: Program, x: Value) -> Value | None:
    if x.rank < 2:
        return None
    k = p.r.randrange(x.rank - 1)
    return reshaped(p, x, [*x.dims[:k], times(*x.dims[k : k + 2]), *x.dims[k + 2 :]])


@step("movement")
def part(p: Program, x: Value) -> Value | None:
    even = [k for k, (c, _) in enumerate(x.dims) if c and c % 2 == 0]
    if not even:
        return None
    k = p.r.choice(even)
    halves: list[Dim] = [(2, ()), (x.dims[k][0] // 2, x.dims[k][1])]
    p.r.shuffle(halves)
    return reshaped(p, x, [*x.dims[:k], *halves, *x.dims[k + 1 :]])


@step("movement")
def kept_dims(p: Program, x: Value) -> Value | None:
    """A reshape that says 0 for dims that stay, and -1 for all that follow them."""
    if x.rank < 2 or any(c == 0 for c, _ in x.dims):
        return None
    k = p.r.randint(1, x.rank - 1)
    shape = p.ints(*[0] * k, -1)
    return Value(p.op("Reshape", x.name, shape), x.element, (*x.dims[:k], times(*x.dims[k:])))


@step("movement")
def flatten(p: Program, x: Value) -> Value | None:
    k = p.r.randint(0, x.rank)
    return Value(p.op("Flatten", x.name, axis=k), x.element, (times(*x.dims[:k]), times(*x.dims[k:])))


@step("movement")
def unsqueeze(p: Program, x: Value) -> Value | None:
    k = p.r.randint(0, x.rank)
    axis = p.r.choice([k, k - x.rank - 1])
    return Value(p.op("Unsqueeze", x.name, p.ints(axis)), x.element, (*x.dims[:k], ONE, *x.dims[k:]))


@step("movement")
def squeeze(p: Program, x: Value) -> Value | None:
    ones = [k for k, d in enumerate(x.dims) if d == ONE]
    if not ones:
        return None
    if x.shape is not None and p.r.randrange(4) == 0:
        return Value(p.op("Squeeze", x.name), x.element, tuple(d for d in x.dims if d != ONE))
    k = p.r.choice(ones)
    made = p.op("Squeeze", x.name, p.ints(p.spelled(x, k)))
    return Value(made, x.element, (*x.dims[:k], *x.dims[k + 1 :]))


@step("movement")
@step("movement")
def part_of(p: Program, x: Value) -> Value | None:
    axis = p.axis(x)
    if axis is None:
        return None
    size = x.fixed(axis)
    if size is None:
        end = p.dim(x.dims[axis]) if p.r.randrange(2) else p.ints(p.r.choice([2**31 - 1, 2**63 - 1]))
        if end is None:
            return None
        return Value(p.op("Slice", x.name, p.ints(0), end, p.ints(p.spelled(x, axis))), x.element, x.dims)
    step_ = p.r.choice([1, 1, 1, 2, -1])
    start = p.r.randint(0, size)
    end = p.r.randint(start, size) if p.r.randrange(3) else size
    if step_ < 0:
        bounds, count = (size - 1 - start, -(2**31)), size - start
    else:
        said = p.r.choice([start, start - size]) if start < size else start
        bounds = (said, end if end < size else p.r.choice([size, 2**31, 2**62]))
        count = max(0, -(-(end - start) // step_))
    if not count and p.r.randrange(4):
        return None
    steps = [p.ints(step_)] if step_ != 1 or p.r.randrange(4) == 0 else []
    made = p.op("Slice", x.name, p.ints(bounds[0]), p.ints(bounds[1]), p.ints(p.spelled(x, axis)), *steps)
    return Value(made, x.element, (*x.dims[:axis], (count, ()), *x.dims[axis + 1 :]))


@step("movement")
def corner(p: Program, x: Value) -> Value | None:
    """A slice along several axes."""
    axes = [k for k in range(x.rank) if (x.fixed(k) or 0) > 1]
    if len(axes) < 2:
        return None
    axes = p.r.sample(axes, 2)
    ends = [p.r.randint(1, x.dims[k][0]) for k in axes]
    dims = tuple((ends[axes.index(k)], ()) if k in axes else d for k, d in enumerate(x.dims))
    return Value(p.op("Slice", x.name, p.ints(0, 0), p.ints(*ends), p.ints(*axes)), x.element, dims)


@step("movement")
@step("movement")
def concat(p: Program, x: Value) -> Value | None:
    axis = p.axis(x)
    if axis is None:
        return None
    fitting = [
        v
        for v in p.values
        if v.element == x.element
        and v.rank == x.rank
        and v.dims[axis][1] == x.dims[axis][1]
        and all(v.dims[k] == d for k, d in enumerate(x.dims) if k != axis)
    ]
    parts = [x, *(p.r.choice(fitting) for _ in range(p.r.randint(0 if p.r.randrange(8) == 0 else 1, 2)))]
    names = [v.name for v in parts]
    total = sum(v.dims[axis][0] for v in parts)
    if x.shape is not None and p.r.randrange(4) == 0:
        names.append(p.weight(x.element, *(2 if k == axis else c for k, (c, _) in enumerate(x.dims))))
        total += 2
    made = p.op("Concat", *names, axis=p.spelled(x, axis))
    return Value(made, x.element, (*x.dims[:axis], (total, x.dims[axis][1]), *x.dims[axis + 1 :]))


@step("movement")
@step("movement")
def split(p: Program, x: Value) -> list[Value] | None:
    axis = p.axis(x, "fixed")
    if axis is None or not (size := x.dims[axis][0]):
        return None
    if size % 2 == 0 and p.r.randrange(2):
        sizes = [size // 2] * 2
        more = {"num_outputs": 2} if p.opset >= 18 else {}
        names = p.node("Split", [x.name], 2, axis=p.spelled(x, axis), **more)
    else:
        first = p.r.randint(0, size)
        sizes = [first, size - first]
        names = p.node("Split", [x.name, p.ints(*sizes)], 2, axis=axis)
    parts = [
        Value(n, x.element, (*x.dims[:axis], (c, ()), *x.dims[axis + 1 :])) for n, c in zip(names, sizes, strict=True)
    ]
    match p.r.randrange(4):
        case 0:
            joined = p.r.sample(parts, 2)
            made = p.op("Concat", *(v.name for v in joined), axis=axis)
            return [Value(made, x.element, x.dims)]
        case 1:
            return parts[: p.r.randint(1, 2)]
        case _:
            return parts


@step("movement")
@step("movement")
def pad(p: Program, x: Value) -> Value | None:
    axis = p.axis(x, "fixed")
    if axis is None or not (size := x.dims[axis][0]) or x.element == "bool":
        return None
    mode = p.r.choice(["constant"] * 3 + ["edge", "reflect"])
    most = size - 1 if mode == "reflect" else 2
    before, after = (
        p.r.randint(0, min(most, 2)),
        p.r.randint(-1 if size > 1 and mode == "constant" else 0, min(most, 2)),
    )
    if p.opset >= 18 and p.r.randrange(3) == 0:
        operands = [p.ints(before, after), "", p.ints(p.spelled(x, axis))]
    else:
        pads = [0] * 2 * x.rank
        pads[axis], pads[axis + x.rank] = before, after
        operands = [p.ints(*pads)]
        if p.r.randrange(2) and mode == "constant":
            operands.append(p.const(np.asarray(p.r.choice([0, 1, 3]), DTYPES[x.element])))
    made = p.op("Pad", x.name, *operands, mode=mode)
    wide = Value(made, x.element, (*x.dims[:axis], (size + before + after, ()), *x.dims[axis + 1 :]))
    if p.r.randrange(2) or after < 0:
        return wide
    # Cut again: all that was added, or some of it.
    begin = p.r.randint(0, before)
    end = p.r.randint(before + size, before + size + after)
    cut = p.op("Slice", made, p.ints(begin), p.ints(end), p.ints(axis))
    return Value(cut, x.element, (*x.dims[:axis], (end - begin, ()), *x.dims[axis + 1 :]))


@step("movement")
@step("movement")
def expand(p: Program, x: Value) -> Value | None:
    if not x.dims:
        return None
    symbols = [(1, (s,)) for s in ("N", "S") if p.sources(s)]
    dims = [p.r.choice([ONE, (2, ()), (3, ()), *symbols]) if d == ONE else d for d in x.dims]
    if p.r.randrange(3) == 0:
        dims = [p.r.choice([ONE, (2, ())]), *dims]
    # 1 stands for a dim that stays as it is.
    added = len(dims) - x.rank
    said = [ONE if k >= added and d == x.dims[k - added] and p.r.randrange(3) == 0 else d for k, d in enumerate(dims)]
    shape = p.shape(said, guess=False)
    return None if shape is None else Value(p.op("Expand", x.name, shape), x.element, tuple(dims))


@step("movement")
def tile(p: Program, x: Value) -> Value | None:
    if not x.rank:
        return None
    axis = p.r.randrange(x.rank)
    repeats = [1] * x.rank
    repeats[axis] = p.r.choice([1, 2, 3])
    dims = (*x.dims[:axis], times(x.dims[axis], (repeats[axis], ())), *x.dims[axis + 1 :])
    return Value(p.op("Tile", x.name, p.ints(*repeats)), x.element, dims)


@step("movement")
def depth_and_space(p: Program, x: Value) -> Value | None:
    if x.rank != 4 or x.element == "bool":
        return None
    n, c, h, w = x.dims
    if not c[1] and c[0] and c[0] % 4 == 0 and p.r.randrange(2):
        mode = p.r.choice(["DCR", "CRD"])
        made = p.op("DepthToSpace", x.name, blocksize=2, mode=mode)
        return Value(made, x.element, (n, (c[0] // 4, ()), times(h, (2, ())), times(w, (2, ()))))
    if any(d[1] or not d[0] or d[0] % 2 for d in (h, w)):
        return None
    made = p.op("SpaceToDepth", x.name, blocksize=2)
    return Value(made, x.element, (n, times(c, (4, ())), (h[0] // 2, ()), (w[0] // 2, ())))


@step("movement")
def triangle(p: Program, x: Value) -> Value | None:
    if x.rank < 2 or p.opset < 14 or x.element in ("i8", "u8"):
        return None
    offset = [p.const(p.r.randint(-1, 1), np.int64)] if p.r.randrange(2) else []
    return Value(p.op("Trilu", x.name, *offset, upper=p.r.randrange(2)), x.element, x.dims)


@step("movement")
def between_transposes(p: Program, x: Value) -> Value | None:
    """A transpose, something, and the transpose back."""
    if x.rank < 2 or x.element == "bool":
        return None
    perm = list(range(x.rank))
    p.r.shuffle(perm)
    back = [perm.index(k) for k in range(x.rank)]
    moved = Value(p.op("Transpose", x.name, perm=perm), x.element, tuple(x.dims[k] for k in perm))
    match p.r.randrange(4):
        case 0 if x.element in ("f32", "f16"):
            inside = Value(p.op(p.r.choice(["Relu", "Tanh"]), moved.name), x.element, moved.dims)
        case 1 if x.element not in ("i8", "u8"):
            shape = [c if not s and p.r.randrange(2) else 1 for c, s in moved.dims][p.r.randrange(x.rank) :]
            inside = Value(p.op("Mul", moved.name, p.weight(x.element, *shape)), x.element, moved.dims)
        case 2:
            axis = p.r.randrange(x.rank)
            doubled = (*moved.dims[:axis], times(moved.dims[axis], (2, ())), *moved.dims[axis + 1 :])
            inside = Value(p.op("Concat", moved.name, moved.name, axis=axis), x.element, doubled)
        case _:
            inside = Value(p.op("Identity", moved.name), x.element, moved.dims)
    return Value(p.op("Transpose", inside.name, perm=back), x.element, tuple(inside.dims[k] for k in back))
