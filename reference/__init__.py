"""
The meaning of every op: the oracle that passes and backends are held against.

    evaluate(op, operands)       one op
    evaluate_exactly             the same with sums that are exact in any order: near what `evaluate` gives
    run(module, inputs)          a module, at any stage: on tensors, fused, or on buffers in an Arena

An op is evaluated as the ONNX node that it stands for, by the onnx package's own evaluator. meanings.py holds ours for
ops that are too slow there, or wrong (each says which, and where ONNX's text stands).
"""

from .arena import Arena
from .evaluator import evaluate
from .exact import evaluate_exactly
from .interpreter import make_inputs, run

__all__ = ["Arena", "evaluate", "evaluate_exactly", "make_inputs", "run"]
