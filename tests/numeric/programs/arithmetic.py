"""Steps of arithmetic, element by element, and of conversion."""

import numpy as np

from .program import DTYPES, FLOATS, INTEGERS, NUMBERS, ONE, Dims, Program, Value, element_type, step

UNARY = {
    13: "Abs Neg Relu Sigmoid Tanh Identity LeakyRelu HardSigmoid Exp Erf Softplus Softsign Elu Selu Celu Floor Ceil "
    "Round Sign Reciprocal Sin Cos Atan Sqrt Log ThresholdedRelu Identity Neg Abs Relu",
    14: "HardSwish",
    18: "Mish",
    20: "Gelu",
}
HALF = ["Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Identity", "Exp", "Sqrt", "Reciprocal", "Floor", "Ceil", "Log", "Erf"]
WHOLE = ["Abs", "Neg", "Sign", "Identity"]
BINARY = ["Add", "Add", "Sub", "Mul", "Mul", "Max", "Min"]
COMPARE = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]


def broadcast(a: Dims, b: Dims) -> Dims | None:
    """The dims of two values together; None where they do not go together for every size."""
    rank = max(len(a), len(b))
    a, b = (ONE,) * (rank - len(a)) + a, (ONE,) * (rank - len(b)) + b
    dims = tuple(p if p == q or q == ONE else q if p == ONE else None for p, q in zip(a, b, strict=True))
    return None if None in dims else tuple(d for d in dims if d is not None)


def partner(p: Program, x: Value) -> tuple[str, Dims]:
    """What may stand beside `x` in arithmetic: a value, or a constant of some shape that broadcasts with it."""
    fitting = [(v.name, v.dims) for v in p.values if v.element == x.element and broadcast(x.dims, v.dims) is not None]
    if p.r.randrange(2):
        return p.r.choice(fitting)
    shape = [c if not s and p.r.randrange(3) else 1 for c, s in x.dims]
    shape = shape[p.r.randint(0, len(shape)) :] if p.r.randrange(2) else shape
    if p.r.randrange(12) == 0:
        shape = [1, *shape]
    return p.weight(x.element, *shape), tuple((d, ()) for d in shape)


@step("elementwise")
def unary(p: Program, x: Value) -> Value | None:
    if x.element == "bool":
        return Value(p.op("Not", x.name), "bool", x.dims)
    if x.element in INTEGERS:
        kind = p.r.choice(WHOLE if x.element != "u8" else WHOLE[-1:])
    elif x.element == "bf16":
        kind = p.r.choice(HALF)
    else:
        kind = p.r.choice([k for since, kinds in UNARY.items() if since <= p.opset for k in kinds.split()])
    attributes = {"approximate": p.r.choice(["none", "tanh"])} if kind == "Gelu" else {}
    return Value(p.op(kind, x.name, **attributes), x.element, x.dims)


@step("elementwise")
@step("elementwise")
@step("elementwise")
def binary(p: Program, x: Value) -> Value | None:
    if x.element == "bool":
        kind = p.r.choice(["And", "Or", "Xor"])
    elif x.element in FLOATS:
        kind = p.r.choice([*BINARY, "Div", "Div"])
    else:
        # ONNX Runtime and the reference know no Max of the small integers before opset 12.
        kind = p.r.choice(BINARY)
    other, dims = partner(p, x)
    result = broadcast(x.dims, dims)
    if result is None:
        return None
    operands = (x.name, other) if p.r.randrange(2) else (other, x.name)
    return Value(p.op(kind, *operands), x.element, result)


@step("elementwise")
def with_itself(p: Program, x: Value) -> Value | None:
    """Two readings of one value, as they are or after the same computation under two names."""
    if x.element not in FLOATS:
        return None
    a, b = x.name, x.name
    if p.r.randrange(2):
        kind = p.r.choice(["Tanh", "Relu", "Exp"])
        a, b = p.op(kind, x.name), p.op(kind, x.name)
    return Value(p.op(p.r.choice([*BINARY, "Div"]), a, b), x.element, x.dims)


@step("elementwise")
def constant_between(p: Program, x: Value) -> Value | None:
    """Constants before and after: what may be put together."""
    if x.element not in NUMBERS:
        return None
    value = x.name
    for _ in range(p.r.randint(2, 3)):
        kinds = [*BINARY, "Div"] if x.element in FLOATS else BINARY
        number = p.number(x.element, p.r.choice([0, 1, 2, 3, -1] if x.element != "u8" else [0, 1, 2]))
        operands = (value, number) if p.r.randrange(3) else (number, value)
        value = p.op(p.r.choice(kinds), *operands)
    dims = x.dims or (ONE,)
    return None if not x.dims else Value(value, x.element, dims)


@step("elementwise")
def negations(p: Program, x: Value) -> Value | None:
    if x.element not in FLOATS:
        return None
    n = p.op("Neg", x.name)
    match p.r.randrange(5):
        case 0:
            made = p.op("Abs", n)
        case 1:
            made = p.op("Neg", n)
        case 2:
            made = p.op("Sub", *(x.name, n) if p.r.randrange(2) else (n, x.name))
        case 3:
            made = p.op("Add", *(x.name, n) if p.r.randrange(2) else (n, x.name))
        case _:
            made = p.op("Mul", n, p.op("Neg", p.r.choice(p.like(x)).name))
    return Value(made, x.element, x.dims)


