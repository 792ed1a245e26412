"""Steps that pick elements by index, put some in place, or say where they are; and shapes as numbers."""

import numpy as np
from onnx import numpy_helper

from .arithmetic import cast
from .program import DTYPES, FLOATS, NUMBERS, ONE, Program, Value, step


@step("picking")
@step("picking")
def gather(p: Program, x: Value) -> Value | None:
    axis = p.axis(x, "fixed")
    if axis is None or not (size := x.dims[axis][0]):
        return None
    match p.r.randrange(4):
        case 0:
            indices: list[int] | list[list[int]] = list(range(size))
            dims = ((size, ()),)
        case 1:
            return Value(
                p.op("Gather", x.name, p.const(p.r.randint(-size, size - 1), np.int64), axis=axis),
                x.element,
                (*x.dims[:axis], *x.dims[axis + 1 :]),
            )
        case 2:
            rows = p.r.randint(1, 2)
            indices = [[p.r.randint(-size, size - 1) for _ in range(2)] for _ in range(rows)]
            dims = ((rows, ()), (2, ()))
        case _:
            indices = [p.r.randint(-size, size - 1) for _ in range(p.r.randint(1, 3))]
            dims = ((len(indices), ()),)
    kind = p.r.choice([np.int64, np.int64, np.int32])
    made = p.op("Gather", x.name, p.const(np.asarray(indices, kind)), axis=p.spelled(x, axis))
    return Value(made, x.element, (*x.dims[:axis], *dims, *x.dims[axis + 1 :]))


@step("picking")
def looked_up(p: Program, x: Value) -> Value | None:
    """Rows of a table by integers that are computed."""
    if x.element not in ("i64", "i32"):
        return None
    rows, columns = 5, p.r.choice([4, 6])
    index = p.op("Clip", x.name, *(p.const(np.asarray(b, DTYPES[x.element])) for b in (0, rows - 1)))
    made = p.op("Gather", p.weight(p.float, rows, columns), index)
    return Value(made, p.float, (*x.dims, (columns, ())))


@step("picking")
def gather_elements(p: Program, x: Value) -> Value | None:
    axis = p.axis(x, "fixed")
    if axis is None or x.shape is None or not all(x.shape):
        return None
    shape = [p.r.randint(1, d) for d in x.shape]
    indices = np.random.default_rng(p.r.randrange(100)).integers(-x.shape[axis], x.shape[axis], shape)
    made = p.op("GatherElements", x.name, p.const(indices, np.int64), axis=axis)
    return Value(made, x.element, tuple((d, ()) for d in shape))


@step("picking")
def gather_nd(p: Program, x: Value) -> Value | None:
    if x.rank < 2 or x.fixed(0) is None or x.fixed(1) is None or not x.dims[0][0] or not x.dims[1][0]:
        return None
    deep = p.r.randint(1, 2)
    indices = [[p.r.randint(0, x.dims[k][0] - 1) for k in range(deep)] for _ in range(3)]
    return Value(p.op("GatherND", x.name, p.const(indices, np.int64)), x.element, ((3, ()), *x.dims[deep:]))


@step("picking")
def scatter(p: Program, x: Value) -> Value | None:
    axis = p.axis(x, "fixed")
    if axis is None or x.shape is None or not all(x.shape) or x.element not in FLOATS:
        return None
    if p.r.randrange(2):
        rows = p.r.sample(range(x.shape[0]), min(2, x.shape[0]))
        updates = p.weight(x.element, len(rows), *x.shape[1:])
        made = p.op("ScatterND", x.name, p.const([[k] for k in rows], np.int64), updates)
    else:
        shape = [1 if k == axis else d for k, d in enumerate(x.shape)]
        indices = np.full(shape, p.r.randrange(x.shape[axis]), np.int64)
        made = p.op("ScatterElements", x.name, p.const(indices), p.weight(x.element, *shape), axis=axis)
    return Value(made, x.element, x.dims)


@step("picking")
def best(p: Program, x: Value) -> list[Value] | None:
    axis = p.axis(x, "fixed")
    if axis is None or x.element not in ("f32", "i64") or not (size := x.dims[axis][0]):
        return None
    if p.r.randrange(2):
        keep = p.r.randrange(2)
        kind = p.r.choice(["ArgMax", "ArgMin"])
        made = p.op(kind, x.name, axis=p.spelled(x, axis), keepdims=keep, select_last_index=p.r.randrange(2))
        return [Value(made, "i64", (*x.dims[:axis], *[ONE] * keep, *x.dims[axis + 1 :]))]
    k = p.r.randint(1, size)
    names = p.node("TopK", [x.name, p.ints(k)], 2, axis=axis, largest=p.r.randrange(2))
    dims = (*x.dims[:axis], (k, ()), *x.dims[axis + 1 :])
    return [Value(names[0], x.element, dims), Value(names[1], "i64", dims)]


@step("picking")
def one_hot(p: Program, x: Value) -> Value | None:
    if x.element not in ("i64", "i32") or x.rank > 3:
        return None
    values = p.const(np.asarray([0, 1], DTYPES[p.float]))
    made = p.op("OneHot", x.name, p.const(4, np.int64), values)
    return Value(made, p.float, (*x.dims, (4, ()))) if p.float != "bf16" else None


@step("picking")
def summed_so_far(p: Program, x: Value) -> Value | None:
    axis = p.axis(x)
    if axis is None or x.element not in ("f32", "i64", "i32"):
        return None
    options = {"exclusive": p.r.randrange(2), "reverse": p.r.randrange(2)}
    return Value(p.op("CumSum", x.name, p.const(axis, np.int64), **options), x.element, x.dims)


