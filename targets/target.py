"""What a planner may know of a chip."""

from dataclasses import dataclass
from typing import Literal

MIB = 1 << 20


@dataclass(frozen=True)
class Target:
    """
    One chip, or one imagined machine. `None` is a figure that no source gives: nothing is modelled from it.

    name                 lower case, as `get` knows it
    aliases              the names that people write ("Ascend910B1"); case, `-` and `_` never matter
    l2_bytes             the last cache before memory, bytes
    memory_bytes_per_s   read bandwidth of memory (HBM, DDR)
    l2_*_bytes_per_s     what all cores together read from and write to the cache
    peak_flops           fp16 multiply-adds counted as two, per second; vector work is counted at the same rate
    alignment            of a buffer in device memory, bytes
    cache                hints: data marked dead at its last read is not written back;
                         plain: dead dirty lines are written back when they are evicted;
                         write-allocate: plain, and a write that misses reads the line first
    launch_seconds       start of one kernel
    tile_seconds         start of one op of a group for one more tile
    """

    name: str
    aliases: tuple[str, ...]
    l2_bytes: int
    memory_bytes_per_s: float | None
    l2_read_bytes_per_s: float | None
    l2_write_bytes_per_s: float | None
    peak_flops: float | None
    alignment: int
    cache: Literal["hints", "plain", "write-allocate"]
    launch_seconds: float
    tile_seconds: float
