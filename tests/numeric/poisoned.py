"""A module on tensors and the same on buffers, in an arena that forgets: are the outputs the same, bit for bit?"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gecc.dialects.ge.memory import LaunchOp, SlotOp
from gecc.dialects.ge.types import nbytes
from gecc.driver.poison import PoisonedArena
from gecc.driver.registry import default_registry
from gecc.planning import Buffer, find_violation
from gecc.reference import Arena, run
from gecc.reference.arena import lies_over
from gecc.tools.comparison import same_bits
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

CONTEXT = default_registry(lambda text: None).context()
BALANCED = (GeBufferize(), MemoryReuse())


class NothingInPlace(Arena):
    """Says so where a result lies over an operand, also in a branch, and over what a loop carries."""

    def launch(self, op: LaunchOp, ins: Sequence[Any], outs: Sequence[Any], compute: Any) -> None:
        assert not any(x.size and lies_over(out, x) for out in outs for x in ins), f"in place:\n{op}"
        super().launch(op, ins, outs, compute)


def check_in_one_arena(
    module: ModuleOp, inputs: Sequence[Mapping[str, Any]], passes: Sequence[ModulePass] = BALANCED
) -> ModuleOp:
    """
    The module on buffers, once it has run on each of the inputs in an arena where no byte outlives its slot, and again
    in one arena that keeps what the run before left there; the plan stands before the referee.
    """
    expected = [run(module, each) for each in inputs]
    kept = copy.deepcopy(inputs)
    bufferized = module.clone()
    for one in passes:
        one.apply(CONTEXT, bufferized)
    bufferized.verify()
    check_plan(bufferized)
    for arena in (PoisonedArena(bufferized), Arena()):
        for each, wanted in zip(inputs, expected, strict=True):
            assert_same(run(bufferized, each, arena=arena), wanted)
    for each, before in zip(inputs, kept, strict=True):
        assert_same(each, before)
    return bufferized


def check_plan(module: ModuleOp) -> None:
    slots = [op for op in module.walk() if isinstance(op, SlotOp)]
    buffers = [Buffer(*op.life, nbytes(op.buffer.type)) for op in slots]
    capacity = nbytes(slots[0].arena.type) if slots else 0
    assert find_violation(buffers, [op.offset.value.data for op in slots], capacity, 32) is None


def assert_same(got: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Bit for bit, in any order: results in buffers come before those that have none."""
    assert got.keys() == wanted.keys()
    assert [name for name in wanted if not same_bits(got[name], wanted[name])] == []


def on_buffers(module: ModuleOp) -> str:
    """memrefs: all of it is on buffers; host: none of it; cut: some."""
    names = {op.name for op in module.walk()}
    if "ge.host" not in names:
        return "memrefs"
    return "cut" if "ge.launch" in names else "host"
