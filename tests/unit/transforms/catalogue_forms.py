"""Forms in which exporters write activations and layer normalisation, in ops of ONNX."""

from collections.abc import Callable

from xdsl.ir import SSAValue

from .fusion_builder import Builder


def erf_of(b: Builder, x: SSAValue, c: float = 2**0.5) -> SSAValue:
    return b.Add(b.Erf(b.Div(x, c)), 1.0)


ACTIVATIONS: dict[str, tuple[str, Callable[[Builder, SSAValue], SSAValue]]] = {
    "legacy": ("Gelu", lambda b, x: b.Mul(b.Mul(x, erf_of(b, x)), 0.5)),
    "dynamo": ("Gelu", lambda b, x: b.Mul(b.Mul(0.5, x), b.Add(1.0, b.Erf(b.Mul(x, 2**-0.5))))),
    "halves first": ("Gelu", lambda b, x: b.Mul(x, b.Mul(erf_of(b, x), 0.5))),
    "halves inside": ("Gelu", lambda b, x: b.Mul(x, b.Add(b.Mul(b.Erf(b.Div(x, 2**0.5)), 0.5), 0.5))),
    "tanh": (
        "FastGelu",
        lambda b, x: b.Mul(
            b.Mul(x, 0.5),
            b.Add(b.Tanh(b.Mul(b.Add(x, b.Mul(b.Pow(x, 3.0), 0.044715)), 0.7978845608)), 1.0),
        ),
    ),
    "tanh of products": (
        "FastGelu",
        lambda b, x: b.Mul(
            0.5,
            b.Mul(x, b.Add(1.0, b.Tanh(b.Mul(b.Mul(0.7978845608, x), b.Add(1.0, b.Mul(0.044715, b.Mul(x, x))))))),
        ),
    ),
    "quick": ("QuickGelu", lambda b, x: b.Mul(x, b.Sigmoid(b.Mul(x, 1.702)))),
    "silu": ("Silu", lambda b, x: b.Mul(b.Sigmoid(x), x)),
    "silu by exp": ("Silu", lambda b, x: b.Div(x, b.Add(b.Exp(b.Neg(x)), 1.0))),
    "hard swish": ("HardSwish", lambda b, x: b.Mul(b.HardSigmoid(x, alpha=1 / 6), x)),
    "hard swish by clip": ("HardSwish", lambda b, x: b.Div(b.Mul(x, b.Clip(b.Add(x, 3.0), 0.0, 6.0)), 6.0)),
    "hard sigmoid": ("HardSigmoid", lambda b, x: b.Div(b.Clip(b.Add(x, 3.0), 0.0, 6.0), 6.0)),
    "mish": ("Mish", lambda b, x: b.Mul(x, b.Tanh(b.Softplus(x)))),
    "mish by log": ("Mish", lambda b, x: b.Mul(x, b.Tanh(b.Log(b.Add(b.Exp(x), 1.0))))),
}


def layer_norm(b: Builder, x: SSAValue, axis: int = -1, *, twice: bool = False, power: bool = True) -> SSAValue:
    mean = b.ReduceMean(x, [axis])
    less = b.Sub(x, mean)
    other = b.Sub(x, mean) if twice else less
    square = b.Pow(other, 2.0) if power else b.Mul(other, other)
    return b.Div(less, b.Sqrt(b.Add(b.ReduceMean(square, [axis]), 1e-3)))


def folded_layer_norm(b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue) -> SSAValue:
    """As TensorFlow has it."""
    mean = b.ReduceMean(x, [-1])
    less = b.Sub(x, mean)
    factor = b.Mul(b.Reciprocal(b.Sqrt(b.Add(b.ReduceMean(b.Mul(less, less), [-1]), 1e-3))), scale)
    return b.Add(b.Mul(x, factor), b.Sub(bias, b.Mul(mean, factor)))
