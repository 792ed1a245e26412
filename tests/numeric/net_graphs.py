"""
Random small networks, of the blocks that real ones are made of, for what depends on how tensors are cut.

    images       convolutions (depthwise, strided, dilated, padded unevenly), pools, gates, norms, residuals, concats,
                 splits, pads, slices, resizes, transposed convolutions, pixel shuffles, layer norm on channels
    sequences    products, MLPs, attention with and without a mask, rotary embeddings, layer and RMS norms, softmax rows

Values are a batch of 1 to 4. What a step makes is read again by later ones, so branches and diamonds come up.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.types import shape_of, tensor_type

from .graphs import F32, Program, finished

MOST = 6000
"""Elements of a value that later steps read."""

ACTIVATIONS = ["Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh", "Gelu", "Erf", "Exp"]


class Net(Program):
    """`values` are those that the next step may go on from: of images or of sequences."""

    def ints(self, *numbers: int) -> SSAValue:
        return self.constant(np.array(numbers, np.int64))

    def fresh(self, *shape: int) -> SSAValue:
        """A weight."""
        seed = self.draw(st.integers(0, 3))
        return self.constant(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))

    def of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def like(self, x: SSAValue) -> SSAValue:
        """Another value of the type, if there is one."""
        return self.draw(st.sampled_from([v for v in self.values if v.type == x.type]))

    def halves(self, x: SSAValue, axis: int) -> tuple[SSAValue, SSAValue]:
        one, two = self.add(ONNX_OPS["", "Split"](x, results=2, axis=axis), "Split").results
        return one, two

    def step(self, steps: dict[str, Callable[[SSAValue], SSAValue | None]]) -> None:
        last = self.values[-1]
        made = steps[self.draw(st.sampled_from(sorted(steps)))](self.of(last, last, last, *self.values[-3:]))
        if made is not None and np.prod(shape_of(made.type)) <= MOST:
            self.values.append(made)

    # ------------------------------------------------------------------ any

    def activation(self, x: SSAValue) -> SSAValue:
        return self.op(self.of(*ACTIVATIONS), x)

    def residual(self, x: SSAValue) -> SSAValue:
        return self.op(self.of("Add", "Add", "Mul", "Max"), x, self.like(x))

    def joined(self, x: SSAValue) -> SSAValue:
        axis = self.of(1, len(shape_of(x.type)) - 1)
        others = [self.like(x)]
        if self.draw(st.booleans()):
            others.append(self.op("Neg", x))
        return self.op("Concat", x, *others, axis=axis)

    def parted(self, x: SSAValue) -> SSAValue | None:
        """One half goes on, the other waits."""
        axes = [k for k, d in enumerate(shape_of(x.type)) if k and d % 2 == 0]
        if not axes:
            return None
        axis = self.of(*axes)
        one, two = self.halves(x, axis)
        one = self.op(self.of("Relu", "Exp", "Sigmoid"), one)
        return self.op("Mul", one, two) if self.draw(st.booleans()) else self.op("Concat", two, one, axis=axis)


class Images(Net):
    def convolution(self, x: SSAValue) -> SSAValue | None:
        _, channels, height, width = shape_of(x.type)
        kernel = [self.of(1, 2, 3, 3, 5), self.of(1, 1, 3)]
        strides, dilations = [self.of(1, 1, 2, 3), self.of(1, 1, 2)], [self.of(1, 1, 2), 1]
        pads = [self.draw(st.integers(0, 2)), kernel[1] // 2, self.draw(st.integers(0, 2)), kernel[1] // 2]
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        if height + pads[0] + pads[2] < extents[0] or width + pads[1] + pads[3] < extents[1]:
            return None
        group = self.of(1, 1, channels)
        outs = self.of(2, 3, 4) if group == 1 else group * self.of(1, 2)
        weight, bias = self.fresh(outs, channels // group, *kernel), self.of(None, self.fresh(outs))
        return self.op("Conv", x, weight, bias, strides=strides, dilations=dilations, pads=pads, group=group)

    def normalised(self, x: SSAValue) -> SSAValue:
        channels = shape_of(x.type)[1]
        scale, bias = self.fresh(channels), self.fresh(channels)
        match self.of("batch", "batch", "instance", "group", "channels", "lrn"):
            case "batch":
                variance = self.constant(np.linspace(0.5, 2, channels, dtype=np.float32))
                return self.op("BatchNormalization", x, scale, bias, self.fresh(channels), variance)
            case "instance":
                return self.op("InstanceNormalization", x, scale, bias)
            case "group":
                return self.op("GroupNormalization", x, scale, bias, num_groups=channels)
            case "lrn":
                return self.op("LRN", x, size=3)
            case _:
                last = self.op("Transpose", x, perm=(0, 2, 3, 1))
                return self.op("Transpose", self.op("LayerNormalization", last, scale, bias), perm=(0, 3, 1, 2))

    def pool(self, x: SSAValue) -> SSAValue | None:
        kernel, stride = [self.of(2, 3), self.of(1, 2)], [self.of(1, 2), self.of(1, 2)]
        before, after = self.of(0, 1), self.of(0, 1)
        if any(d < k for d, k in zip(shape_of(x.type)[2:], kernel, strict=True)):
            return None
        window = {"kernel_shape": kernel, "strides": stride, "pads": (before, 0, after, 0), "ceil_mode": self.of(0, 1)}
        kind = self.of("MaxPool", "AveragePool")
        return self.op(kind, x, **window, **({"count_include_pad": self.of(0, 1)} if kind == "AveragePool" else {}))

    def gate(self, x: SSAValue) -> SSAValue:
        """Squeeze and excite."""
        channels = shape_of(x.type)[1]
        mean = self.op("GlobalAveragePool", x)
        scale = self.op("Sigmoid", self.op("Conv", mean, self.fresh(channels, channels, 1, 1)))
        return self.op("Mul", x, scale)

    def resized(self, x: SSAValue) -> SSAValue | None:
        scales = np.array([1, 1, self.of(0.5, 1.5, 2, 2, 3), self.of(1, 2)], np.float32)
        if shape_of(x.type)[2] < 4:
            return None
        mode = self.of("nearest", "linear", "cubic")
        places = self.of("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        how = {"nearest_mode": self.of("floor", "round_prefer_floor", "ceil")} if mode == "nearest" else {}
        return self.op(
            "Resize", x, None, self.constant(scales), mode=mode, coordinate_transformation_mode=places, **how
        )

    def spread(self, x: SSAValue) -> SSAValue | None:
        kernel, stride = self.of(2, 3, 4), self.of(1, 2, 3)
        before, after = self.of(0, 1), self.of(0, 1)
        weight = self.fresh(shape_of(x.type)[1], self.of(2, 3), kernel, 1)
        more = {"output_padding": (1, 0)} if stride > 1 and self.draw(st.booleans()) else {}
        if (shape_of(x.type)[2] - 1) * stride + kernel - before - after < 2:
            return None
        return self.op("ConvTranspose", x, weight, strides=(stride, 1), pads=(before, 0, after, 0), **more)

    def padded(self, x: SSAValue) -> SSAValue | None:
        before, after = self.draw(st.integers(0, 2)), self.draw(st.integers(0, 2))
        if shape_of(x.type)[2] < 4:
            return None
        return self.op(
            "Pad", x, self.ints(0, 0, before, 0, 0, 0, after, 1), mode=self.of("constant", "reflect", "edge")
        )

    def sliced(self, x: SSAValue) -> SSAValue | None:
        height = shape_of(x.type)[2]
        begin, step = self.of(0, 1), self.of(1, 2)
        if height < 5:
            return None
        return self.op("Slice", x, *(self.ints(n) for n in (begin, self.of(height, height - 1), 2, step)))

    def shuffled(self, x: SSAValue) -> SSAValue | None:
        _, channels, height, width = shape_of(x.type)
        if channels % 4 == 0:
            return self.op("DepthToSpace", x, blocksize=2, mode=self.of("DCR", "CRD"))
        if channels % 2 == 0 and self.draw(st.booleans()):
            n = shape_of(x.type)[0]
            apart = self.op("Reshape", x, self.ints(n, 2, channels // 2, height, width))
            turned = self.op("Transpose", apart, perm=(0, 2, 1, 3, 4))
            return self.op("Reshape", turned, self.ints(n, channels, height, width))
        return self.op("SpaceToDepth", x, blocksize=2) if height % 2 == width % 2 == 0 else None

    def tokens(self, x: SSAValue) -> SSAValue:
        """To places of a sequence, through a product, and back."""
        n, channels, height, width = shape_of(x.type)
        flat = self.op("Reshape", x, self.ints(n, channels, height * width))
        made = self.op("MatMul", self.op("Transpose", flat, perm=(0, 2, 1)), self.fresh(channels, 3))
        return self.op("Reshape", self.op("Transpose", made, perm=(0, 2, 1)), self.ints(n, 3, height, width))

    def grow(self, depth: int = 0) -> None:
        del depth
        steps = (
            self.activation, self.residual, self.joined, self.parted, self.convolution, self.normalised, self.pool,
            self.gate, self.resized, self.spread, self.padded, self.sliced, self.shuffled, self.tokens,
        )  # fmt: skip
        more = {f"convolution {k}": self.convolution for k in range(4)}
        self.step({step.__name__: step for step in steps} | more)


class Sequences(Net):
    def product(self, x: SSAValue) -> SSAValue:
        wide, out = shape_of(x.type)[-1], self.of(4, 6, 8)
        return self.op("Add", self.op("MatMul", x, self.fresh(wide, out)), self.fresh(out))

    def rows(self, x: SSAValue) -> SSAValue:
        """A product over all places of all samples."""
        n, length, wide = shape_of(x.type)
        flat = self.op("Reshape", x, self.ints(n * length, wide))
        made = self.op("Gemm", flat, self.fresh(6, wide), self.fresh(6), transB=1)
        return self.op("Reshape", self.op("Tanh", made), self.ints(n, length, 6))

    def normalised(self, x: SSAValue) -> SSAValue:
        wide = shape_of(x.type)[-1]
        match self.of("layer", "rms", "by hand", "softmax"):
            case "layer":
                return self.op("LayerNormalization", x, self.fresh(wide), self.fresh(wide))
            case "rms":
                mean = self.op("ReduceMean", self.op("Mul", x, x), self.ints(-1))
                return self.op("Div", x, self.op("Sqrt", self.op("Add", mean, self.constant(np.float32(1)))))
            case "softmax":
                return self.op("Softmax", x, axis=self.of(-1, 1))
            case _:
                return self.op("Sub", x, self.op("ReduceMean", x, self.ints(self.of(-1, 1))))

    def mlp(self, x: SSAValue) -> SSAValue:
        wide = shape_of(x.type)[-1]
        up, gate = (self.op("MatMul", x, self.fresh(wide, 8)) for _ in range(2))
        inner = self.op("Mul", up, self.op("Sigmoid", gate)) if self.draw(st.booleans()) else self.op("Gelu", up)
        return self.op("Add", x, self.op("MatMul", inner, self.fresh(8, wide)))

    def attention(self, x: SSAValue) -> SSAValue | None:
        n, length, wide = shape_of(x.type)
        if wide % 2:
            return None

        def heads(perm: tuple[int, ...]) -> SSAValue:
            made = self.op("Reshape", self.op("MatMul", x, self.fresh(wide, wide)), self.ints(n, length, 2, wide // 2))
            return self.op("Transpose", made, perm=perm)

        scores = self.op("MatMul", heads((0, 2, 1, 3)), heads((0, 2, 3, 1)))
        scores = self.op("Mul", scores, self.constant(np.float32(0.5)))
        if self.draw(st.booleans()):
            scores = self.op("Add", scores, self.constant(np.triu(np.full((length, length), -1e9, np.float32), 1)))
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), heads((0, 2, 1, 3)))
        flat = self.op("Reshape", self.op("Transpose", mixed, perm=(0, 2, 1, 3)), self.ints(n, length, wide))
        return self.op("Add", x, self.op("MatMul", flat, self.fresh(wide, wide)))

    def rotated(self, x: SSAValue) -> SSAValue | None:
        _, length, wide = shape_of(x.type)
        if wide % 2:
            return None
        one, two = self.halves(x, 2)
        turned = self.op("Concat", self.op("Neg", two), one, axis=2)
        cosines, sines = self.fresh(length, wide), self.fresh(length, wide)
        return self.op("Add", self.op("Mul", x, cosines), self.op("Mul", turned, sines))

    def grow(self, depth: int = 0) -> None:
        del depth
        steps = (
            self.activation, self.residual, self.joined, self.parted, self.product, self.rows, self.normalised,
            self.mlp, self.attention, self.rotated,
        )  # fmt: skip
        self.step({step.__name__: step for step in steps})


def grown(net: Net, shape: tuple[int, ...]) -> ModuleOp:
    """A module of one function of x, that returns its last value and perhaps the one before."""
    net.values = [net.block.insert_arg(tensor_type(F32, shape), 0)]
    for _ in range(net.draw(st.integers(3, 8))):
        net.grow()
    made = net.values[1:] or [net.activation(net.values[0])]
    returned = made[-2:] if net.of(False, False, True) else made[-1:]
    module = finished(net, returned, ["x"])
    for op in reversed(list(net.block.ops)):
        if op.results and not any(r.uses for r in op.results):
            op.detach()  # nobody goes on from it
            op.erase()
    return module


@st.composite
def images(draw: Callable[[st.SearchStrategy[Any]], Any]) -> ModuleOp:
    batch, channels = draw(st.sampled_from([1, 1, 1, 2, 3, 4])), draw(st.integers(2, 4))
    return grown(Images(draw), (batch, channels, draw(st.integers(8, 24)), draw(st.integers(4, 6))))


@st.composite
def sequences(draw: Callable[[st.SearchStrategy[Any]], Any]) -> ModuleOp:
    batch, length = draw(st.integers(1, 4)), draw(st.integers(4, 12))
    return grown(Sequences(draw), (batch, length, draw(st.sampled_from([4, 6, 8]))))