@step("elementwise")
def bounded(p: Program, x: Value) -> Value | None:
    """Bounds one after the other, as Clip, Max, Min and Relu say them."""
    if x.element not in FLOATS or not x.dims:
        return None
    value = x.name
    for _ in range(p.r.randint(1, 3)):
        low, high = sorted(p.r.sample([-2, -1, 0, 0, 1, 2, 6], 2))
        match p.r.randrange(4):
            case 0:
                bounds = [p.const(np.asarray(b, DTYPES[x.element])) for b in (low, high)]
                bounds[p.r.randrange(2)] = p.r.choice([*bounds, ""])
                value = p.op("Clip", value, *bounds)
            case 1:
                value = p.op("Max", value, p.number(x.element, low))
            case 2:
                value = p.op("Min", p.number(x.element, high), value)
            case _:
                value = p.op("Relu", value)
    return Value(value, x.element, x.dims)


@step("elementwise")
def power(p: Program, x: Value) -> Value | None:
    if x.element not in FLOATS:
        return None
    exponent = p.r.choice([2, 0.5, 1, 0, 3, -1, -0.5])
    return Value(p.op("Pow", x.name, p.const(np.asarray(exponent, DTYPES[x.element]))), x.element, x.dims)


@step("elementwise")
def several(p: Program, x: Value) -> Value | None:
    if x.element not in FLOATS:
        return None
    others = [p.r.choice(p.like(x)).name for _ in range(p.r.randint(0, 3))]
    return Value(p.op(p.r.choice(["Sum", "Sum", "Max", "Min", "Mean"]), x.name, *others), x.element, x.dims)


@step("elementwise")
def leaning(p: Program, x: Value) -> Value | None:
    if x.element not in FLOATS or not x.rank:
        return None
    slope = [c if not s and p.r.randrange(2) else 1 for c, s in x.dims][p.r.randrange(x.rank) :]
    return Value(p.op("PRelu", x.name, p.weight(x.element, *slope)), x.element, x.dims)


@step("elementwise")
def compared(p: Program, x: Value) -> Value | None:
    if x.element == "bool":
        return Value(p.op("Not", p.op("Not", x.name)), "bool", x.dims)
    other, dims = partner(p, x)
    result = broadcast(x.dims, dims)
    if result is None:
        return None
    made = p.op(p.r.choice(COMPARE), x.name, other)
    return Value(p.op("Not", made) if p.r.randrange(2) else made, "bool", result)


@step("elementwise")
def tested(p: Program, x: Value) -> Value | None:
    if x.element not in FLOATS:
        return None
    return Value(p.op(p.r.choice(["IsNaN", "IsInf"]), x.name), "bool", x.dims) if x.element != "bf16" else None


@step("elementwise")
def chosen(p: Program, x: Value) -> Value | None:
    conditions = [v for v in p.fitting(("bool",)) if broadcast(v.dims, x.dims) is not None]
    if conditions and p.r.randrange(4):
        condition = p.r.choice(conditions)
        name, dims = condition.name, condition.dims
    else:
        name, dims = p.const(p.r.randrange(2) == 0), ()
    other, also = partner(p, x)
    first = broadcast(dims, x.dims)
    result = None if first is None else broadcast(first, also)
    if result is None:
        return None
    operands = (x.name, other) if p.r.randrange(2) else (other, x.name)
    return Value(p.op("Where", name, *operands), x.element, result)


@step("elementwise")
def remainder(p: Program, x: Value) -> Value | None:
    if x.element not in ("i64", "i32"):
        return None
    divisor = p.number(x.element, p.r.choice([2, 3, -2]))
    kind = p.r.choice(["Mod", "Div"])
    return Value(p.op(kind, x.name, divisor), x.element, x.dims) if x.dims else None


# ---------------------------------------------------------------------- conversion


def cast(p: Program, value: str, element: str) -> str:
    return p.op("Cast", value, to=element_type(element))


def whole(p: Program, x: Value, element: str) -> str:
    """A float as an integer: NaN, infinities and what does not fit have no integer, so they go first."""
    dtype = DTYPES[x.element]
    known = p.op("Where", p.op("Equal", x.name, x.name), x.name, p.const(np.asarray(1, dtype)))
    low, high = (p.const(np.asarray(b, dtype)) for b in ((0 if element == "u8" else -5), 5))
    return cast(p, p.op("Clip", known, low, high), element)


@step("conversion")
def converted(p: Program, x: Value) -> Value | None:
    element = p.r.choice([*(NUMBERS if p.opset >= 20 else ("f32", "i64", "i32")), "bool", p.float, p.float])
    if x.element in FLOATS and element in INTEGERS:
        return Value(whole(p, x, element), element, x.dims)
    return Value(cast(p, x.name, element), element, x.dims)


@step("conversion")
def there_and_back(p: Program, x: Value) -> Value | None:
    """Through one or two other elements, wider or narrower."""
    kinds = FLOATS if x.element in FLOATS else INTEGERS if x.element in INTEGERS else ("bool", "i64", "f32", "u8")
    value = x.name
    for _ in range(p.r.randint(1, 2)):
        value = cast(p, value, p.r.choice(kinds))
    return Value(cast(p, value, x.element), x.element, x.dims)


@step("conversion")
def like_another(p: Program, x: Value) -> Value | None:
    if p.opset < 15:
        return None
    fitting = p.fitting((*FLOATS, "bool") if x.element in FLOATS else (*NUMBERS, "bool"))
    if not fitting:
        return None
    other = p.r.choice(fitting)
    return Value(p.op("CastLike", x.name, other.name), other.element, x.dims)


@step("conversion")
def quantised(p: Program, x: Value) -> Value | None:
    if x.element != "f32":
        return None
    scale, zero = p.const(np.float32(p.r.choice([0.5, 0.1]))), p.const(np.uint8(p.r.choice([0, 128])))
    small = p.op("QuantizeLinear", x.name, scale, zero)
    if p.r.randrange(3) == 0:
        return Value(small, "u8", x.dims)
    return Value(p.op("DequantizeLinear", small, scale, zero), "f32", x.dims)
