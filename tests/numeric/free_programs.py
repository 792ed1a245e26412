"""
Random programs over free dims N and S, of movement, shape arithmetic as exporters write it, and a little arithmetic.

Dims are monomials, (coefficient, symbols), so that what a program does is valid by the way it is made.
"""

import random
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

Dim = tuple[int, tuple[str, ...]]
ONE: Dim = (1, ())
N: Dim = (1, ("N",))
S: Dim = (1, ("S",))


def times(*dims: Dim) -> Dim:
    coefficient, symbols = 1, ()
    for c, s in dims:
        coefficient, symbols = coefficient * c, symbols + s
    return coefficient, tuple(sorted(symbols))


class Program:
    """Grows a graph; `values` are what the next op may read, with their dims."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.opset = self.r.choice([13, 14, 17, 18, 21])
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.names = 0
        self.values: list[tuple[str, list[Dim]]] = [
            ("a", [N, (4, ()), S]),
            ("b", [N, S, (6, ())]),
            ("c", [ONE, (4, ()), S]),
        ]

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def const(self, array: Any) -> str:
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind}_{output}", **attributes))
        return output

    # ------------------------------------------------------------------ shape arithmetic

    def dim(self, dim: Dim) -> str:
        """A vector of one dim, read from any value that has it, in one of the ways that exporters have."""
        coefficient, symbols = dim
        found: str | None = None
        for symbol in symbols:
            sources = [(v, k) for v, dims in self.values for k, d in enumerate(dims) if d == (1, (symbol,))]
            value, axis = self.r.choice(sources)
            shape = self.op("Shape", value)
            match self.r.randrange(3):
                case 0:
                    scalar = self.op("Gather", shape, self.const(np.int64(axis)))
                    one = self.op("Unsqueeze", scalar, self.const([0]))
                case 1:
                    one = self.op("Slice", shape, self.const([axis]), self.const([axis + 1]), self.const([0]))
                case _:
                    one = self.op("Gather", shape, self.const([axis]))
            found = one if found is None else self.op("Mul", found, one)
        if found is None:
            return self.const([coefficient])
        return found if coefficient == 1 else self.op("Mul", found, self.const([coefficient]))

    def shape(self, dims: list[Dim]) -> str:
        return self.op("Concat", *map(self.dim, dims), axis=0)

    # ------------------------------------------------------------------ ops

    def step(self) -> bool:
        kinds = [n for n in dir(self) if n.startswith("make_")]
        value, dims = self.r.choice(self.values)
        made = getattr(self, self.r.choice(kinds))(value, list(dims)) if dims else None
        if made is None:
            return False
        _, new = made
        if len(new) <= 5 and all(c <= 48 and len(s) <= 3 for c, s in new):
            self.values.append(made)
        return True

    def make_transpose(self, x: str, dims: list[Dim]):
        perm = list(range(len(dims)))
        self.r.shuffle(perm)
        return self.op("Transpose", x, perm=perm), [dims[k] for k in perm]

    def make_merge(self, x: str, dims: list[Dim]):
        if len(dims) < 2:
            return None
        k = self.r.randrange(len(dims) - 1)
        new = [*dims[:k], times(*dims[k : k + 2]), *dims[k + 2 :]]
        return self.op("Reshape", x, self.shape(new)), new

    def make_part(self, x: str, dims: list[Dim]):
        even = [k for k, (c, _) in enumerate(dims) if c % 2 == 0]
        if not even:
            return None
        k = self.r.choice(even)
        halves: list[Dim] = [(2, ()), (dims[k][0] // 2, dims[k][1])]
        self.r.shuffle(halves)
        new = [*dims[:k], *halves, *dims[k + 1 :]]
        return self.op("Reshape", x, self.shape(new)), new

    def make_unsqueeze(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims) + 1)
        axis = self.r.choice([k, k - len(dims) - 1])
        return self.op("Unsqueeze", x, self.const([axis])), [*dims[:k], ONE, *dims[k:]]

    def make_squeeze(self, x: str, dims: list[Dim]):
        ones = [k for k, d in enumerate(dims) if d == ONE]
        if not ones:
            return None
        k = self.r.choice(ones)
        return self.op("Squeeze", x, self.const([k])), [*dims[:k], *dims[k + 1 :]]

    def make_flatten(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims) + 1)
        return self.op("Flatten", x, axis=k), [times(*dims[:k]), times(*dims[k:])]

    def make_slice(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims))
        size, symbols = dims[k]
        if symbols:
            return self.op("Slice", x, self.const([0]), self.dim(dims[k]), self.const([k])), dims
        start = self.r.randint(0, size - 1)
        end = self.r.randint(start + 1, size)
        bounds = [self.r.choice([start, start - size])], [end if end < size else self.r.choice([size, 2**62])]
        new: list[Dim] = [*dims[:k], (end - start, ()), *dims[k + 1 :]]
        return self.op("Slice", x, *map(self.const, bounds), self.const([k])), new

    def make_concat(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims))
        for other, its in self.r.sample(self.values, len(self.values)):
            same = len(its) == len(dims) and all(
                p == q for j, (p, q) in enumerate(zip(dims, its, strict=True)) if j != k
            )
            if same and its[k][1] == dims[k][1]:
                new: list[Dim] = [*dims[:k], (dims[k][0] + its[k][0], dims[k][1]), *dims[k + 1 :]]
                return self.op("Concat", x, other, axis=k), new
        return None

    def make_pad(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims))
        if dims[k][1]:
            return None
        pads = np.zeros(2 * len(dims), np.int64)
        pads[k], pads[len(dims) + k] = self.r.randint(0, 2), self.r.randint(0, 2)
        size, wide = dims[k][0], dims[k][0] + int(pads.sum())
        padded = self.op("Pad", x, self.const(pads))
        self.values.append((padded, [*dims[:k], (wide, ()), *dims[k + 1 :]]))
        begin = int(pads[k])
        return self.op("Slice", padded, self.const([begin]), self.const([begin + size]), self.const([k])), dims

    def make_gather(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims))
        size, symbols = dims[k]
        if symbols:
            return None
        if self.r.random() < 0.3:
            return self.op("Gather", x, self.const(np.arange(size)), axis=k), dims
        at = [self.r.randint(-size, size - 1) for _ in range(self.r.randint(1, 3))]
        return self.op("Gather", x, self.const(at), axis=k), [*dims[:k], (len(at), ()), *dims[k + 1 :]]

    def make_expand(self, x: str, dims: list[Dim]):
        new = [self.r.choice([ONE, N, S, (2, ())]) if d == ONE else d for d in dims]
        return self.op("Expand", x, self.shape(new)), new

    def make_tile(self, x: str, dims: list[Dim]):
        k = self.r.randrange(len(dims))
        times_ = [1] * len(dims)
        times_[k] = self.r.choice([1, 2])
        return self.op("Tile", x, self.const(times_)), [*dims[:k], times(dims[k], (times_[k], ())), *dims[k + 1 :]]

    def make_unary(self, x: str, dims: list[Dim]):
        return self.op(self.r.choice(["Relu", "Neg", "Abs"]), x), dims

    def make_filled(self, x: str, dims: list[Dim]):
        one = numpy_helper.from_array(np.array([2.5], np.float32))
        return self.op("Add", x, self.op("ConstantOfShape", self.shape(dims), value=one)), dims

    def make_binary(self, x: str, dims: list[Dim]):
        kind = self.r.choice(["Add", "Mul", "Max"])
        if self.r.random() < 0.4:
            shape = [c if not s and self.r.random() < 0.7 else 1 for c, s in dims][self.r.randrange(len(dims)) :]
            return self.op(
                kind, x, self.const(np.linspace(-1, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape))
            ), dims
        for other, its in self.r.sample(self.values, len(self.values)):
            if len(its) <= len(dims) and all(
                q in (ONE, p) for p, q in zip(dims[len(dims) - len(its) :], its, strict=True)
            ):
                return self.op(kind, x, other), dims
        return None

    def make_reduce(self, x: str, dims: list[Dim]):
        axes = [k for k, d in enumerate(dims) if not d[1] and self.r.random() < 0.5]
        keep = self.r.randrange(2)
        new = [ONE if k in axes else d for k, d in enumerate(dims) if keep or k not in axes]
        return (self.op("ReduceSum", x, self.const(axes), keepdims=keep), new) if axes else None

    # ------------------------------------------------------------------ the whole

    def model(self) -> ModelProto:
        read = {name for node in self.nodes for name in node.input}
        outputs = [(v, d) for v, d in self.values[3:] if v not in read][-4:]
        inputs = {"a": ["N", 4, "S"], "b": ["N", "S", 6], "c": [1, 4, "S"]}
        graph = helper.make_graph(
            self.nodes,
            "free",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in inputs.items()],
            [helper.make_tensor_value_info(v, TensorProto.FLOAT, [None] * len(d)) for v, d in outputs],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def program(seed: int, steps: int = 12) -> ModelProto:
    made = Program(seed)
    done = 0
    while done < steps:
        done += made.step()
    return made.model()


def feeds(n: int, s: int) -> dict[str, np.ndarray]:
    r = np.random.default_rng(7)
    shapes = {"a": (n, 4, s), "b": (n, s, 6), "c": (1, 4, s)}
    return {name: r.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
