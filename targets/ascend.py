"""
Ascend chips, from the hardware .ini files that CANN ships (`platform_config/Ascend*.ini`).

A file gives cores, clock, L2 bytes and bytes a core and cycle; all else is derived: a bandwidth is cores x clock x
bytes, the fp16 peak cores x clock x 8192 (a cube of 16 x 16 x 16 multiply-adds). Derived figures differ from those
that the vendor's documents state: 910B1 1.42 here, 1.6 TB/s there; 910A 262 here, 256 TFLOPS there.
"""

from .target import MIB, Target

CUBE_FLOPS = 8192  # 16 x 16 x 16 multiply-adds a core and cycle, two operations each

# GE places blocks at multiples of 512 (`MEM_ALIGN_SIZE`, compiler/graph/build/memory/mem_assigner.h).
BLOCK = 512

# Published studies and the brief give 2 to 10 us for one kernel's start; no .ini has it.
LAUNCH = 3e-6

# Assumed: synchronising the cores between two ops of a kernel, without a start from outside.
TILE = 1e-6


def _ascend(
    name: str, cores: int, ghz: float, l2_mib: int, bytes_a_cycle: tuple[int, int, int], *spellings: str
) -> Target:
    """A chip of which the .ini gives all; `bytes_a_cycle` = memory, L2 read, L2 write, a core."""
    cycles = cores * ghz * 1e9
    memory, read, write = bytes_a_cycle
    return Target(
        name=name,
        aliases=spellings,
        l2_bytes=l2_mib * MIB,
        memory_bytes_per_s=cycles * memory,
        l2_read_bytes_per_s=cycles * read,
        l2_write_bytes_per_s=cycles * write,
        peak_flops=cycles * CUBE_FLOPS,
        alignment=BLOCK,
        # Every public .ini says l2_type=0, a cache; read modes (READ_INVALID, NOT_NEED_WRITEBACK) are its hints.
        cache="hints",
        launch_seconds=LAUNCH,
        tile_seconds=TILE,
    )


# The .ini's rates of memory, L2 read and L2 write, bytes a core and cycle.
RATES_910 = (32, 110, 86)
RATES_310P = (17, 114, 114)
RATES_310B = (17, 256, 128)

CHIPS = (
    _ascend("ascend910a", 32, 1.0, 32, RATES_910, "Ascend910A", "910A"),  # Ascend910A.ini
    _ascend("ascend910b1", 24, 1.85, 192, RATES_910, "Ascend910B1", "910B1"),  # Ascend910B1.ini
    _ascend("ascend910b2", 24, 1.8, 192, RATES_910, "Ascend910B2", "910B2", "Ascend910B2C"),  # Ascend910B2.ini
    _ascend("ascend910b3", 20, 1.8, 192, RATES_910, "Ascend910B3", "910B3"),  # Ascend910B3.ini
    _ascend("ascend910b4", 20, 1.5, 96, RATES_910, "Ascend910B4", "910B4"),  # Ascend910B4.ini
    _ascend("ascend910b4-1", 20, 1.5, 168, RATES_910, "Ascend910B4-1", "910B4-1"),  # Ascend910B4-1.ini
    _ascend("ascend910-9391", 24, 1.85, 192, RATES_910, "Ascend910_9391", "910_9391"),  # Ascend910_9391.ini, an A3 die
    _ascend("ascend310p1", 10, 1.06, 16, RATES_310P, "Ascend310P1", "310P1"),  # Ascend310P1.ini
    _ascend("ascend310p3", 8, 1.06, 16, RATES_310P, "Ascend310P3", "310P3"),  # Ascend310P3.ini
    _ascend("ascend310b1", 1, 1.224, 4, RATES_310B, "Ascend310B1", "310B1"),  # Ascend310B1.ini
    _ascend("ascend310b4", 1, 0.5, 4, RATES_310B, "Ascend310B4", "310B4"),  # Ascend310B4.ini
    Target(
        name="ascend950pr-9579",
        aliases=("Ascend950PR_9579", "950PR_9579"),
        l2_bytes=128 * MIB,  # Ascend950PR_9579.ini
        memory_bytes_per_s=None,  # the .ini's rates were not read: time is not modelled
        l2_read_bytes_per_s=None,
        l2_write_bytes_per_s=None,
        peak_flops=None,  # its cube differs from the 910's
        alignment=BLOCK,
        cache="hints",
        launch_seconds=LAUNCH,
        tile_seconds=TILE,
    ),
)
