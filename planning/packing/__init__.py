"""
Packing buffers into an arena: integers in, integers out.

    sections.py    the problem boiled down        greedy.py         orders, best gap
    search.py      greedy, then the exact search  ge_allocators.py  what GE does, to compare with
    kernel.py      the search's inner loop        native.py         compiles it where llvmlite is installed
"""

from .search import Packing, pack

__all__ = ["Packing", "pack"]
