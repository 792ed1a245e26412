"""
What the planners read of a chip, and how long work takes on it. All of it modelled.

    seconds = max(arithmetic / peak, memory bytes / bandwidth, L2 bytes / its bandwidths) + starts of kernels and tiles
"""

from typing import Protocol

from .judge import CacheKind


class Machine(Protocol):
    """What the model reads of a chip; `targets.Target` has this shape. None: unknown."""

    @property
    def name(self) -> str: ...
    @property
    def l2_bytes(self) -> int: ...
    @property
    def memory_bytes_per_s(self) -> float | None: ...
    @property
    def l2_read_bytes_per_s(self) -> float | None: ...
    @property
    def l2_write_bytes_per_s(self) -> float | None: ...
    @property
    def peak_flops(self) -> float | None: ...
    @property
    def launch_seconds(self) -> float: ...
    @property
    def tile_seconds(self) -> float: ...
    @property
    def cache(self) -> CacheKind: ...


def knows_time(machine: Machine) -> bool:
    return machine.memory_bytes_per_s is not None and machine.peak_flops is not None


def terms(
    machine: Machine, flops: float, memory_bytes: float, l2_read: float, l2_written: float
) -> tuple[float, float, float]:
    """Seconds of arithmetic, memory and L2; they overlap perfectly at best. Needs `knows_time`."""
    assert machine.peak_flops is not None
    assert machine.memory_bytes_per_s is not None
    l2 = 0.0
    if machine.l2_read_bytes_per_s is not None and machine.l2_write_bytes_per_s is not None:
        l2 = l2_read / machine.l2_read_bytes_per_s + l2_written / machine.l2_write_bytes_per_s
    return flops / machine.peak_flops, memory_bytes / machine.memory_bytes_per_s, l2


def starts(machine: Machine, ops: int, tiles: int) -> float:
    """Seconds in which `ops` are started, and again for each further tile."""
    return ops * (machine.launch_seconds + (tiles - 1) * machine.tile_seconds)
