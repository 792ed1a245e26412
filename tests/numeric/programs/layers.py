"""Steps of networks: reductions, products, convolutions, pools, normalisations, recurrent layers."""

import numpy as np

from .program import DTYPES, ONE, Program, Value, step

REDUCTIONS = ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"]
REDUCTIONS += ["ReduceSumSquare", "ReduceLogSumExp", "ReduceMean", "ReduceSum"]


def reduce(p: Program, kind: str, x: str, axes: list[int] | None, keep: int) -> str:
    """A reduction as the opset writes it."""
    as_input = kind == "ReduceSum" or p.opset >= 18
    if axes is None:
        return p.op(kind, x, keepdims=keep)
    if as_input:
        return p.op(kind, x, p.ints(*axes), keepdims=keep)
    return p.op(kind, x, axes=axes, keepdims=keep)


@step("reduction")
def reduced(p: Program, x: Value) -> Value | None:
    if x.element not in ("f32", "f16", "bf16", "i64", "i32") or not x.rank:
        return None
    kinds = REDUCTIONS if x.element == "f32" else ["ReduceSum", "ReduceMax", "ReduceMin"]
    kind = p.r.choice(kinds)
    if x.element == "bf16" and kind != "ReduceSum":
        return None
    keep = p.r.randrange(2)
    # Nothing has no largest element.
    axes = [k for k in range(x.rank) if kind in ("ReduceSum",) or (not x.dims[k][1] and x.dims[k][0])]
    if not axes:
        return None
    axes = p.r.sample(axes, p.r.randint(1, len(axes)))
    every = len(axes) == x.rank and p.r.randrange(2)
    made = reduce(p, kind, x.name, None if every else [p.spelled(x, k) for k in axes], keep)
    return Value(made, x.element, tuple(ONE if k in axes else d for k, d in enumerate(x.dims) if keep or k not in axes))


@step("reduction")
def not_reduced(p: Program, x: Value) -> Value | None:
    """A reduction of an axis of one element, or of none."""
    if x.element != "f32" or not x.rank:
        return None
    if p.r.randrange(2):
        return Value(p.op("ReduceSum", x.name, p.const([], np.int64), noop_with_empty_axes=1), "f32", x.dims)
    ones = [k for k, d in enumerate(x.dims) if d == ONE]
    if not ones:
        return None
    k, keep = p.r.choice(ones), p.r.randrange(2)
    made = reduce(p, p.r.choice(REDUCTIONS), x.name, [k], keep)
    return Value(made, "f32", x.dims if keep else (*x.dims[:k], *x.dims[k + 1 :]))


@step("reduction")
def spread(p: Program, x: Value) -> Value | None:
    """What a reduction makes, repeated to the size it had; or reduced of what was repeated."""
    if x.element != "f32" or not x.rank or (axis := p.axis(x, "fixed")) is None or not x.dims[axis][0]:
        return None
    if p.r.randrange(2):
        mean = reduce(p, p.r.choice(["ReduceMean", "ReduceMax"]), x.name, [axis], 1)
        return Value(p.op(p.r.choice(["Sub", "Add"]), x.name, mean), "f32", x.dims)
    if x.dims[axis] != ONE:
        return None
    shape = p.ints(*(4 if k == axis else 1 for k in range(x.rank)))
    wide = p.op(p.r.choice(["Expand", "Tile"]), x.name, shape)
    keep = p.r.randrange(2)
    made = reduce(p, p.r.choice(["ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin"]), wide, [axis], keep)
    return Value(made, "f32", x.dims if keep else (*x.dims[:axis], *x.dims[axis + 1 :]))


# ---------------------------------------------------------------------- products


def float_rows(x: Value, least: int = 2) -> bool:
    return x.element in ("f32", "f16") and x.rank >= least and bool(x.fixed(x.rank - 1))


