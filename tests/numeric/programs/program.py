"""
Random ONNX models for properties: a program grows a graph by steps, each of which adds an operator or a few.

A step knows the dims of what it reads as monomials over the free dims N and S, (coefficient, symbols), so that what it
adds is valid by the way it is made, for every size. All chance comes from one `random.Random`: a seed's, or that of
hypothesis, which then can make a program smaller.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Dim: TypeAlias = tuple[int, tuple[str, ...]]
Dims: TypeAlias = tuple[Dim, ...]

ONE: Dim = (1, ())
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "u8": np.uint8,
    "bool": np.bool_,
}
FLOATS, INTEGERS = ("f32", "f16", "bf16"), ("i64", "i32", "i8", "u8")
NUMBERS = FLOATS + INTEGERS
OPSETS = (13, 17, 18, 20, 21, 23)
SIZES = ((2, 3), (1, 1), (3, 2), (0, 2))
"""Of N and S: what a program is tried with."""

LARGEST = 768
"""Elements of a value, symbols counted as 3."""

SHAPES = [
    ["N", 4, "S"],
    ["N", "S", 6],
    [1, 4, "S"],
    ["N", 4, 6, 6],
    ["N", 3, 5, 4],
    [4, 6],
    ["N", 6],
    [2, 3, 4],
    [6],
    [1],
    [],
]
IMAGES = [["N", 4, 6, 6], ["N", 3, 5, 4], [1, 2, 4, 4]]


@dataclass(frozen=True)
class Value:
    """A value of the graph: its name, its element (a key of DTYPES), its dims."""

    name: str
    element: str
    dims: Dims

    @property
    def rank(self) -> int:
        return len(self.dims)

    def fixed(self, axis: int) -> int | None:
        """A dim as a number, None where it is free."""
        return None if self.dims[axis][1] else self.dims[axis][0]

    @property
    def shape(self) -> list[int] | None:
        """All dims as numbers, None where one is free."""
        return None if any(s for _, s in self.dims) else [c for c, _ in self.dims]


Step: TypeAlias = "Callable[[Program, Value], Value | Sequence[Value] | None]"
STEPS: dict[str, list[Step]] = {}


def step(family: str) -> Callable[[Step], Step]:
    """Adds a function to those that a program may grow by; it gives what it made, None where it does not apply."""

    def add(function: Step) -> Step:
        STEPS.setdefault(family, []).append(function)
        return function

    return add


def times(*dims: Dim) -> Dim:
    coefficient, symbols = 1, ()
    for c, s in dims:
        coefficient, symbols = coefficient * c, symbols + s
    return coefficient, tuple(sorted(symbols))


def element_type(element: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(DTYPES[element]))


class Program:
    """
    Grows a graph; `values` are what the next step may read.

    opset   of the model
    free    whether N and S are symbols, else they are 2 and 3
    float   the kind of float that most of it is of
    themes  the families that most of its steps are of
    """

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.opset: int = r.choice(OPSETS)
        self.free = r.randrange(2) == 0
        # Opsets before 20 know fewer operators on bfloat16 and small integers than those drawn here.
        halves = ["f16", "bf16"] if self.opset >= 20 else []
        self.float: str = r.choice(["f32"] * 6 + halves)
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.count = 0
        self.depth = 0
        self.inputs: list[Value] = []
        self.overridable: list[str] = []
        self.themes = r.sample(sorted(STEPS), 3)
        self.families = [*STEPS, *self.themes * 5]
        kinds = [self.float] * 5 + [
            "f32",
            "i64",
            "i32",
            "bool",
            r.choice(["i8", "u8"] if self.opset >= 20 else ["i64", "i32"]),
        ]
        for k in range(r.randint(1, 3)):
            element = self.float if k == 0 else r.choice(kinds)
            shapes = IMAGES if "windows" in self.themes and r.randrange(4) else SHAPES
            self.inputs.append(Value(f"x{k}", element, self.dims_of(r.choice(shapes))))
        self.values = list(self.inputs)
        if r.randrange(8) == 0:
            self.overridable.append("w")
            dims = self.dims_of([4, 6])
            self.constants.append(numpy_helper.from_array(self.numbers(self.float, [4, 6]), "w"))
            self.inputs.append(Value("w", self.float, dims))
            self.values.append(self.inputs[-1])

    def dims_of(self, shape: Sequence[int | str]) -> Dims:
        static = {"N": (2, ()), "S": (3, ())}
        return tuple((d, ()) if isinstance(d, int) else (1, (d,)) if self.free else static[d] for d in shape)

    # ------------------------------------------------------------------ nodes

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def const(self, array: Any, dtype: Any = None) -> str:
        """A constant: an initialiser, or now and then a node."""
        name, array = self.name(), np.asarray(array, dtype)
        tensor = numpy_helper.from_array(array, name)
        if self.r.randrange(6):
            self.constants.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def ints(self, *numbers: int) -> str:
        return self.const(list(numbers), np.int64)

    def number(self, element: str, number: float) -> str:
        """A scalar, or a vector of one."""
        shape: list[int] = self.r.choice([[], [], [1]])
        return self.const(np.full(shape, number, DTYPES[element]))

    def number_0d(self, element: str, number: float) -> str:
        return self.const(np.asarray(number, DTYPES[element]))

    def numbers(self, element: str, shape: Sequence[int]) -> Any:
        """Data of about 1; now and then one number that means something, all over."""
        if self.r.randrange(4) == 0:
            return np.full(
                shape, self.r.choice([0, 1, -1, 2] if element not in ("u8", "bool") else [0, 1]), DTYPES[element]
            )
        random = np.random.default_rng(self.r.randrange(1000))
        if element == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if element in INTEGERS:
            return random.integers(0 if element == "u8" else -3, 4, shape).astype(DTYPES[element])
        return (random.integers(-64, 65, shape) / 32).astype(DTYPES[element])

    def weight(self, element: str, *shape: int) -> str:
        return self.const(self.numbers(element, shape))

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        names = [self.name() for _ in range(outputs)]
        label = f"{kind}_{names[0]}" if self.r.randrange(8) else ""
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=label, **attributes))
        return names

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node of one output; its name."""
        return self.node(kind, inputs, **attributes)[0]

    # ------------------------------------------------------------------ picking

    def fitting(self, elements: Sequence[str] = NUMBERS, least: int = 0, most: int = 9) -> list[Value]:
        return [v for v in self.values if v.element in elements and least <= v.rank <= most]

    def like(self, x: Value) -> list[Value]:
        """Values of the element and the dims of `x`, itself among them."""
        return [v for v in self.values if (v.element, v.dims) == (x.element, x.dims)]

    def axis(self, x: Value, kind: str = "any") -> int | None:
        """An axis of `x`; of a number where `kind` is "fixed"."""
        axes = [k for k in range(x.rank) if kind == "any" or x.fixed(k) is not None]
        return self.r.choice(axes) if axes else None

    def spelled(self, x: Value, axis: int) -> int:
        """An axis counted from either end."""
        return self.r.choice([axis, axis - x.rank])

    def fits(self, value: Value) -> bool:
        size = 1
        for c, s in value.dims:
            size *= c * 3 ** len(s)
        return size <= LARGEST and value.rank <= 6

    # ------------------------------------------------------------------ shape arithmetic

    def sources(self, symbol: str) -> list[tuple[str, int]]:
        return [(v.name, k) for v in self.values for k, d in enumerate(v.dims) if d == (1, (symbol,))]

    def dim(self, dim: Dim) -> str | None:
        """A vector of one dim, read from any value that has it, in one of the ways that exporters have."""
        coefficient, symbols = dim
        found: str | None = None
        for symbol in symbols:
            if not (sources := self.sources(symbol)):
                return None
            value, axis = self.r.choice(sources)
            match self.r.randrange(4 if self.opset >= 15 else 3):
                case 0:
                    scalar = self.op("Gather", self.op("Shape", value), self.const(axis, np.int64))
                    one = self.op("Unsqueeze", scalar, self.ints(0))
                case 1:
                    one = self.op("Slice", self.op("Shape", value), self.ints(axis), self.ints(axis + 1), self.ints(0))
                case 2:
                    one = self.op("Gather", self.op("Shape", value), self.ints(axis))
                case _:
                    one = self.op("Shape", value, start=axis, end=axis + 1)
            found = one if found is None else self.op("Mul", found, one)
        if found is None:
            return self.ints(coefficient)
        return found if coefficient == 1 else self.op("Mul", found, self.ints(coefficient))

    def shape(self, dims: Sequence[Dim], guess: bool = True) -> str | None:
        """
        A vector of dims: a constant where they are all numbers, or, with `guess`, where one -1 stands for the free one.
        """
        free = [k for k, (_, s) in enumerate(dims) if s]
        if not free and self.r.randrange(4):
            return self.ints(*(c for c, _ in dims))
        if guess and len(free) <= 1 and dims and self.r.randrange(2):
            at = free[0] if free else self.r.randrange(len(dims))
            if all(c for k, (c, _) in enumerate(dims) if k != at):
                return self.ints(*(-1 if k == at else c for k, (c, _) in enumerate(dims)))
        parts = [self.dim(d) for d in dims]
        if None in parts:
            return None
        return self.op("Concat", *filter(None, parts), axis=0) if parts else self.const([], np.int64)

    # ------------------------------------------------------------------ growing

    def grow(self) -> bool:
        """One step; whether it made something."""
        family = self.r.choice(self.families)
        x = self.r.choice(self.values[-3:] if self.r.randrange(3) else self.values)
        made = self.r.choice(STEPS[family])(self, x)
        values = [] if made is None else [made] if isinstance(made, Value) else list(made)
        self.values += [v for v in values if self.fits(v)]
        return bool(values)

    def body(self, inputs: Sequence[Value], build: Callable[[], Sequence[str]]) -> GraphProto:
        """A graph inside: `build` adds its nodes and says what it gives; it sees all that is around it."""
        nodes, values = self.nodes, self.values
        self.nodes, self.values = [], [*values, *inputs]
        self.depth += 1
        outputs = build()
        self.depth -= 1
        graph = helper.make_graph(
            self.nodes,
            self.name(),
            [helper.make_tensor_value_info(v.name, element_type(v.element), said(v)) for v in inputs],
            [helper.make_empty_tensor_value_info(o) for o in outputs],
        )
        self.nodes, self.values = nodes, values
        return graph

    def model(self) -> ModelProto:
        inputs = {v.name for v in self.inputs}
        read = {name for node in self.nodes for name in node.input}
        made = [v for v in self.values if v.name not in inputs]
        unread = [v for v in made if v.name not in read][-3:]
        also = [v for v in made if v.name in read and self.r.randrange(5) == 0][:2]
        outputs = list(dict.fromkeys([*unread, *also])) or made[-1:]
        if self.r.randrange(12) == 0:
            outputs += self.again(outputs)
        graph = helper.make_graph(
            self.nodes,
            "random",
            [helper.make_tensor_value_info(v.name, element_type(v.element), said(v)) for v in self.inputs],
            [helper.make_tensor_value_info(v.name, element_type(v.element), [None] * v.rank) for v in outputs],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def again(self, outputs: Sequence[Value]) -> list[Value]:
        """What else may be an output: one of them under another name, an input, a constant."""
        match self.r.randrange(3):
            case 0 if outputs:
                return [Value(self.op("Identity", outputs[0].name), outputs[0].element, outputs[0].dims)]
            case 1:
                return [self.inputs[0]]
            case _:
                return [Value(self.weight("f32", 3), "f32", ((3, ()),))]


def said(value: Value) -> list[int | str | None]:
    """Dims as a model declares them."""
    return [c if not s else s[0] if c == 1 and len(s) == 1 else None for c, s in value.dims]


def program(r: random.Random, steps: int | None = None) -> ModelProto:
    """A model of 3 to 12 steps, or of `steps`."""
    grown = Program(r)
    left = steps or r.randint(3, 12)
    for _ in range(6 * left):
        left -= grown.grow()
        if not left:
            break
    if not grown.nodes:
        x = grown.inputs[0]
        grown.values.append(Value(grown.op("Identity", x.name), x.element, x.dims))
    return grown.model()


# ---------------------------------------------------------------------- inputs

SPECIAL = {
    "f32": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 3e38, 1e-40, -2.0],
    "f16": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 65504, 6e-8, -2.0],
    "bf16": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 3e38, 1e-40, -2.0],
}


def feeds(model: ModelProto, n: int, s: int, special: bool = False) -> dict[str, Any]:
    """Inputs for N = n and S = s: numbers of about 1, or with `special` those that arithmetic forgets."""
    random = np.random.default_rng([n, s, special])
    held = {t.name for t in model.graph.initializer}
    found: dict[str, Any] = {}
    for info in model.graph.input:
        if info.name in held and not special:
            continue
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
        sizes = {"N": n, "S": s}
        shape = [
            d.dim_value if d.HasField("dim_value") else sizes[d.dim_param] for d in info.type.tensor_type.shape.dim
        ]
        element = next(name for name, one in DTYPES.items() if np.dtype(one) == dtype)
        if element == "bool":
            found[info.name] = random.integers(0, 2, shape).astype(bool)
        elif element in INTEGERS:
            limits = np.iinfo(dtype)
            few = [0, 1, 2, 3, limits.max, limits.min] if special else [0, 1, 2, 3] if element == "u8" else range(-3, 4)
            found[info.name] = random.choice(list(few), shape).astype(dtype)
        elif special:
            found[info.name] = random.choice(SPECIAL[element], shape).astype(dtype)
        else:
            found[info.name] = random.standard_normal(shape).astype(dtype)
    return found
