"""Steps of several operators that belong together: what exporters write for one thing, and near misses of it."""

import numpy as np

from .arithmetic import cast, partner
from .layers import reduce
from .program import DTYPES, FLOATS, Program, Value, step


def last(x: Value) -> int | None:
    """The size of the last axis, of an f32 with one."""
    return x.fixed(x.rank - 1) if x.element == "f32" and x.rank and all(c for c, _ in x.dims) else None


@step("idioms")
@step("idioms")
def layer_norm(p: Program, x: Value) -> Value | None:
    if not (size := last(x)):
        return None
    axes = [-1] if x.rank < 2 or x.fixed(x.rank - 2) is None or p.r.randrange(3) else [-2, -1]
    if p.r.randrange(6) == 0 and x.fixed(0):
        axes = [0]
    mean = reduce(p, "ReduceMean", x.name, axes, 1)
    far = p.op("Sub", x.name, mean)
    square = p.op("Pow", far, p.number_0d("f32", 2)) if p.r.randrange(2) else p.op("Mul", far, far)
    root = p.op("Sqrt", p.op("Add", reduce(p, "ReduceMean", square, axes, 1), p.number("f32", 1e-5)))
    made = p.op("Div", far, root)
    if p.r.randrange(3):
        made = p.op("Mul", made, p.weight("f32", size))
        if p.r.randrange(3):
            made = p.op("Add", made, p.weight("f32", size))
    return Value(made, "f32", x.dims)


@step("idioms")
def rms_norm(p: Program, x: Value) -> Value | None:
    if not (size := last(x)):
        return None
    square = p.op("Pow", x.name, p.number_0d("f32", 2)) if p.r.randrange(2) else p.op("Mul", x.name, x.name)
    root = p.op("Sqrt", p.op("Add", reduce(p, "ReduceMean", square, [-1], 1), p.number("f32", 1e-5)))
    if p.r.randrange(2):
        made = p.op("Mul", x.name, p.op("Div", p.number("f32", 1), root))
    elif p.r.randrange(2):
        made = p.op("Mul", x.name, p.op("Reciprocal", root))
    else:
        made = p.op("Div", x.name, root)
    return Value(p.op("Mul", p.weight("f32", size), made) if p.r.randrange(2) else made, "f32", x.dims)


@step("idioms")
@step("idioms")
def activation(p: Program, x: Value) -> Value | None:
    if x.element not in ("f32", "f16") or not x.dims:
        return None

    def n(number: float) -> str:
        return p.number_0d(x.element, number)

    v = x.name
    match p.r.randrange(8):
        case 0:
            inner = p.op("Add", p.op("Erf", p.op("Div", v, n(p.r.choice([2**0.5, 2**0.5, 1.5])))), n(1))
            made = p.op("Mul", p.op("Mul", v, inner), n(0.5))
        case 1:
            inner = p.op("Add", p.op("Erf", p.op("Mul", v, n(0.5**0.5))), n(1))
            made = p.op("Mul", v, p.op("Mul", n(0.5), inner))
        case 2:
            cube = p.op("Mul", p.op("Pow", v, n(3)), n(0.044715))
            inner = p.op("Tanh", p.op("Mul", p.op("Add", v, cube), n((2 / np.pi) ** 0.5)))
            made = p.op("Mul", p.op("Mul", v, p.op("Add", inner, n(1))), n(0.5))
        case 3:
            bounded = p.op("Clip", p.op("Add", v, n(3)), n(0), n(p.r.choice([6, 6, 5])))
            made = p.op("Div", p.op("Mul", v, bounded) if p.r.randrange(2) else bounded, n(6))
        case 4:
            made = p.op("Mul", v, p.op("Sigmoid", v))
        case 5:
            made = p.op("Mul", v, p.op("Tanh", p.op("Softplus", v)))
        case 6:
            made = p.op("Div", n(1), p.op("Add", p.op("Exp", p.op("Neg", v)), n(1)))
        case _:
            made = p.op("Mul", v, p.op("HardSigmoid", v, alpha=1 / 6, beta=0.5))
    return Value(made, x.element, x.dims)