@step("products")
@step("products")
def product(p: Program, x: Value) -> Value | None:
    if not float_rows(x):
        return None
    size, width = x.dims[-1][0], p.r.choice([3, 4, 6])
    made, dims = p.op("MatMul", x.name, p.weight(x.element, size, width)), (*x.dims[:-1], (width, ()))
    for _ in range(p.r.randint(0, 2)):
        kind = p.r.choice(["Add", "Mul", "Div"] if p.r.randrange(2) else ["Add"])
        beside = p.number(x.element, 2) if kind != "Add" else p.weight(x.element, width)
        made = p.op(kind, *(made, beside) if kind == "Div" or p.r.randrange(2) else (beside, made))
    return Value(made, x.element, dims)


@step("products")
def scaled_product(p: Program, x: Value) -> Value | None:
    """A factor on either side of a product."""
    if not float_rows(x):
        return None
    before = p.op(p.r.choice(["Mul", "Div"]), x.name, p.number(x.element, p.r.choice([2, 0.5, 4])))
    width = p.r.choice([3, 4])
    made = p.op("MatMul", before, p.weight(x.element, x.dims[-1][0], width))
    return Value(made, x.element, (*x.dims[:-1], (width, ())))


@step("products")
def product_of_two(p: Program, x: Value) -> Value | None:
    if x.element != "f32" or x.rank < 2 or x.rank > 4:
        return None
    turned = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    other = p.op("Transpose", p.r.choice(p.like(x)).name, perm=turned)
    return Value(p.op("MatMul", x.name, other), "f32", (*x.dims[:-1], x.dims[-2]))


@step("products")
def gemm(p: Program, x: Value) -> Value | None:
    if not float_rows(x) or x.rank != 2:
        return None
    turned = p.r.randrange(2) if x.fixed(0) else 0
    size, rows = (x.dims[0][0], x.dims[1]) if turned else (x.dims[1][0], x.dims[0])
    other = p.r.randrange(2)
    weight = p.weight(x.element, *((3, size) if other else (size, 3)))
    bias = p.r.choice([[], [p.weight(x.element, 3)], [p.weight(x.element, 1)], [p.number(x.element, 2)]])
    options = {"alpha": p.r.choice([1.0, 0.5]), "beta": p.r.choice([1.0, 2.0])}
    made = p.op("Gemm", x.name, weight, *bias, transA=turned, transB=other, **options)
    return Value(made, x.element, (rows, (3, ())))


@step("products")
def einsum(p: Program, x: Value) -> Value | None:
    if x.element != "f32" or not float_rows(x) or x.rank not in (2, 3):
        return None
    size = x.dims[-1][0]
    if x.rank == 2:
        made = p.op("Einsum", x.name, p.weight("f32", size, 3), equation=p.r.choice(["ij,jk->ik", "ij, jk -> ki"]))
        turned = made and p.nodes[-1].attribute[0].s.endswith(b"ki")
        return Value(made, "f32", ((3, ()), x.dims[0]) if turned else (x.dims[0], (3, ())))
    made = p.op("Einsum", x.name, p.weight("f32", size, 3), equation="bij,jk->bik")
    return Value(made, "f32", (*x.dims[:2], (3, ())))


# ---------------------------------------------------------------------- windows


def image(p: Program, x: Value, least: int = 1) -> Value | None:
    """An image of `x`'s own, or one of another value."""
    fitting = [
        v
        for v in [x, *p.values]
        if v.element == "f32" and v.rank == 4 and all((v.fixed(k) or 0) >= least for k in (1, 2, 3))
    ]
    return fitting[0] if fitting else None


