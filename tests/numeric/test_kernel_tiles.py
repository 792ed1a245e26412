"""Kernel tiles at random, on any op that stands alone: no value depends on them, and no pass is broken by them."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntAttr, ModuleOp

from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.core import GeOp
from gecc.dialects.ge.interfaces import has_bytes
from gecc.dialects.ge.kernel_tile import KERNEL_TILE, KernelTileAttr, kernel_tile_of
from gecc.dialects.ge.memory import LaunchOp
from gecc.dialects.ge.text import module_text, parse_module
from gecc.dialects.ge.types import shape_of
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.tools.comparison import same_bits
from gecc.transforms.catalog import get_all_passes
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.rewriting import walk_outside

from .graphs import programs

CONTEXT = default_registry(lambda text: None).context()
ON_TENSORS = sorted(get_all_passes().keys() - {"ge-bufferize", "memory-reuse"})


def said(module: ModuleOp, seed: int) -> ModuleOp:
    """A copy in which ops walk as chance has it."""
    copy, random = module.clone(), Random(seed)
    for op in walk_outside(copy, GeOp):
        ranks = [len(shape_of(r.type)) for r in op.results if has_bytes(r)]
        if isinstance(op, ConstantOp) or len(ranks) < len(op.results) or not min(ranks, default=0):
            continue
        axis, size = random.randrange(min(ranks)), random.randrange(1, 5)
        op.attributes[KERNEL_TILE] = KernelTileAttr(IntAttr(axis), IntAttr(size))
    copy.verify()
    return copy


@settings(deadline=None, max_examples=50)
@given(programs(), st.integers(0, 1 << 16))
def test_no_value_depends_on_how_kernels_walk(module: ModuleOp, seed: int):
    inputs = make_inputs(module)
    want, walking = run(module, inputs), said(module, seed)
    for one in (None, GeBufferize(), MemoryReuse()):
        if one is not None:
            one.apply(CONTEXT, walking)
            walking = parse_module(CONTEXT, module_text(walking), "test.mlir")
            walking.verify()
        got = run(walking, inputs)
        assert all(same_bits(got[name], array) for name, array in want.items())
    ours = [op for op in walking.walk() if kernel_tile_of(op)]
    assert all(isinstance(op, LaunchOp) for op in ours)


@settings(deadline=None, max_examples=50)
@given(programs(), st.integers(0, 1 << 16))
def test_passes_keep_or_drop_them(module: ModuleOp, seed: int):
    walking = said(module, seed)
    for name in ON_TENSORS:
        get_all_passes()[name]()().apply(CONTEXT, walking)
        walking.verify()
