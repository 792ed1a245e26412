"""Tile cases of ops that move elements: views, slices, rearrangements, gathers, scatters, resizing."""

from typing import Any

import numpy as np

from gecc.dialects.ge.gather import GatherElementsOp, GatherNDOp, GatherOp, OneHotOp, ScatterElementsOp, ScatterNDOp
from gecc.dialects.ge.movement import FlattenOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp
from gecc.dialects.ge.padding import PadOp
from gecc.dialects.ge.rearrange import CenterCropPadOp, DepthToSpaceOp, ReverseSequenceOp, SpaceToDepthOp, TriluOp
from gecc.dialects.ge.resize import ResizeOp
from gecc.dialects.ge.slicing import ConcatOp, ExpandOp, SliceOp, SplitOp, TileOp

Rng = np.random.Generator


def one_of(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def real(rng: Rng, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def sizes(rng: Rng, count: int, least: int = 1, most: int = 5) -> list[int]:
    return rng.integers(least, most + 1, count).tolist()


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def axis_in(rng: Rng, rank: int) -> int:
    return int(rng.integers(-rank, rank))


def any_shape(rng: Rng, least: int = 1, most: int = 4) -> list[int]:
    return sizes(rng, int(rng.integers(least, most + 1)))


# ------------------------------------------------------------------ axes and views


def transpose(rng: Rng) -> Any:
    shape = any_shape(rng)
    return TransposeOp, [real(rng, *shape)], {"perm": rng.permutation(len(shape)).tolist()}


def reshape(rng: Rng) -> Any:
    a, b, c = sizes(rng, 3)
    if rng.integers(2):
        return ReshapeOp, [real(rng, 1, a * b, c, c), ints(*one_of(rng, (1, a, b, c, c), (a, -1, c, c)))], {}
    shape = one_of(rng, (0, -1), (0, 0, -1), (-1, b * c), (0, c, b), (-1, b, c), (a * b, -1), (b, a, 0), (a, b * c))
    return ReshapeOp, [real(rng, a, b, c), ints(*shape)], {}


def squeeze(rng: Rng) -> Any:
    shape = any_shape(rng)
    at = int(rng.integers(0, len(shape) + 1))
    axes = one_of(rng, ints(at), ints(at - len(shape) - 1), None)
    return SqueezeOp, [real(rng, *shape[:at], 1, *shape[at:]), axes], {}


def unsqueeze(rng: Rng) -> Any:
    shape = any_shape(rng)
    return UnsqueezeOp, [real(rng, *shape), one_of(rng, ints(0, -1), ints(1), ints(-2))], {}


def flatten(rng: Rng) -> Any:
    shape = any_shape(rng)
    return FlattenOp, [real(rng, *shape)], {"axis": int(rng.integers(-len(shape), len(shape) + 1))}


# ------------------------------------------------------------------ slices and joins


def concat(rng: Rng) -> Any:
    shape = any_shape(rng)
    axis = axis_in(rng, len(shape))
    inputs: list[np.ndarray] = []
    for size in sizes(rng, int(rng.integers(1, 4)), 0):
        shape[axis] = size
        inputs.append(real(rng, *shape))
    return ConcatOp, inputs, {"axis": axis}


def split(rng: Rng) -> Any:
    shape = any_shape(rng)
    axis, count, part = axis_in(rng, len(shape)), *sizes(rng, 2, 1, 3)
    shape[axis] = count * part
    lengths = one_of(rng, None, ints(*[part] * count))
    return SplitOp, [real(rng, *shape), lengths], {"axis": axis, "results": count}


def slice_(rng: Rng) -> Any:
    shape = any_shape(rng)
    axes = rng.permutation(len(shape))[: int(rng.integers(1, len(shape) + 1))]
    starts, ends = rng.integers(-4, 5, len(axes)), one_of(rng, rng.integers(-4, 5, len(axes)), axes * 0 + 2**40)
    steps = one_of(rng, None, rng.integers(1, 3, len(axes)), axes * 0 - 1)
    return SliceOp, [real(rng, *shape), starts, ends, axes, steps], {}


def pad(rng: Rng) -> Any:
    shape = sizes(rng, int(rng.integers(1, 5)), 3, 6)
    count = int(rng.integers(1, len(shape) + 1))
    axes = rng.permutation(len(shape))[:count]
    pads = rng.integers(-1, 6 if rng.integers(2) else 3, 2 * count)
    mode = one_of(rng, "constant", "edge", "reflect", "wrap")
    fill = one_of(rng, None, np.float32(7)) if mode == "constant" else None
    return PadOp, [real(rng, *shape), pads, fill, axes], {"mode": mode}


def expand(rng: Rng) -> Any:
    shape = any_shape(rng)
    wanted = [int(one_of(rng, 1, d)) for d in shape]
    own = [int(one_of(rng, d, 1)) if w != 1 else d for d, w in zip(shape, wanted, strict=True)]
    return ExpandOp, [real(rng, *own), ints(*one_of(rng, [], [2], [1]), *wanted)], {}


def tile(rng: Rng) -> Any:
    shape = any_shape(rng)
    return TileOp, [real(rng, *shape), rng.integers(1, 3, len(shape))], {}


# ------------------------------------------------------------------ rearrangements


def depth_to_space(rng: Rng) -> Any:
    n, c, h, w, b = sizes(rng, 5, 1, 3)
    mode = one_of(rng, "DCR", "CRD")
    return DepthToSpaceOp, [real(rng, n, c * b * b, h, w)], {"blocksize": b, "mode": mode}


def space_to_depth(rng: Rng) -> Any:
    n, c, h, w, b = sizes(rng, 5, 1, 3)
    mode = one_of(rng, "DCR", "CRD")
    return SpaceToDepthOp, [real(rng, n, c, h * b, w * b)], {"blocksize": b, "mode": mode}


def trilu(rng: Rng) -> Any:
    k = one_of(rng, None, np.array(rng.integers(-3, 4), np.int64))
    return TriluOp, [real(rng, *any_shape(rng, 2)), k], {"upper": int(rng.integers(2))}


def reverse_sequence(rng: Rng) -> Any:
    shape = any_shape(rng, 2)
    batch = int(rng.integers(2))
    lengths = rng.integers(1, shape[1 - batch] + 1, shape[batch])
    return ReverseSequenceOp, [real(rng, *shape), lengths], {"batch_axis": batch, "time_axis": 1 - batch}


# ------------------------------------------------------------------ indices


def sizes_to(rng: Rng, shape: list[int]) -> list[int]:
    """The shape, or one that it covers."""
    return [int(rng.integers(1, d + 1)) if rng.integers(3) == 0 else d for d in shape]


def gather(rng: Rng) -> Any:
    shape = any_shape(rng)
    axis = axis_in(rng, len(shape))
    indices = rng.integers(-shape[axis], shape[axis], any_shape(rng, 0, 2))
    return GatherOp, [real(rng, *shape), np.asarray(indices)], {"axis": axis}


def gather_elements(rng: Rng) -> Any:
    shape = any_shape(rng)
    axis = axis_in(rng, len(shape))
    over = sizes_to(rng, shape)
    over[axis] = int(rng.integers(1, 7))
    return GatherElementsOp, [real(rng, *shape), rng.integers(-shape[axis], shape[axis], over)], {"axis": axis}


def gather_nd(rng: Rng) -> Any:
    shape = any_shape(rng, 2)
    batch = int(rng.integers(0, len(shape)))
    n = int(rng.integers(1, len(shape) - batch + 1))
    outer = [*shape[:batch], *any_shape(rng, 1, 2)]
    indices = np.stack([rng.integers(-d, d, outer) for d in shape[batch : batch + n]], -1)
    return GatherNDOp, [real(rng, *shape), indices], {"batch_dims": batch}


def scatter_elements(rng: Rng) -> Any:
    shape = any_shape(rng)
    axis = axis_in(rng, len(shape))
    over = sizes_to(rng, shape)
    indices = rng.integers(-shape[axis], shape[axis], over)
    reduction = one_of(rng, "none", "add", "mul", "max", "min")
    return ScatterElementsOp, [real(rng, *shape), indices, real(rng, *over)], {"axis": axis, "reduction": reduction}


def scatter_nd(rng: Rng) -> Any:
    shape = any_shape(rng)
    n = int(rng.integers(1, len(shape) + 1))
    outer = any_shape(rng, 1, 2)
    indices = np.stack([rng.integers(-d, d, outer) for d in shape[:n]], -1)
    reduction = one_of(rng, "none", "add", "mul", "max", "min")
    return ScatterNDOp, [real(rng, *shape), indices, real(rng, *outer, *shape[n:])], {"reduction": reduction}


def one_hot(rng: Rng) -> Any:
    shape, depth = any_shape(rng), int(rng.integers(1, 5))
    indices = rng.integers(-depth - 1, depth + 1, shape)
    values = np.float32([-1, 2])
    return OneHotOp, [indices, np.array(depth, np.int64), values], {"axis": axis_in(rng, len(shape) + 1)}


# ------------------------------------------------------------------ resizing


def resize(rng: Rng) -> Any:
    n, c = sizes(rng, 2, 1, 3)
    h, w = sizes(rng, 2, 1, 7)
    attributes: dict[str, Any] = {
        "mode": one_of(rng, "nearest", "linear", "cubic"),
        "coordinate_transformation_mode": one_of(
            rng, "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"
        ),
        "nearest_mode": one_of(rng, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        "exclude_outside": one_of(rng, 0, 1),
        "antialias": int(rng.integers(8) == 0),
    }
    if attributes["antialias"]:
        attributes["mode"] = "linear"
    if rng.integers(2):
        factors = [one_of(rng, 2, 2, 3, 4, 1, 1.5, 0.6, 0.5) if size > 1 else 2 for size in (h, w)]
        scales, wanted = np.float32([1, 1, *factors]), None
    else:
        scales, wanted = None, ints(*sizes(rng, 2, 1, 12))
        attributes["axes"] = one_of(rng, [2, 3], [-1, 2])
        attributes["keep_aspect_ratio_policy"] = one_of(rng, "stretch", "stretch", "not_larger", "not_smaller")
    shape = (n, c, h, w)
    if rng.integers(2):
        attributes["data_format"], shape = "NHWC", (n, h, w, c)
    return ResizeOp, [real(rng, *shape), None, scales, wanted], attributes


def center_crop_pad(rng: Rng) -> Any:
    shape = any_shape(rng)
    axes = rng.permutation(len(shape))[: int(rng.integers(1, len(shape) + 1))].tolist()
    return CenterCropPadOp, [real(rng, *shape), ints(*sizes(rng, len(axes), 0, 7))], {"axes": axes}


CASES = {
    "ge.transpose": transpose,
    "ge.reshape": reshape,
    "ge.squeeze": squeeze,
    "ge.unsqueeze": unsqueeze,
    "ge.flatten": flatten,
    "ge.concat": concat,
    "ge.split": split,
    "ge.slice": slice_,
    "ge.center_crop_pad": center_crop_pad,
    "ge.pad": pad,
    "ge.expand": expand,
    "ge.tile": tile,
    "ge.depth_to_space": depth_to_space,
    "ge.space_to_depth": space_to_depth,
    "ge.trilu": trilu,
    "ge.reverse_sequence": reverse_sequence,
    "ge.gather": gather,
    "ge.gather_elements": gather_elements,
    "ge.gather_nd": gather_nd,
    "ge.scatter_elements": scatter_elements,
    "ge.scatter_nd": scatter_nd,
    "ge.one_hot": one_hot,
    "ge.resize": resize,
}