@step("idioms")
@step("idioms")
def siblings(p: Program, x: Value) -> list[Value] | None:
    """Products of one value by several weights, with terms, as attention has them."""
    if not (size := last(x)) or x.rank < 2:
        return None
    found: list[Value] = []
    widths = [4, 4, p.r.choice([4, 4, 2])][: p.r.randint(2, 3)]
    biased = p.r.randrange(3)
    for width in widths:
        made = p.op("MatMul", x.name, p.weight("f32", size, width))
        if biased:
            made = p.op("Add", p.weight("f32", width), made)
        found.append(Value(made, "f32", (*x.dims[:-1], (width, ()))))
    return found


@step("idioms")
def heads(p: Program, x: Value) -> Value | None:
    """A product, cut into heads, moved, and put together again."""
    if not (size := last(x)) or x.rank != 3:
        return None
    made = p.op("MatMul", x.name, p.weight("f32", size, 4))
    made = p.op("Add", made, p.weight("f32", 4))
    inside = [*x.dims[:2], (2, ()), (2, ())]
    shape = p.shape(inside)
    if shape is None:
        return None
    parted = p.op("Transpose", p.op("Reshape", made, shape), perm=[0, 2, 1, 3])
    scores = p.op("MatMul", parted, p.op("Transpose", parted, perm=[0, 1, 3, 2]))
    scores = p.op(p.r.choice(["Div", "Mul"]), scores, p.number_0d("f32", 2))
    weighted = p.op("MatMul", p.op("Softmax", scores, axis=-1), parted)
    back = p.op("Transpose", weighted, perm=[0, 2, 1, 3])
    dims = (*x.dims[:2], (4, ()))
    shape = p.shape(dims)
    return None if shape is None else Value(p.op("Reshape", back, shape), "f32", dims)


@step("idioms")
def gated(p: Program, x: Value) -> Value | None:
    """Halves of a value, one through an activation, multiplied."""
    if x.element not in ("f32", "f16") or not x.rank or not x.fixed(x.rank - 1) or x.dims[-1][0] % 2:
        return None
    half = x.dims[-1][0] // 2
    if p.r.randrange(2):
        more = {"num_outputs": 2} if p.opset >= 18 else {}
        a, b = p.node("Split", [x.name], 2, axis=-1, **more)
    else:
        a, b = (
            p.op("Slice", x.name, p.ints(begin), p.ints(end), p.ints(-1))
            for begin, end in ((0, half), (half, 2 * half))
        )
    made = p.op("Mul", a, p.op(p.r.choice(["Sigmoid", "Tanh"]), b))
    return Value(made, x.element, (*x.dims[:-1], (half, ())))


@step("idioms")
def same_on_each_part(p: Program, x: Value) -> list[Value] | None:
    """A split, the same arithmetic on each part."""
    axis = p.axis(x, "fixed")
    if axis is None or x.element not in ("f32", "f16") or not x.dims[axis][0] or x.dims[axis][0] % 2:
        return None
    half = x.dims[axis][0] // 2
    more = {"num_outputs": 2} if p.opset >= 18 else {}
    parts = p.node("Split", [x.name], 2, axis=axis, **more)
    kind = p.r.choice(["Relu", "Tanh", "Mul", "Add"])
    number = p.number_0d(x.element, 2)
    made = [p.op(kind, v, *([number] if kind in ("Mul", "Add") else [])) for v in parts]
    dims = (*x.dims[:axis], (half, ()), *x.dims[axis + 1 :])
    return [Value(v, x.element, dims) for v in made]


