"""
Packing buffers into an arena: integers in, integers out.

    sections.py    the problem boiled down         greedy.py   orders, best gap
    search.py      greedy, then the exact search   state.py    what the search works on
    kernel.py      its inner loop                  native.py   compiles that where llvmlite is installed
    ge_allocators.py   what GE does, to compare with
"""

from .ge_allocators import GE_ALIGNMENT, GE_ALLOCATORS
from .greedy import pack_in_order
from .search import Packing, pack

__all__ = ["GE_ALIGNMENT", "GE_ALLOCATORS", "Packing", "pack", "pack_in_order"]
