"""
The `ort` dialect: operators that ONNX Runtime's optimisers and quantisers write, and ONNX does not have.

    model.onnx --frontend--> ge and ort on tensors --decompose--> ge alone
                                    ^^^
They are read and written back as they were; no pass makes one. Each says what it means in ops of `ge` (`Composed`): so
it is checked, planned and run like any other op, and `decompose` writes it as ONNX's own operators.
Files: activation.py, normalization.py, products.py, attention.py, grouped.py, rotary.py,
quantized.py, quantized_axes.py, integers.py.
"""

from xdsl.ir import Dialect

from ..ge.core import GeOp
from . import activation, attention, grouped, integers, normalization, products, quantized, quantized_axes, rotary

FAMILIES = (activation, attention, grouped, integers, normalization, products, quantized, quantized_axes, rotary)

OPS: list[type[GeOp]] = [
    op
    for family in FAMILIES
    for op in vars(family).values()
    if isinstance(op, type) and issubclass(op, GeOp) and str(op.__dict__.get("name", "")).startswith("ort.")
]

ORT_OPS: dict[tuple[str, str], type[GeOp]] = {(op.onnx.domain, op.onnx.type): op for op in OPS}
"""(domain, operator) -> the op that stands for it."""

Ort = Dialect("ort", list(OPS))