@step("idioms")
def pieces_in_order(p: Program, x: Value) -> Value | None:
    """Slices of one value side by side, joined: all of it again, or not quite."""
    axis = p.axis(x, "fixed")
    if axis is None or (size := x.dims[axis][0]) < 2:
        return None
    cut = p.r.randint(1, size - 1)
    bounds = [(0, cut), (cut, size)]
    if p.r.randrange(4) == 0:
        bounds.reverse()
    if p.r.randrange(4) == 0:
        bounds[0] = (0, cut - 1 or 1)
    parts = [p.op("Slice", x.name, p.ints(a), p.ints(b), p.ints(axis)) for a, b in bounds]
    made = p.op("Concat", *parts, axis=axis)
    total = sum(b - a for a, b in bounds)
    return Value(made, x.element, (*x.dims[:axis], (total, ()), *x.dims[axis + 1 :]))


@step("idioms")
def cut_again(p: Program, x: Value) -> Value | None:
    """A slice of a slice, of a join, or of what was computed."""
    axis = p.axis(x, "fixed")
    if axis is None or (size := x.dims[axis][0]) < 3:
        return None
    made = x.name
    match p.r.randrange(3):
        case 0:
            made = p.op("Slice", made, p.ints(1), p.ints(size), p.ints(axis))
            size -= 1
        case 1:
            made = p.op("Concat", made, p.r.choice(p.like(x)).name, axis=axis)
            size *= 2
        case _ if x.element in ("f32", "f16"):
            made = p.op(p.r.choice(["Relu", "Neg"]), made)
    begin = p.r.randint(0, size - 1)
    end = p.r.randint(begin + 1, size)
    cut = p.op("Slice", made, p.ints(begin), p.ints(end), p.ints(axis))
    return Value(cut, x.element, (*x.dims[:axis], (end - begin, ()), *x.dims[axis + 1 :]))


@step("idioms")
def views_of_views(p: Program, x: Value) -> Value | None:
    """Reshape, squeeze, unsqueeze and flatten one after the other, that end where they began or not."""
    shape = x.shape
    if shape is None or not shape or not all(shape):
        return None
    made, here = x.name, shape
    for _ in range(p.r.randint(1, 3)):
        match p.r.randrange(4):
            case 0:
                made, here = p.op("Unsqueeze", made, p.ints(0)), [1, *here]
            case 1:
                made, here = p.op("Reshape", made, p.ints(-1)), [int(np.prod(here))]
            case 2 if 1 in here:
                at = here.index(1)
                made, here = p.op("Squeeze", made, p.ints(at)), [*here[:at], *here[at + 1 :]]
            case _:
                made, here = p.op("Flatten", made, axis=0), [1, int(np.prod(here))]
    if p.r.randrange(2):
        made, here = p.op("Reshape", made, p.ints(*shape)), shape
    return Value(made, x.element, tuple((d, ()) for d in here))


@step("idioms")
def transposed_one(p: Program, x: Value) -> Value | None:
    """An axis of 1 that is moved, then dropped or kept."""
    if x.rank < 2 or x.rank > 4:
        return None
    axis = p.r.randrange(x.rank + 1)
    wide = p.op("Unsqueeze", x.name, p.ints(axis))
    perm = [k for k in range(x.rank + 1) if k != axis]
    to = p.r.randrange(x.rank + 1)
    perm.insert(to, axis)
    moved = p.op("Transpose", wide, perm=perm)
    if p.r.randrange(2):
        return Value(p.op("Squeeze", moved, p.ints(to)), x.element, x.dims)
    return Value(moved, x.element, (*x.dims[:to], (1, ()), *x.dims[to:]))


@step("idioms")
def added_up(p: Program, x: Value) -> Value | None:
    """A chain of additions, of more than two values."""
    if x.element not in FLOATS:
        return None
    made = x.name
    for _ in range(p.r.randint(2, 3)):
        made = p.op("Add", made, p.r.choice(p.like(x)).name)
    return Value(made, x.element, x.dims)


@step("idioms")
def same_twice(p: Program, x: Value) -> Value | None:
    """One computation written twice, its constants too."""
    if x.element not in FLOATS or not x.dims:
        return None
    number = p.numbers(x.element, [1])
    kind = p.r.choice(["Mul", "Add", "Max"])
    a, b = (p.op("Tanh", p.op(kind, x.name, p.const(number))) for _ in range(2))
    return Value(p.op("Add", a, b), x.element, x.dims)