@step("picking")
def reversed_rows(p: Program, x: Value) -> Value | None:
    if x.rank < 2 or x.shape is None or not all(x.shape) or x.element not in ("f32", "f16"):
        return None
    lengths = p.ints(*(p.r.randint(1, x.shape[0]) for _ in range(x.shape[1])))
    return Value(p.op("ReverseSequence", x.name, lengths), x.element, x.dims)


@step("picking")
def resized(p: Program, x: Value) -> Value | None:
    if x.rank not in (3, 4) or x.element != "f32" or any(x.fixed(k) in (None, 0) for k in range(2, x.rank)):
        return None
    scales = p.const(np.asarray([1, 1, *[2] * (x.rank - 2)], np.float32))
    mode = p.r.choice(["nearest", "linear"])
    made = p.op("Resize", x.name, "", scales, mode=mode)
    return Value(made, x.element, (*x.dims[:2], *((c * 2, ()) for c, _ in x.dims[2:])))


# ---------------------------------------------------------------------- shape arithmetic


def a_dim(p: Program) -> tuple[str, int] | None:
    """A vector of one dim of some value, and the least that it is."""
    found = [(v, k) for v in p.values for k in range(v.rank)]
    if not found:
        return None
    value, axis = p.r.choice(found)
    return p.op("Slice", p.op("Shape", value.name), p.ints(axis), p.ints(axis + 1), p.ints(0)), value.dims[axis][0]


@step("shape arithmetic")
def size_as_number(p: Program, x: Value) -> Value | None:
    """A dim, or how many elements, as a number among the others."""
    if x.element not in FLOATS or not x.rank:
        return None
    if p.r.randrange(3) == 0:
        number = p.op("Size", x.name)
    else:
        axis = p.r.randrange(x.rank)
        number = p.op("Gather", p.op("Shape", x.name), p.const(p.spelled(x, axis), np.int64))
    made = p.op(p.r.choice(["Mul", "Add", "Div"]), x.name, cast(p, number, x.element))
    return Value(made, x.element, x.dims)


@step("shape arithmetic")
def filled(p: Program, x: Value) -> Value | None:
    """One number in the shape of another value, made as exporters make it."""
    if x.element not in NUMBERS:
        return None
    shape = p.op("Shape", x.name) if p.r.randrange(2) else p.shape(x.dims, guess=False)
    if shape is None:
        return None
    number = np.asarray([p.r.choice([0, 1, 2])], DTYPES[x.element])
    match p.r.randrange(3):
        case 0:
            made = p.op("Expand", p.const(number), shape)
        case 1 if x.dims:
            made = p.op("Expand", p.const(number[0]), shape)
        case _:
            made = p.op("ConstantOfShape", shape, value=numpy_helper.from_array(number))
    if p.r.randrange(3) == 0:
        return Value(made, x.element, x.dims) if x.dims else None
    return Value(p.op(p.r.choice(["Add", "Mul", "Max"]), x.name, made), x.element, x.dims) if x.dims else None


@step("shape arithmetic")
def counted(p: Program, x: Value) -> Value | None:
    """The numbers of an axis: as added positions, or as a mask."""
    axis = p.axis(x)
    if axis is None or x.element not in FLOATS:
        return None
    end = p.op("Gather", p.op("Shape", x.name), p.const(axis, np.int64))
    numbers = p.op("Range", p.const(0, np.int64), end, p.const(1, np.int64))
    shape = [1] * (x.rank - axis)
    shape[0] = -1
    row = p.op("Reshape", numbers, p.ints(*shape)) if len(shape) > 1 else numbers
    if p.r.randrange(2):
        return Value(p.op("Add", x.name, cast(p, row, x.element)), x.element, x.dims)
    mask = p.op("Less", row, p.const(2, np.int64))
    return Value(p.op("Where", mask, x.name, p.number(x.element, -4)), x.element, x.dims)


@step("shape arithmetic")
def shape_of_shapes(p: Program, x: Value) -> Value | None:
    """Arithmetic on dims that gives integers that are used as such."""
    first, second = a_dim(p), a_dim(p)
    if first is None or second is None:
        return None
    kind = p.r.choice(["Add", "Mul", "Max", "Min", "Sub"])
    if kind == "Max" and p.opset < 13:
        return None
    made = p.op(kind, first[0], second[0])
    if p.r.randrange(2):
        made = p.op("Concat", made, first[0], p.ints(p.r.randint(0, 3)), axis=0)
        return Value(made, "i64", ((3, ()),))
    return Value(made, "i64", (ONE,))


@step("shape arithmetic")
def back_to_itself(p: Program, x: Value) -> Value | None:
    """A view, an op, and the view back by the shape that was read before."""
    if not x.rank or x.element == "bool" or any(c == 0 for c, _ in x.dims):
        return None
    shape = p.op("Shape", x.name)
    flat = p.op("Reshape", x.name, p.ints(-1))
    inside = p.op("Identity" if x.element not in FLOATS else p.r.choice(["Relu", "Neg"]), flat)
    return Value(p.op("Reshape", inside, shape), x.element, x.dims)


@step("shape arithmetic")
def slice_to_a_dim(p: Program, x: Value) -> Value | None:
    """All of an axis, up to a dim of another value that is the same."""
    axis = p.axis(x)
    if axis is None:
        return None
    end = p.dim(x.dims[axis])
    return None if end is None else Value(p.op("Slice", x.name, p.ints(0), end, p.ints(axis)), x.element, x.dims)