@step("windows")
@step("windows")
@step("windows")
def convolution(p: Program, x: Value) -> Value | None:
    """A convolution with what often stands before and after it."""
    x = image(p, x, 2) or x
    if x.rank != 4 or image(p, x, 2) is not x:
        return None
    n, (c, _), (h, _), (w, _) = x.dims
    source = x.name
    if p.r.randrange(4) == 0:
        grown = [p.r.randint(0, 1) for _ in range(4)]
        source = p.op(
            "Pad", source, p.ints(0, 0, *grown[:2], 0, 0, *grown[2:]), *p.r.choice([[], [p.number_0d("f32", 0)]])
        )
        h, w = h + grown[0] + grown[2], w + grown[1] + grown[3]
    groups = p.r.choice([1, 1, c, 2 if c % 2 == 0 else 1])
    out = groups * p.r.choice([1, 2]) if groups > 1 else p.r.choice([3, 4])
    k, stride = p.r.choice([1, 1, 2]), p.r.choice([1, 1, 2])
    pads = [p.r.randint(0, 1) for _ in range(4)] if k > 1 else [0] * 4
    bias = [p.weight("f32", out)] if p.r.randrange(2) else []
    options = {"group": groups, "strides": [stride] * 2, "pads": pads}
    if k == 2 and not any(pads) and p.r.randrange(3) == 0:
        options = {"group": groups, "auto_pad": "VALID", "strides": [stride] * 2}
    made = p.op("Conv", source, p.weight("f32", out, c // groups, k, k), *bias, **options)
    size = [(h + pads[0] + pads[2] - k) // stride + 1, (w + pads[1] + pads[3] - k) // stride + 1]
    dims = (n, (out, ()), (size[0], ()), (size[1], ()))
    return after(p, Value(made, "f32", dims))


def after(p: Program, x: Value) -> Value:
    """Batch normalisation, or factors and terms by channel, as exporters leave them."""
    made, out = x.name, x.dims[1][0]
    for _ in range(p.r.randint(0, 2)):
        match p.r.randrange(4):
            case 0:
                made = batch_normalised(p, made, out)
            case 1:
                made = p.op(p.r.choice(["Mul", "Add", "Sub", "Div"]), made, p.const(nonzero(p, out, 1, 1)))
            case 2:
                row = p.op("Unsqueeze", p.const(nonzero(p, out)), p.ints(1, 2))
                made = p.op(p.r.choice(["Mul", "Add"]), row, made)
            case _:
                made = p.op("Relu", made)
    return Value(made, x.element, x.dims)


def nonzero(p: Program, *shape: int):
    return (p.r.choice([1, 2, -3]) + np.arange(int(np.prod(shape)), dtype=np.float32) / 2 + 4).reshape(shape)


def batch_normalised(p: Program, x: str, channels: int) -> str:
    scale, bias, mean = (p.weight("f32", channels) for _ in range(3))
    return p.op("BatchNormalization", x, scale, bias, mean, p.const(np.linspace(0.5, 2, channels, dtype=np.float32)))


@step("windows")
def transposed_convolution(p: Program, x: Value) -> Value | None:
    if x.element != "f32" or x.rank != 4 or image(p, x) is not x:
        return None
    n, (c, _), (h, _), (w, _) = x.dims
    made = p.op("ConvTranspose", x.name, p.weight("f32", c, 3, 2, 2), strides=[2, 2])
    return after(p, Value(made, "f32", (n, (3, ()), (2 * h, ()), (2 * w, ()))))


@step("windows")
def pool(p: Program, x: Value) -> Value | None:
    if x.element != "f32" or x.rank != 4 or image(p, x, 2) is not x:
        return None
    n, c, (h, _), (w, _) = x.dims
    if p.r.randrange(3) == 0:
        return Value(p.op(p.r.choice(["GlobalAveragePool", "GlobalMaxPool"]), x.name), "f32", (n, c, ONE, ONE))
    source, pads, kind = x.name, [p.r.randint(0, 1) for _ in range(4)], p.r.choice(["MaxPool", "AveragePool"])
    if p.r.randrange(3) == 0:
        filling = [p.number_0d("f32", -np.inf if kind == "MaxPool" else 0)] if p.r.randrange(2) else []
        grown = [p.r.randint(0, 1) for _ in range(4)]
        source = p.op("Pad", source, p.ints(0, 0, *grown[:2], 0, 0, *grown[2:]), *filling)
        h, w = h + grown[0] + grown[2], w + grown[1] + grown[3]
    options = {"count_include_pad": p.r.randrange(2)} if kind == "AveragePool" else {}
    stride = p.r.choice([1, 2])
    made = p.op(kind, source, kernel_shape=[2, 2], strides=[stride] * 2, pads=pads, **options)
    size = [(h + pads[0] + pads[2] - 2) // stride + 1, (w + pads[1] + pads[3] - 2) // stride + 1]
    return Value(made, "f32", (n, c, (size[0], ()), (size[1], ())))


# ---------------------------------------------------------------------- normalisation


@step("normalisation")
def softmax(p: Program, x: Value) -> Value | None:
    if x.element not in ("f32", "f16") or not x.rank:
        return None
    kind = p.r.choice(["Softmax", "Softmax", "LogSoftmax", "Hardmax"])
    return (
        Value(p.op(kind, x.name, axis=p.spelled(x, p.r.randrange(x.rank))), x.element, x.dims)
        if all(c for c, _ in x.dims)
        else None
    )


@step("normalisation")
def normalised(p: Program, x: Value) -> Value | None:
    if x.element != "f32" or x.rank < 2 or not x.fixed(x.rank - 1) or not all(c for c, _ in x.dims):
        return None
    last = x.dims[-1][0]
    kinds = ["Layer"] * (p.opset >= 17) + ["RMS"] * (p.opset >= 23) + ["Lp"]
    channels = x.fixed(1)
    if x.rank >= 3 and channels:
        kinds += ["Batch", "Instance"] + ["Group"] * (p.opset >= 21 and channels % 2 == 0)
    match p.r.choice(kinds):
        case "Layer":
            bias = [p.weight("f32", last)] if p.r.randrange(2) else []
            made = p.op("LayerNormalization", x.name, p.weight("f32", last), *bias, axis=-1)
        case "RMS":
            made = p.op("RMSNormalization", x.name, p.weight("f32", last), axis=-1)
        case "Lp":
            made = p.op("LpNormalization", x.name, axis=-1, p=p.r.choice([1, 2]))
        case "Batch":
            made = batch_normalised(p, x.name, channels or 0)
        case "Instance":
            made = p.op("InstanceNormalization", x.name, *(p.weight("f32", channels or 0) for _ in range(2)))
        case _:
            weights = [p.weight("f32", channels or 0) for _ in range(2)]
            made = p.op("GroupNormalization", x.name, *weights, num_groups=2)
    return Value(made, "f32", x.dims)


@step("normalisation")
def dropout(p: Program, x: Value) -> Value | None:
    if x.element not in ("f32", "f16"):
        return None
    if p.r.randrange(3) == 0:
        return Value(p.op("Dropout", x.name), x.element, x.dims)
    training = [p.const(False)] if p.r.randrange(2) else []
    return Value(p.op("Dropout", x.name, p.number_0d("f32", 0.5), *training), x.element, x.dims)


@step("normalisation")
def recurrent(p: Program, x: Value) -> list[Value] | None:
    if x.element != "f32" or x.rank != 3 or x.shape is None or not all(x.shape):
        return None
    kind, hidden = p.r.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)]), 3
    name, gates = kind
    random = np.random.default_rng(p.r.randrange(100))
    w, r = (p.const(random.uniform(-1, 1, (1, gates * hidden, k)).astype(np.float32)) for k in (x.shape[2], hidden))
    operands = [x.name, w, r, p.weight("f32", 1, 2 * gates * hidden) if p.r.randrange(2) else ""]
    if p.r.randrange(2):
        state = p.const(np.full((1, x.shape[1], hidden), p.r.choice([0, 0, 1]), np.float32))
        operands += ["", state, *([state] if name == "LSTM" else [])]
    outputs = p.node(name, operands, 2, hidden_size=hidden)
    dims = (x.dims[0], ONE, x.dims[1], (hidden, ()))
    return [Value(outputs[0], "f32", dims), Value(outputs[1], "f32", dims[1:])]


@step("normalisation")
def integer_product(p: Program, x: Value) -> Value | None:
    if x.element != "u8" or x.rank < 2 or not x.fixed(x.rank - 1):
        return None
    other = p.const(np.random.default_rng(1).integers(-3, 4, (x.dims[-1][0], 3)).astype(np.int8))
    zero = [p.const(DTYPES["u8"](2))] if p.r.randrange(2) else []
    return Value(p.op("MatMulInteger", x.name, other, *zero), "i32", (*x.dims[:-1], (3, ())))
