"""
Where the bytes of a tensor may lie outside its message: spans of files, and the file that we append to ourselves.

A model is somebody else's data. Its external data must lie in the model's own folder, or a model could carry
any file of its user into what we write (onnx rejects the same: GHSA-538c-55jv-c5g9). A cache keeps models as links into
one folder of files (Hugging Face's `blobs`): data that lies where the model's own file lies belongs to it as well.
"""

from __future__ import annotations

import atexit
import os
import stat
import tempfile
from functools import cache
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from onnx import TensorProto

from ...dialects.ge.data import postponed, raw_bytes
from ...dialects.ge.errors import InputError
from .tensors import DATA_FIELDS, Unusable, dims_and_type, is_external

INLINE = 512  # bytes; what is not larger stays in the message
_ALIGNMENT = 64  # bytes; a cache line, and the widest vector


class Span(NamedTuple):
    """`length` bytes at `offset` of the file at the absolute `path`."""

    path: str
    offset: int
    length: int


def set_span(tensor: TensorProto, span: Span) -> None:
    """Makes `tensor` light: its data is `span`, and nothing of it is in the message."""
    for name in DATA_FIELDS.values():
        tensor.ClearField(name)
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", span.path), ("offset", span.offset), ("length", span.length)):
        tensor.external_data.add(key=key, value=str(value))


def set_raw(tensor: TensorProto, data: bytes) -> None:
    """Makes `data` the tensor's own."""
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")
    tensor.raw_data = data


def span_of(tensor: TensorProto) -> Span | None:
    """
    Where the data of a tensor of a light model lies; None if it lies in the tensor.

    raises     ValueError for a tensor as it stands in an ordinary model, with a relative location
    """
    if not is_external(tensor):
        return None
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path, offset, length = entries.get("location", ""), entries.get("offset"), entries.get("length")
    if not os.path.isabs(path) or offset is None or length is None:
        raise ValueError(f"tensor {tensor.name!r} is not light: its external data is {entries}")
    return Span(path, int(offset), int(length))


def read_span(span: Span) -> bytes:
    """
    The bytes of `span`.

    raises     InputError, naming the file, if it cannot be read or has become shorter
    """
    if (moved := postponed(span.path, span.offset, span.length)) is not None:
        return raw_bytes(moved)
    try:
        with open(span.path, "rb", buffering=0) as file:
            data = os.pread(file.fileno(), span.length, span.offset) if span.length < 2**30 else b""
            if len(data) < span.length:
                # One call reads 2 GB at most, and less where it likes.
                file.seek(span.offset)
                data = bytearray(span.length)
                rest = memoryview(data)
                while rest and (count := file.readinto(rest)):
                    rest = rest[count:]
                if rest:
                    raise InputError("has become shorter since it was read", span.path)
                data = bytes(data)
            return data
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", span.path) from error


class ExternalData:
    """
    Finds the external data of a model's tensors, looking at each file once.

    model      its file; None for a model in memory, which can only be light (absolute locations)
    """

    def __init__(self, model: Path | None) -> None:
        self._folder = None if model is None else model.parent
        # Where the model is, and where the file is that it may be a link to.
        self._homes = () if model is None else tuple({os.path.realpath(model.parent), str(model.resolve().parent)})
        self._files: dict[str, tuple[str, int]] = {}

    def find(self, tensor: TensorProto, needed: int) -> Span:
        """
        Where the data of the external `tensor` lies, `needed` bytes.

        raises     Unusable if it is nowhere, outside the folder, or not as long as it must be
        """
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        if location not in self._files:
            self._files[location] = self._open(location)
        path, size = self._files[location]

        offset = _natural(entries.get("offset") or "0", "offset")
        length = _natural(entries.get("length") or str(needed), "length")
        if length != needed:
            raise Unusable(f"has {length} bytes in {path}, {dims_and_type(tensor)} need {needed}")
        if offset + length > size:
            raise Unusable(f"should be bytes {offset} to {offset + length} of {path}, which has {size}")
        return Span(path, offset, length)

    def _open(self, location: str) -> tuple[str, int]:
        path = self._path(location)
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                raise Unusable(f"has its data in {path}, which is not a file")
            with open(path, "rb"):
                return path, status.st_size
        except OSError as error:
            raise Unusable(f"has its data in {path}: {error.strerror}") from error

    def _path(self, location: str) -> str:
        if not location or "\0" in location:
            raise Unusable("is external, without a usable location")
        if self._folder is None:
            if not os.path.isabs(location):
                raise Unusable(
                    f"has its data in {location}, and a model in memory has no folder: load its data, or give its path"
                )
            return location

        path = os.path.join(self._folder, location)
        real = os.path.realpath(path)
        climbs = os.path.normpath(location).startswith(os.pardir)
        inside = not climbs and any(os.path.commonpath([home, real]) == home for home in self._homes)
        if os.path.isabs(location) or not inside:
            raise Unusable(f"has its data in {location}, outside the model's folder, where we do not look")
        return path


def _natural(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Unusable(f"has an external {what} that is no number: {text[:40]!r}")
    return int(text)


class Spool:
    """A temporary file that takes the data that no file holds as it is; removed when the process ends."""

    def __init__(self) -> None:
        handle, self.path = tempfile.mkstemp(prefix="gecc-", suffix=".weights")
        self._file = FileIO(handle, "wb")
        self._owner = os.getpid()
        atexit.register(self.close)

    def __call__(self, data: bytes | bytearray | memoryview) -> tuple[str, int]:
        """
        Appends `data`; returns the file and the offset, a multiple of 64.

        raises     InputError, naming the file, if the disk is full
        """
        view = memoryview(data).cast("B")
        try:
            end = self._file.seek(0, os.SEEK_END)
            offset = self._file.seek(-(-end // _ALIGNMENT) * _ALIGNMENT)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", self.path) from error
        return self.path, offset

    def close(self) -> None:
        """Removes the file; models that are light on it mean nothing from then on."""
        atexit.unregister(self.close)
        self._file.close()
        if os.getpid() == self._owner:  # a forked child does not take its parent's weights away
            Path(self.path).unlink(missing_ok=True)


@cache
def shared_spool() -> Spool:
    """The process's own, made when first needed."""
    return Spool()
