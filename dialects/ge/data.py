"""
The data of constants: attribute <-> numpy array, and the files that hold the large ones.

A weights file is mapped on first use and never read whole; an array of a weight is a view of the mapping. What a pass
computes and is too large for the text goes to a *sidecar*, one file a process, which the driver copies beside the
output when the module is written.

A large weight that a pass only moved (transposed, cut) is a view of a mapping still. It gets its place in the sidecar
but is not written there: whoever writes the output takes it from where it lies (`postponed`), so that its bytes go over
the disk once. So does what was computed, as long as it is not too much to keep. `settle` writes what was put off, for
those who want the file itself.
"""

from __future__ import annotations

import atexit
import bisect
import hashlib
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatData,
    IntAttr,
    ModuleOp,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation

from .attributes import RawAttr, SplatAttr, StringsAttr, WeightAttr, strings
from .errors import InputError
from .types import Element, StringType, byte_size, element_of, is_float, is_tensor, shape_of, tensor_type

Array: TypeAlias = npt.NDArray[Any]

INLINE = 512
"""Bytes up to which a constant's data stands in the text; more goes to a file."""

SIDECAR = "folded"
"""Symbol of the `ge.weights` op of the process's sidecar."""

_CHUNK = 1 << 20  # bytes: what is copied stays in a core's cache until it is written
_KEPT = 64 << 20
"""Bytes of computed weights that are kept in memory."""
_BLOCK = 64  # elements


def value_of(array: Array) -> Attribute:
    """
    The attribute that holds a small array exactly. Equal arrays of one type give equal attributes.

    raises     ValueError for more than INLINE bytes that are not one element repeated
    """
    element = element_of(array.dtype)
    if element.type == StringType():
        return StringsAttr(strings(str(x) for x in array.ravel()))
    raw = raw_bytes(array) if array.size <= 1 or element.bits < 8 else None
    if raw is None:
        first = np.asarray(array.flat[0]).tobytes()
        if _all_same(array, first):
            return _splat(first, element)
        raw = raw_bytes(array) if array.nbytes <= INLINE else None
    if raw is not None and element.dtype.kind == "b":
        raw = np.where(array, np.uint8(255), np.uint8(0)).tobytes()  # i1 is signed to MLIR: what xDSL's parser gives
    if raw is None or len(raw) > INLINE:
        raise ValueError("too large for the text")
    if element.bits >= 8 and element.dtype.kind in "biuf" and (not is_float(element.type) or _prints_exactly(array)):
        return DenseIntOrFPElementsAttr(cast(Any, tensor_type(element.type, array.shape)), BytesAttr(raw))
    return RawAttr(BytesAttr(raw))


def _splat(first: bytes, element: Element) -> SplatAttr:
    number = np.frombuffer(first, element.dtype)[0]
    if element.dtype.kind in "biu":
        return SplatAttr(IntAttr(int(number)))
    if is_float(element.type):
        value = float(number)
        if math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0):
            return SplatAttr(FloatData(value))
    return SplatAttr(BytesAttr(first))


def _splat_element(value: SplatAttr, element: Attribute) -> Array:
    if isinstance(value.element, BytesAttr):
        return from_raw(value.element.data, element, ())
    return np.asarray(value.element.data).astype(element_of(element).dtype)


def _all_same(array: Array, first: bytes) -> bool:
    if all(s == 0 for s, d in zip(array.strides, array.shape, strict=True) if d > 1):
        return True
    # The common case without a pass over the data, which for a transposed weight would also be a copy of it.
    if array.size > INLINE and any(np.asarray(array.flat[k]).tobytes() != first for k in (1, array.size // 2, -1)):
        return False
    flat = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1)
    return bool((flat == np.frombuffer(first, np.uint8)).all())


def _prints_exactly(array: Array) -> bool:
    """Whether MLIR's text for these floats, as xDSL writes and reads it, gives them back bit for bit."""
    if array.dtype.name not in ("float16", "float32", "float64"):
        return False
    if not np.isfinite(array).all() or (np.signbit(array) & (array == 0)).any():
        return False
    digits = {4: 9, 8: 17}.get(array.dtype.itemsize)

    def exact(x: np.generic) -> bool:
        value = float(cast(Any, x))
        if array.dtype.type(float(f"{value:.5e}")) == x:
            return True
        return "." in (f"{value:.{digits}g}" if digits else repr(value))

    # Below a million six digits are the number, or there is a point among the digits that it takes.
    return all(exact(x) for x in array[np.abs(array.astype(np.float64)) >= 1e6])


def raw_bytes(array: Array) -> bytes:
    """The bytes as ONNX's raw_data has them: little-endian, row-major, elements of less than a byte packed."""
    bits = element_of(array.dtype).bits
    if bits >= 8:
        return np.ascontiguousarray(array).tobytes()
    per = 8 // bits
    flat = np.ascontiguousarray(array).ravel().view(np.uint8) & ((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % per, np.uint8)]).reshape(-1, per)
    packed = np.zeros(len(flat), np.uint8)
    for k in range(per):
        packed |= flat[:, k] << (bits * k)
    return packed.tobytes()