@step("idioms")
def of_constants_alone(p: Program, x: Value) -> Value | None:
    """What depends on constants alone, beside a value."""
    if x.element not in FLOATS or not x.dims:
        return None
    a, b = p.weight(x.element, 1), p.weight(x.element, 1)
    made = p.op(p.r.choice(["Add", "Mul"]), p.op("Abs", a), b)
    if p.r.randrange(2):
        made = p.op("Expand", made, p.ints(2, 1))
        made = p.op("Slice", made, p.ints(0), p.ints(1), p.ints(0))
        made = p.op("Squeeze", made, p.ints(0))
    return Value(p.op("Mul", x.name, made), x.element, x.dims)


@step("idioms")
def sequence(p: Program, x: Value) -> Value | None:
    """Values in a sequence, picked or joined."""
    if not x.rank or x.element in ("bf16", "bool"):
        return None
    other = p.r.choice(p.like(x))
    made = p.op("SequenceConstruct", x.name, other.name)
    if p.r.randrange(2):
        at = p.r.choice([0, 1, -1])
        return Value(p.op("SequenceAt", made, p.const(at, np.int64)), x.element, x.dims)
    axis = p.r.randrange(x.rank)
    dims = (*x.dims[:axis], (2 * x.dims[axis][0], x.dims[axis][1]), *x.dims[axis + 1 :])
    return Value(p.op("ConcatFromSequence", made, axis=axis), x.element, dims)


@step("idioms")
def masked(p: Program, x: Value) -> Value | None:
    """Attention's mask: (1 - m) * -large, added."""
    if x.element not in ("f32", "f16") or not x.dims:
        return None
    other, dims = partner(p, x)
    if len(dims) > x.rank or any(d not in ((1, ()), e) for d, e in zip(dims[::-1], x.dims[::-1], strict=False)):
        return None
    mask = cast(p, p.op("Greater", other, p.number_0d(x.element, 0)), x.element)
    away = p.op("Mul", p.op("Sub", p.number_0d(x.element, 1), mask), p.number_0d(x.element, -10000))
    return Value(p.op("Add", x.name, away), x.element, x.dims)


@step("idioms")
def noise_that_is_none(p: Program, x: Value) -> Value | None:
    """Operators that change nothing: neutral numbers, whole slices, equal shapes."""
    if x.element not in (*FLOATS, "i64", "i32") or not x.rank:
        return None
    match p.r.randrange(7):
        case 0:
            made = p.op("Mul", x.name, p.number_0d(x.element, 1))
        case 1:
            made = p.op("Add", p.number_0d(x.element, -0.0 if p.r.randrange(2) else 0.0), x.name)
        case 2:
            made = p.op("Div", x.name, p.number_0d(x.element, 1))
        case 3:
            made = p.op("Pad", x.name, p.ints(*[0] * 2 * x.rank)) if x.element != "bf16" else p.op("Identity", x.name)
        case 4:
            made = p.op("Expand", x.name, p.ints(*[1] * x.rank))
        case 5:
            made = p.op("Concat", x.name, axis=0)
        case _:
            made = p.op("Transpose", x.name, perm=list(range(x.rank)))
    return Value(made, x.element, x.dims)


@step("idioms")
def quantised_between(p: Program, x: Value) -> Value | None:
    """Arithmetic between dequantised and quantised, as QDQ models have it."""
    if x.element != "f32":
        return None
    scale, zero = p.const(np.float32(0.25)), p.const(DTYPES["u8"](p.r.choice([0, 100])))

    def through(value: str) -> str:
        return p.op("DequantizeLinear", p.op("QuantizeLinear", value, scale, zero), scale, zero)

    return Value(through(p.op(p.r.choice(["Relu", "Identity"]), through(x.name))), "f32", x.dims)
