"""
Recurrent networks: one step after the other along a sequence.

Weights of one direction stand together: W [directions, gates * hidden, inputs], R [directions, gates * hidden, hidden],
B [directions, 2 * gates * hidden]. Data is [steps, batch, inputs], with layout 1 [batch, steps, inputs].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .core import PureOp, ge_op, shared_attributes
from .declare import (
    OnnxName,
    Tensor,
    integer,
    operand,
    opt_integer,
    opt_operand,
    opt_real,
    opt_reals,
    opt_result,
    opt_texts,
    text,
)
from .dims import Dim
from .errors import fail
from .info import Info, same_dim, same_element
from .interfaces import Box, Tiles, Work, whole
from .types import shape_of

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@shared_attributes
class Recurrent(PureOp, Tiles, Work):
    """
    Shared by networks of one state, `y`, or two.

    C1  direction is forward, reverse or bidirectional; layout is 0 or 1
    C2  x, w and r have rank 3
    C3  w is [directions, gates * hidden, inputs], r is [directions, gates * hidden, hidden]; hidden_size, where it is
        given, is hidden
    C4  b is [directions, 2 * gates * hidden]
    C5  sequence_lens has one number of i32 for each sequence of the batch
    C6  initial states are [directions, batch, hidden], with layout 1 [batch, directions, hidden]
    C7  all but sequence_lens have one element type
    """

    if TYPE_CHECKING:
        x: Tensor
        r: Tensor

    GATES: ClassVar[int]
    activations = opt_texts()
    activation_alpha = opt_reals()
    activation_beta = opt_reals()
    clip = opt_real()
    direction = text("forward")
    hidden_size = opt_integer()
    layout = integer(0)

    def states(self, names: dict[str, Info | None]) -> list[Info]:
        """All steps, then the last one of each state. Checks C1 to C7 on operands by the names of their slots."""
        if self.direction not in DIRECTIONS or self.layout not in (0, 1):
            what = f'direction "{self.direction}" and layout {self.layout}'
            fail(self, f"direction must be one of {', '.join(DIRECTIONS)} and layout 0 or 1, got {what} (C1)")
        ways = DIRECTIONS[self.direction]
        x, w, r = (self._ranked(names, name, 3, "C2") for name in ("x", "w", "r"))
        hidden = r.dims[2]
        if isinstance(w.dims[1], int) and not isinstance(hidden, int):
            hidden = w.dims[1] // self.GATES
        wanted = f"[{ways}, {self.GATES} * hidden, ...]"
        for info in (w, r):
            if not same_dim(info.dims[0], ways) or not same_dim(info.dims[1], hidden * self.GATES):
                fail(self, f"w and r must be {wanted}, got {w.type} and {r.type} (C3)")
        if not same_dim(w.dims[2], x.dims[2]):
            fail(self, f"w must have the {x.dims[2]} inputs of x, got {w.type} (C3)")
        if self.hidden_size is not None and not same_dim(hidden, self.hidden_size):
            fail(self, f"hidden_size must be {hidden}, got {self.hidden_size} (C3)")
        steps, batch = x.dims[:2] if self.layout == 0 else (x.dims[1], x.dims[0])
        self._fits(names, "b", (ways, hidden * (2 * self.GATES)), "C4")
        self._fits(names, "sequence_lens", (batch,), "C5")
        lens = names["sequence_lens"]
        if lens is not None and lens.element != i32:
            fail(self, f"sequence_lens must be of i32, got {lens.type} (C5)")
        state: tuple[Dim, ...] = (ways, batch, hidden) if self.layout == 0 else (batch, ways, hidden)
        for name in ("initial_h", "initial_c"):
            self._fits(names, name, state, "C6")
        element = same_element(self, "C7", *(info for name, info in names.items() if name != "sequence_lens"))
        whole = (steps, ways, batch, hidden) if self.layout == 0 else (batch, steps, ways, hidden)
        return [Info(element, whole), Info(element, state)]

    def chosen(self, infos: list[Info]) -> list[Info]:
        """Those of the results that are there."""
        return [info for info, value in zip(infos, self.results_by_slot(), strict=False) if value is not None]

    def _ranked(self, names: dict[str, Info | None], name: str, rank: int, code: str) -> Info:
        info = names[name]
        assert info is not None
        if info.rank != rank:
            fail(self, f"{name} must have rank {rank}, got {info.type} ({code})")
        return info

    def _fits(self, names: dict[str, Info | None], name: str, dims: tuple[Dim, ...], code: str) -> None:
        info = names.get(name)
        if info is None:
            return
        if info.rank != len(dims) or not all(map(same_dim, info.dims, dims)):
            fail(self, f"{name} must be [{', '.join(map(str, dims))}], got {info.type} ({code})")

    def named(self, operands: tuple[Any, ...]) -> dict[str, Info | None]:
        return {slot.name: info for slot, info in zip(self.slots, operands, strict=True)}

    def _batch_of(self, value: SSAValue) -> int:
        """The axis of sequences of a result, or of an initial state."""
        return 0 if self.layout else len(shape_of(value.type)) - 2

    def loops(self) -> tuple[str, ...]:
        # Results are cut along one axis, which is not that of sequences in each where all steps and the last are there.
        axes = {self._batch_of(r) for r in self.results}
        rank = len(shape_of(self.results[0].type))
        return tuple("parallel" if axes == {k} else "whole" for k in range(rank)) + ("reduction",)

    def operand_tiles(self, tile: Box) -> list[Box]:
        sequences = tile[self._batch_of(self.results[0])]
        axes = {"x": 1 - self.layout, "sequence_lens": 0}
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            axis = self._batch_of(value) if slot.name.startswith("initial") else axes.get(slot.name)
            boxes.append(tuple(sequences if k == axis else d for k, d in enumerate(whole(value))))
        return boxes

    def flops(self) -> int:
        steps_batch = math.prod(shape_of(self.x.type)[:2])
        ways, gates, hidden = shape_of(self.r.type)
        return 2 * steps_batch * ways * gates * (shape_of(self.x.type)[2] + hidden)


@ge_op
class LSTMOp(Recurrent):
    """
    i, o, f, c = the four gates of x_t * W + h * R + B (peepholes P look at the cell);
    cell = f * cell + i * c, h = o * activation(cell), step by step.

    C1 to C7  as for every recurrent op, with 4 gates and two states, h and c
    C8  p is [directions, 3 * hidden]

        %y, %h, %c = ge.lstm %x, %w, %r, %b hidden_size 64 : tensor<?x1x32xf32>, tensor<1x256x32xf32>,
                     tensor<1x256x64xf32>, tensor<1x512xf32>
                     -> tensor<?x1x1x64xf32>, tensor<1x1x64xf32>, tensor<1x1x64xf32>

    Source: ONNX LSTM-22.
    """

    name = "ge.lstm"
    onnx = OnnxName("LSTM", since=7)
    GATES: ClassVar[int] = 4
    input_forget = integer(0)
    x = operand()
    w = operand()
    r = operand()
    b = opt_operand()
    sequence_lens = opt_operand()
    initial_h = opt_operand()
    initial_c = opt_operand()
    p = opt_operand()
    y = opt_result()
    y_h = opt_result()
    y_c = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        names = self.named(operands)
        whole, state = self.states(names)
        self._fits(names, "p", (DIRECTIONS[self.direction], state.dims[2] * 3), "C8")
        return self.chosen([whole, state, state])


@ge_op
class GRUOp(Recurrent):
    """
    z, r, h' = the gates of x_t * W + h * R + B, r before the product with R or (linear_before_reset) after it;
    h = (1 - z) * h' + z * h, step by step.

    C1 to C7  as for every recurrent op, with 3 gates and one state

        %y, %h = ge.gru %x, %w, %r hidden_size 64 : tensor<?x1x32xf32>, tensor<1x192x32xf32>, tensor<1x192x64xf32>
                 -> tensor<?x1x1x64xf32>, tensor<1x1x64xf32>

    Source: ONNX GRU-22.
    """

    name = "ge.gru"
    onnx = OnnxName("GRU", since=7)
    GATES: ClassVar[int] = 3
    linear_before_reset = integer(0)
    x = operand()
    w = operand()
    r = operand()
    b = opt_operand()
    sequence_lens = opt_operand()
    initial_h = opt_operand()
    y = opt_result()
    y_h = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        return self.chosen(self.states(self.named(operands)))


@ge_op
class RNNOp(Recurrent):
    """
    h = activation(x_t * W + h * R + B), step by step.

    C1 to C7  as for every recurrent op, with 1 gate and one state

        %y, %h = ge.rnn %x, %w, %r hidden_size 64 : tensor<?x1x32xf32>, tensor<1x64x32xf32>, tensor<1x64x64xf32>
                 -> tensor<?x1x1x64xf32>, tensor<1x1x64xf32>

    Source: ONNX RNN-22.
    """

    name = "ge.rnn"
    onnx = OnnxName("RNN", since=7)
    GATES: ClassVar[int] = 1
    x = operand()
    w = operand()
    r = operand()
    b = opt_operand()
    sequence_lens = opt_operand()
    initial_h = opt_operand()
    y = opt_result()
    y_h = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        return self.chosen(self.states(self.named(operands)))
