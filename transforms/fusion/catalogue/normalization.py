"""
Normalisations, softmax and activations, as ops or in their arithmetic, with what comes before and after them.

    layer normalisation   [Gather + ...] [Add ...] LayerNormalization or its means and differences; BERT's embeddings
    channels, groups      the same over other axes; InstanceNormalization and GroupNormalization with views around them
    root mean square      [Add ...] RMSNormalization or its squares, mean and root
    softmax               [scale, mask] Softmax along the last axis
    activations           Gelu, FastGelu, QuickGelu, SiLU, HardSwish, Mish where they are written as several ops
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ....dialects.ge.arithmetic import AddOp
from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.gather import GatherOp
from ....dialects.ge.interfaces import Movement, View
from ....dialects.ge.movement import TransposeOp
from ....dialects.ge.normalization import GroupNormalizationOp, InstanceNormalizationOp
from ....dialects.ge.types import shape_of
from ...operands import has_integers
from ..matcher import Step
from ..pattern import Pattern, op, value
from ..rules import Rule
from .contraction import same_elements, same_shape
from .parts import PARTS, channel_normalization, label, layer_normalization, parts_of, rms_normalization, softmax

_ADDS = Step("an addition", lambda one: isinstance(one, AddOp))
_LOOKS_UP = Step("a lookup", lambda one: isinstance(one, GatherOp))


def adds(one: Operation, root: Operation) -> bool:
    """Element by element, in the shape of what is normalised."""
    return same_shape(one, root)


def adds_embeddings(one: Operation, root: Operation) -> bool:
    """
    What has the shape of what is normalised, transposes of it; lookups in tables, of places too, which broadcast to it;
    how these come to their indices.
    """
    shape, wanted = shape_of(one.results[0].type), shape_of(root.results[0].type)
    if isinstance(one, Movement | View) and has_integers(one.results[0]):
        return len(shape) > 1
    if isinstance(one, TransposeOp):
        return True
    if isinstance(one, GatherOp):
        smaller = len(shape) == len(wanted) and all(d in (1, w) for d, w in zip(shape, wanted, strict=True))
        return smaller and len(shape_of(one.data.type)) == 2
    return same_shape(one, root)


def masks(one: Operation, root: Operation) -> bool:
    return isinstance(one, Pointwise) and same_shape(one, root)


def grouped() -> Pattern:
    return op((InstanceNormalizationOp, GroupNormalizationOp), value())


def moves_to(one: Operation, root: Operation) -> bool:
    return isinstance(one, View | TransposeOp) or same_shape(one, root)


def named(ops: Sequence[Operation]) -> str:
    """`label`, with lookups and their sums as one word."""
    if not any(isinstance(one, GatherOp) for one in ops):
        return label(ops)
    names = [name for name, part in parts_of(ops) if not isinstance(part[0], AddOp | GatherOp | Movement)]
    return f"Embedding{''.join(names)}"


_ACTIVATIONS = tuple(of(value()) for name, of in PARTS if "Normalization" not in name and name != "Softmax")

RULES = (
    Rule("layer normalisation", (layer_normalization(value()),), named, after=same_elements, before=adds_embeddings),
    Rule(
        "channel normalisation",
        (channel_normalization(value()),),
        label,
        after=same_elements,
        before=moves_to,
        plain=True,
    ),
    Rule("group normalisation", (grouped(),), label, after=same_elements, before=moves_to),
    Rule(
        "root mean square normalisation",
        (rms_normalization(value()),),
        named,
        after=same_elements,
        before=adds_embeddings,
    ),
    Rule("embeddings", ((_LOOKS_UP, _ADDS),), "EmbeddingSum"),
    Rule("softmax", (softmax(value()),), label, after=same_shape, before=masks),
    Rule("activation", _ACTIVATIONS, label, after=same_shape, before=adds),
)
