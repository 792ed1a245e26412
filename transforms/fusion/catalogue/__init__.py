"""
The rules that are ours, by family, in the order in which they are tried.

    attention, gated, quantized, convolution, dense      what holds a product, with what comes after it
    normalization, embedding, softmax, activation        what is recognised in its arithmetic or as an op
    elementwise                                          what is left: reductions, chains and trees

parts.py has the pieces that several families are made of.
"""

from ..rules import Rule
from . import attention, contraction, elementwise, gated, normalization, quantized

CATALOGUE: tuple[Rule, ...] = (
    *attention.RULES,
    *gated.RULES,
    *quantized.RULES,
    *contraction.RULES,
    *normalization.RULES,
    *elementwise.RULES,
)

__all__ = ["CATALOGUE"]
