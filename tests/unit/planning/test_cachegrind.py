"""
The judge before a cache that others wrote: valgrind's cachegrind runs a program that touches memory in a trace's order.

What differs, and what is done about it:

- lines of 64 bytes against pages of 4096: accesses are whole slices in order, so a page's lines come and go together;
- cachegrind's last level has sets of 16 ways, chosen by the address, ours is LRU over all pages: buffers lie one after
  the other, so sets fill evenly;
- its last level only sees what D1 misses: D1 has two lines, so nothing is touched twice from it;
- it always allocates on a write, and counts read and write misses apart: read misses are the judge's reads on a plain
  cache, both together those on one with write-allocate. Write-backs it does not count;
- the program's own start-up: a run without accesses is subtracted.
"""

import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from gecc.planning import Access, Group, Op, Piece, Plan, Tensor, memory_of, replay, single_plan, trace_of

from .pieces import Machine, bottleneck

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("valgrind") and shutil.which("gcc")), reason="needs valgrind and gcc on the PATH"
    ),
]

LINE, PAGE = 64, 4096
PROGRAM = """
#include <stdio.h>
#include <sys/mman.h>

int main(int count, char **words) {
    FILE *trace = fopen(words[1], "rb");
    long total, access[3]; /* begin, bytes, whether it writes */
    if (!trace || fread(&total, sizeof total, 1, trace) != 1) return 1;
    char *memory = mmap(0, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    while (fread(access, sizeof access, 1, trace) == 1) {
        volatile char *at = memory + access[0], *end = at + access[1];
        if (access[2]) for (; at < end; at += 64) *at = 1;
        else for (; at < end; at += 64) (void)*at;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("touch")
    (folder / "touch.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", folder / "touch", folder / "touch.c"], check=True)
    return folder / "touch"


def misses(program: Path, trace: Iterable[Access], sizes: Sequence[int], cache_bytes: int) -> tuple[int, int]:
    """Bytes of the lines that reads and writes missed in the last level."""
    begins = [0, *accumulate(-(-size // PAGE) * PAGE for size in sizes)]
    accesses = [(begins[a.buffer] + a.offset, a.bytes, int(a.write)) for a in trace if a.bytes]
    reads, writes = _counted(program, begins[-1], accesses, cache_bytes)
    idle_reads, idle_writes = _counted(program, begins[-1], [], cache_bytes)
    return (reads - idle_reads) * LINE, (writes - idle_writes) * LINE


def _counted(program: Path, total: int, accesses: list[tuple[int, int, int]], cache_bytes: int) -> tuple[int, int]:
    data = program.with_suffix(".trace")
    data.write_bytes(struct.pack("<q", total) + b"".join(struct.pack("<3q", *access) for access in accesses))
    line = f"valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null --D1=128,2,{LINE}"
    ran = subprocess.run(
        [*line.split(), f"--LL={cache_bytes},16,{LINE}", program, data], capture_output=True, text=True, check=True
    )
    found = re.search(r"LLd misses: +[\d,]+ +\( *([\d,]+) rd +\+ +([\d,]+) wr\)", ran.stderr)
    assert found, ran.stderr
    reads, writes = (int(text.replace(",", "")) for text in found.groups())
    return reads, writes


def inverted_residual(batch: int, size: int = 28, thin: int = 32, wide: int = 192) -> Piece:
    """MobileNet's: 1x1 out, depthwise 3x3, 1x1 back and the input added; fp16."""
    pixels = 2 * batch * size * size
    tensors = (
        Tensor("x", pixels * thin),
        Tensor("w1", 2 * thin * wide, batched=False),
        Tensor("a", pixels * wide),
        Tensor("w2", 2 * 9 * wide, batched=False),
        Tensor("b", pixels * wide),
        Tensor("w3", 2 * wide * thin, batched=False),
        Tensor("y", pixels * thin, output=True),
    )
    return Piece(batch, tensors, (Op("out", (0, 1), (2,)), Op("depthwise", (2, 3), (4,)), Op("back", (4, 5, 0), (6,))))


def normalisation(batch: int, row: int = 256 * 1024) -> Piece:
    """x -> x * s -> relu -> mean of each sample -> minus the mean -> plus x: a chain with a reduction in it; bytes."""
    tensors = (
        Tensor("x", batch * row),
        Tensor("scale", row, batched=False),
        Tensor("scaled", batch * row),
        Tensor("positive", batch * row),
        Tensor("mean", batch * 64),
        Tensor("centred", batch * row),
        Tensor("y", batch * row, output=True),
    )
    ops = (
        Op("mul", (0, 1), (2,)),
        Op("relu", (2,), (3,)),
        Op("reduce_mean", (3,), (4,)),
        Op("sub", (3, 4), (5,)),
        Op("add", (5, 0), (6,)),
    )
    return Piece(batch, tensors, ops)


def attention(rows: int, keys: int = 1024, width: int = 64) -> Piece:
    """Rows of one head: q k^T, softmax, times v; every row reads all keys and values; fp16."""
    tensors = (
        Tensor("q", 2 * rows * width),
        Tensor("k", 2 * keys * width, batched=False),
        Tensor("scores", 2 * rows * keys),
        Tensor("shares", 2 * rows * keys),
        Tensor("v", 2 * keys * width, batched=False),
        Tensor("y", 2 * rows * width, output=True),
    )
    return Piece(rows, tensors, (Op("scores", (0, 1), (2,)), Op("softmax", (2,), (3,)), Op("values", (3, 4), (5,))))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    ("piece", "cache_bytes", "group"),
    [
        pytest.param(bottleneck(16), 4 << 20, Group(0, 3, 2), id="bottleneck"),
        pytest.param(inverted_residual(32), 2 << 20, Group(0, 3, 1), id="inverted-residual"),
        pytest.param(normalisation(32), 2 << 20, Group(0, 5, 1), id="elementwise-and-reduction"),
        pytest.param(attention(8192), 1 << 20, Group(0, 3, 64), id="attention-rows"),
    ],
)
def test_counts_the_same_misses(piece: Piece, cache_bytes: int, group: Group, grouped: bool, program: Path):
    plan: Plan = [group] if grouped else single_plan(piece, Machine(cache_bytes))
    reads, writes = misses(program, trace_of(piece, plan), memory_of(piece, plan).sizes, cache_bytes)
    assert reads == pytest.approx(replay(piece, plan, cache_bytes, "plain").read, rel=0.02)
    assert reads + writes == pytest.approx(replay(piece, plan, cache_bytes, "write-allocate").read, rel=0.02)
