"""Small pieces of graphs for the L2 tests."""

from dataclasses import dataclass

from hypothesis import strategies as st

from gecc.planning import CacheKind, Group, Op, Piece, Tensor

MIB = 1 << 20


@dataclass(frozen=True)
class Machine:
    """A chip for tests; bandwidths of the brief: memory has a tenth of L2's."""

    l2_bytes: int = 32 * MIB
    cache: CacheKind = "hints"
    name: str = "test"
    memory_bytes_per_s: float | None = 0.5e12
    l2_read_bytes_per_s: float | None = 5e12
    l2_write_bytes_per_s: float | None = 5e12
    peak_flops: float | None = 350e12
    launch_seconds: float = 3e-6
    tile_seconds: float = 1e-6


def bottleneck(batch: int, size: int = 56, wide: int = 256, thin: int = 64, element: int = 2) -> Piece:
    """ResNet's identity bottleneck: 1x1, 3x3, 1x1 convolutions; the last adds the input."""
    pixels = batch * size * size

    def act(name: str, channels: int, *, output: bool = False) -> Tensor:
        return Tensor(name, pixels * channels * element, output=output)

    def weight(name: str, elements: int) -> Tensor:
        return Tensor(name, elements * element, batched=False)

    return Piece(
        batch,
        (
            act("x", wide),
            weight("w1", wide * thin),
            act("a", thin),
            weight("w2", 9 * thin * thin),
            act("b", thin),
            weight("w3", thin * wide),
            act("y", wide, output=True),
        ),
        (
            Op("conv1", (0, 1), (2,), 2 * pixels * wide * thin),
            Op("conv2", (2, 3), (4,), 2 * pixels * 9 * thin * thin),
            Op("conv3", (4, 5, 0), (6,), 2 * pixels * wide * thin),
        ),
    )


def chain(batch: int, count: int, sample: int, weight: int = 0) -> Piece:
    """`count` ops in a row, each with a weight of its own (none where it has no bytes)."""
    tensors = [Tensor("x0", batch * sample)]
    ops: list[Op] = []
    for k in range(count):
        reads = [len(tensors) - 1] if k == 0 else [ops[-1].writes[0]]
        if weight:
            tensors.append(Tensor(f"w{k}", weight, batched=False))
            reads.append(len(tensors) - 1)
        tensors.append(Tensor(f"x{k + 1}", batch * sample, output=k == count - 1))
        ops.append(Op(f"op{k}", tuple(reads), (len(tensors) - 1,)))
    return Piece(batch, tuple(tensors), tuple(ops))


def skip_over_weights() -> tuple[Piece, Group]:
    """Four ops of which the last adds the first's result, behind two weights of 4 MiB; and all of them as one group."""
    tensors = [Tensor(f"x{k}", 16 * MIB, output=k == 4) for k in range(5)]
    tensors += [Tensor(f"w{k}", 4 * MIB, batched=False) for k in (1, 2)]
    ops = (Op("op0", (0,), (1,)), Op("op1", (1, 5), (2,)), Op("op2", (2, 6), (3,)), Op("op3", (3, 1), (4,)))
    return Piece(32, tuple(tensors), ops), Group(0, 4, 1)


@st.composite
def pieces(draw: st.DrawFn, longest: int = 8) -> Piece:
    """Chains with skips and weights; slices of whole pages."""
    batch = draw(st.sampled_from([2, 4, 8]))
    kib = st.sampled_from([16, 64, 128, 256])
    tensors = [Tensor("x0", batch * 1024 * draw(kib))]
    made = [0]
    ops: list[Op] = []
    for k in range(draw(st.integers(2, longest))):
        reads = [made[-1]]
        if draw(st.integers(0, 3)) == 0:
            reads.append(draw(st.sampled_from(made)))
        if draw(st.booleans()):
            tensors.append(Tensor(f"w{k}", 1024 * draw(st.sampled_from([16, 128, 512, 1500])), batched=False))
            reads.append(len(tensors) - 1)
        tensors.append(Tensor(f"x{k + 1}", batch * 1024 * draw(kib)))
        made.append(len(tensors) - 1)
        ops.append(Op(f"op{k}", tuple(dict.fromkeys(reads)), (made[-1],), tileable=draw(st.integers(0, 19)) > 0))
    end = tensors[made[-1]]
    tensors[made[-1]] = Tensor(end.name, end.bytes, output=True)
    return Piece(batch, tuple(tensors), tuple(ops))
