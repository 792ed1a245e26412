"""Machines that are no one product: the brief's accelerator and a CPU."""

from .ascend import BLOCK, TILE
from .target import MIB, Target

# Ascend910B1.ini: 24 cores x 1.85 GHz x 110 (read), 86 (write) bytes a core and cycle.
_910B1_READ = 24 * 1.85e9 * 110
_910B1_WRITE = 24 * 1.85e9 * 86

MACHINES = (
    # The article that the project answers calls this a 910B. No chip has this ratio: a 910B1's is 3.4, and its L2
    # is six times larger.
    Target(
        name="brief-910b",
        aliases=(),
        l2_bytes=32 * MIB,  # the brief
        memory_bytes_per_s=_910B1_READ / 10,  # the brief: memory has a tenth of L2's bandwidth
        l2_read_bytes_per_s=_910B1_READ,
        l2_write_bytes_per_s=_910B1_WRITE,
        peak_flops=24 * 1.85e9 * 8192,  # 910B1
        alignment=BLOCK,
        cache="plain",  # the brief speaks of no hints
        launch_seconds=3e-6,  # the brief: 2-3 us
        tile_seconds=TILE,
    ),
    Target(
        name="cpu",
        aliases=("generic-cpu",),
        l2_bytes=32 * MIB,  # a shared last-level cache of a server CPU
        memory_bytes_per_s=45e9,  # measured on two Zen 5 cores: copy 43-49 GB/s
        l2_read_bytes_per_s=None,  # not measured
        l2_write_bytes_per_s=None,
        peak_flops=540e9,  # fp32, two cores at 270 GF/s measured on one
        alignment=64,  # a cache line, and one AVX-512 register
        cache="write-allocate",
        launch_seconds=1e-7,  # a call and a barrier that spins
        tile_seconds=1e-7,  # the same
    ),
)