def from_raw(data: bytes | memoryview | Array, element: Attribute, shape: tuple[int, ...]) -> Array:
    """The inverse of `raw_bytes`; a view of `data` where elements are whole bytes and no truth values."""
    row = element_of(element)
    count = math.prod(shape)
    if row.dtype.kind == "b":  # any byte but 0 is true, also to numpy, which yet counts with the bytes as they are
        return (np.frombuffer(data, np.uint8, count) != 0).reshape(shape)
    if row.bits >= 8:
        return np.frombuffer(data, row.dtype, count).reshape(shape)
    per = 8 // row.bits
    packed = np.frombuffer(data, np.uint8)[: -(-count // per)]
    parts = np.stack([(packed >> (row.bits * k)) & ((1 << row.bits) - 1) for k in range(per)], axis=-1)
    flat = parts.ravel()[:count]
    if row.dtype.name.startswith("int"):  # the sign bit stands in the middle of the byte
        sign = 1 << (row.bits - 1)
        return ((flat ^ sign).astype(np.int8) - sign).astype(row.dtype).reshape(shape)
    return (flat.view(row.dtype) if row.dtype.name.startswith("float") else flat.astype(row.dtype)).reshape(shape)


@lru_cache(maxsize=64)
def _mapping(path: str, size: int, mtime: int) -> Array:
    del size, mtime  # they only tell a changed file from the one that was mapped
    return np.memmap(path, np.uint8, mode="r")


def mapped(path: str) -> Array:
    """The bytes of a file, mapped. Raises InputError where there is none."""
    try:
        stat = os.stat(path)
        return _mapping(path, stat.st_size, stat.st_mtime_ns) if stat.st_size else np.zeros(0, np.uint8)
    except OSError as err:
        raise InputError(f"weights cannot be read: {err.strerror or err}", file=path) from None


def find_module(op: Operation) -> ModuleOp | None:
    top: Operation | None = op
    while top is not None and not isinstance(top, ModuleOp):
        top = top.parent_op()
    return top


def weight_files(module: ModuleOp) -> Iterator[Operation]:
    """The module's `ge.weights` ops, which stand before all else."""
    for op in module.body.block.ops:
        if op.name != "ge.weights":
            break
        yield op


def weights_path(module: ModuleOp | None, attr: WeightAttr) -> str | None:
    """The file of a weight, None where its module does not name it."""
    for op in weight_files(module) if module else ():
        if cast(Any, op.properties["sym_name"]).data == attr.file.string_value():
            return cast(Any, op.properties["path"]).data
    return None


def array_of(value: Attribute, type_: Attribute, module: ModuleOp | None) -> Array:
    """
    The data of a constant as a read-only array; a view of the mapping for a weight, a broadcast for a splat.

    raises     InputError where a weights file is missing or too short
    """
    assert is_tensor(type_)
    element, shape = type_.element_type, shape_of(type_)
    match value:
        case SplatAttr():
            return np.broadcast_to(_splat_element(value, element), shape)
        case RawAttr():
            return from_raw(value.data.data, element, shape)
        case StringsAttr():
            return np.array(value.texts(), dtype=object).reshape(shape)
        case WeightAttr():
            path = weights_path(module, value)
            if path is None:
                raise InputError(f"no ge.weights @{value.file.string_value()} in the module")
            begin, size = value.offset.data, byte_size(element, math.prod(shape))
            moved = postponed(path, begin, size)
            if moved is not None and moved.shape == shape and moved.dtype == element_of(element).dtype:
                return moved
            if moved is not None:
                settle()
            data = mapped(path)
            if begin + size > len(data):
                raise InputError(f"a weight of {size} bytes at {begin} ends past the file's {len(data)}", file=path)
            return from_raw(data[begin : begin + size], element, shape)
        case DenseIntOrFPElementsAttr():
            dtype = element_of(element).dtype
            dense = cast("DenseIntOrFPElementsAttr[Any]", value)
            if dtype.name.startswith(("int4", "uint4", "int2", "uint2")):
                data = np.array(dense.get_values()).astype(dtype)
            elif dtype.kind == "b":
                data = np.frombuffer(dense.data.data, np.uint8) != 0
            else:
                data = np.frombuffer(dense.data.data, dtype)
            # MLIR writes one element for many that are equal.
            return data.reshape(shape) if data.size == math.prod(shape) else np.broadcast_to(data[0], shape)
        case _:
            raise InputError(f"a constant's value must be dense or one of ge's own forms, got {value.name}")


@lru_cache(maxsize=1)
def sidecar_path() -> Path:
    """The process's sidecar, gone when it ends."""
    folder = tempfile.mkdtemp(prefix="gecc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / "folded.weights"


class _Postponed:
    """Arrays that have a place in the sidecar and are not written yet, by where they begin; in rising order."""

    def __init__(self) -> None:
        self.arrays: dict[int, Array] = {}
        self._starts: list[int] = []
        self._kept = 0

    def takes(self, array: Array) -> bool:
        """Whether an array need not be written now: a large view of a file, or few bytes of its own."""
        if element_of(array.dtype).bits < 8:
            return False
        if array.base is None:
            return array.nbytes + self._kept <= _KEPT
        return array.nbytes >= _CHUNK and _is_mapped(array)

    def add(self, begin: int, array: Array) -> None:
        self.arrays[begin] = array
        self._starts.append(begin)
        if array.base is None:
            self._kept += array.nbytes

    def overlap(self, begin: int, size: int) -> bool:
        at = bisect.bisect_left(self._starts, begin + size) - 1
        return at >= 0 and self._starts[at] + self.arrays[self._starts[at]].nbytes > begin

    def clear(self) -> None:
        self.arrays.clear()
        self._starts.clear()
        self._kept = 0


_postponed = _Postponed()


def append_to_sidecar(array: Array) -> int:
    """
    Gives `array` a place at the end of the sidecar, aligned to 64, and writes it there unless it is a large view of
    another file, or owns its bytes and they are few; returns where it begins. From now on the array is read-only.
    """
    array.flags.writeable = False
    with sidecar_path().open("ab") as file:
        begin = -(-file.tell() // 64) * 64
        if _postponed.takes(array):
            file.truncate(begin + array.nbytes)
            _postponed.add(begin, array)
            return begin
        file.write(b"\0" * (begin - file.tell()))
        for piece in pieces(array):
            file.write(piece)
    return begin


_places: dict[bytes, int] = {}
"""Where bytes lie in the sidecar, by their digest."""


def shared_in_sidecar(array: Array) -> int:
    """As append_to_sidecar, but what has equal bytes there already gets the same place. Reads the array."""
    digest = hashlib.blake2b(digest_size=32)
    for piece in pieces(array):
        digest.update(piece)
    key = digest.digest()
    if key not in _places:
        _places[key] = append_to_sidecar(array)
    return _places[key]


def postponed(path: str, begin: int, size: int) -> Array | None:
    """
    The array that has its place at these bytes of the file, where that file is the sidecar and does not hold it yet.

    Bytes that are only a part of one such place, or of several, are written first.
    """
    if not _postponed.arrays or path != str(sidecar_path()):
        return None
    array = _postponed.arrays.get(begin)
    if array is not None and array.nbytes == size:
        return array
    if _postponed.overlap(begin, size):
        settle()
    return None


def settle() -> None:
    """Writes what was put off into the sidecar."""
    if _postponed.arrays:
        with sidecar_path().open("r+b") as file:
            for begin, array in _postponed.arrays.items():
                file.seek(begin)
                for piece in pieces(array):
                    file.write(piece)
        _postponed.clear()


def _is_mapped(array: Array) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = cast(Any, base).base
    return isinstance(base, mmap.mmap)


def pieces(array: Array) -> Iterator[bytes | memoryview]:
    """
    The bytes of an array as `raw_bytes` has them, in parts of about a chunk: copies of whole weights cost more than
    writing them.
    """
    if element_of(array.dtype).bits < 8:
        yield raw_bytes(array)
    elif array.nbytes <= _CHUNK or array.ndim == 0:
        yield _in_order(array).reshape(-1).view(np.uint8).data
    else:
        step = max(1, len(array) * _CHUNK // array.nbytes)
        for begin in range(0, len(array), step):
            yield from pieces(array[begin : begin + step] if step > 1 else array[begin])


def _in_order(array: Array) -> Array:
    """The array in row-major order; a transposed one block by block, three times as fast as row by row."""
    if array.flags.c_contiguous or array.ndim < 2:
        return np.ascontiguousarray(array)
    ordered = np.empty(array.shape, array.dtype)
    for begin in range(0, array.shape[-1], _BLOCK):
        ordered[..., begin : begin + _BLOCK] = array[..., begin : begin + _BLOCK]
    return ordered


def weight_in(symbol: str, offset: int) -> WeightAttr:
    return WeightAttr(SymbolRefAttr(symbol), IntAttr(offset))
