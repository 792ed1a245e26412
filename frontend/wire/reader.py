"""
ONNX in, light: from a file, without reading its weights, or from a model in memory.

`read_light` steps over the wire format of the mapped file and parses only what lies between the large tensors. So time
and memory go with the graph, not with the weights.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeAlias

from onnx import AttributeProto, ModelProto, NodeProto, SparseTensorProto, TensorProto

from ...dialects.ge.errors import InputError
from .external import INLINE, ExternalData, Span, read_span, set_raw, set_span, shared_spool
from .protobuf import (
    CHILDREN,
    LENGTH_DELIMITED,
    MAX_DEPTH,
    Cut,
    Malformed,
    Message,
    children_of,
    cuts,
    fields,
    merge,
    node_label,
    open_child,
    parse_tensor,
    tensors,
)
from .tensors import (
    DATA_FIELDS,
    RAW_DATA,
    STORAGE,
    Unusable,
    byte_count,
    check_strings,
    dims_and_type,
    is_external,
    stored_bytes,
)

Spooler: TypeAlias = Callable[[bytes], tuple[str, int]]


def read_light(path: Path, spool: Spooler | None = None) -> ModelProto:
    """
    The light model of the file at `path`.

    spool      takes the weights that no file holds as they are (varints, unpacked floats); by default a temporary file
    raises     InputError, in one line: no file, no ONNX model, a tensor whose data is missing or of the wrong size
    cost       O(graph), milliseconds a thousand nodes; the mapped file's pages are not our memory
    """
    try:
        str(path).encode()
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise InputError("is a folder, not a model", path)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("is not a regular file", path)
        if status.st_size == 0:
            raise InputError("is empty", path)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _FileReader(data, path, spool).read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path) from error
    except UnicodeEncodeError as error:
        raise InputError("has a name that is not UTF-8, which ONNX cannot hold", repr(str(path))) from error
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", repr(str(path))) from error


class _FileReader:
    def __init__(self, data: mmap.mmap, path: Path, spool: Spooler | None) -> None:
        self._data = data
        self._path = path
        self._file = str(Path(path).absolute())
        self._spool = spool
        self._found: list[tuple[TensorProto, Span]] = []

    def read(self) -> ModelProto:
        model = ModelProto()
        try:
            large = cuts(self._data, 0, len(self._data), "ModelProto", lambda body, end: end - body > INLINE)
            self._merge(model, 0, len(self._data), large, None)
            _check(model)
        except Unusable as error:
            raise InputError(str(error), self._path) from error
        except Malformed as error:
            raise InputError(f"is not an ONNX model, or truncated: {error}{self._hint()}", self._path) from error
        if not model.HasField("graph"):
            raise InputError(f"is not an ONNX model: no graph in it{self._hint()}", self._path)
        if not model.opset_import:
            raise InputError("names no operator set (opset_import); truncated, or older than ONNX 1.0", self._path)

        self._settle(model)
        return model

    def _merge(self, message: Message, start: int, end: int, large: list[Cut], node: str | None) -> None:
        """Parses data[start:end] into `message`, but for the data of its large tensors."""
        at = start
        for cut in large:
            self._parse(message, at, cut.start)
            node = node_label(message, node)
            value = open_child(message, cut.child)
            if isinstance(value, TensorProto):
                self._merge_tensor(value, cut, node)
            else:
                self._merge(value, cut.body, cut.end, cut.inner, node)
            at = cut.end
        self._parse(message, at, end)

    def _parse(self, message: Message, start: int, end: int) -> None:
        if start < end:
            merge(message, self._data[start:end])

    def _merge_tensor(self, tensor: TensorProto, cut: Cut, node: str | None) -> None:
        rest = bytearray()
        at, count, last = cut.body, 0, None
        for field in fields(self._data, cut.body, cut.end):
            if field.number in DATA_FIELDS:
                rest += self._data[at : field.start]
                at, count, last = field.end, count + 1, field
        rest += self._data[at : cut.end]

        head = parse_tensor(bytes(rest))
        try:
            needed = byte_count(head)
            if last is None or needed is None or needed <= INLINE:
                return self._parse(tensor, cut.body, cut.end)
            if is_external(head):
                raise Unusable("is external and holds data as well")

            tensor.MergeFrom(head)
            mappable = last.number == RAW_DATA or (
                DATA_FIELDS[last.number] == STORAGE[head.data_type].field and last.number in _CONTIGUOUS
            )
            if count == 1 and mappable and last.wire == LENGTH_DELIMITED:
                if last.end - last.body != needed:
                    raise Unusable(f"holds {last.end - last.body} bytes, {dims_and_type(head)} need {needed}")
                span = Span(self._file, last.body, needed)
            else:
                whole = stored_bytes(parse_tensor(self._data[cut.body : cut.end]))
                span = self._put(whole)
        except Unusable as error:
            raise _input_error(error, head, self._path, node) from error
        self._found.append((tensor, span))
        return None

    def _settle(self, model: ModelProto) -> None:
        """
        Points every large tensor to its bytes.

        Those of the file itself come last: until then an external tensor is the author's, and not to be trusted.
        """
        external = ExternalData(Path(self._file))
        empty: list[tuple[str | None, TensorProto, Unusable]] = []
        for node, tensor in tensors(model):
            try:
                if is_external(tensor):
                    _settle_external(tensor, external)
                elif (needed := byte_count(tensor)) is None:
                    check_strings(tensor)
                elif needed <= INLINE:
                    stored_bytes(tensor)
                elif _holds_data(tensor):  # many elements in few bytes: small numbers, as varints
                    set_span(tensor, self._put(stored_bytes(tensor)))
                else:
                    error = Unusable(f"holds no data, {dims_and_type(tensor)} need {needed} bytes")
                    empty.append((node, tensor, error))
            except Unusable as error:
                raise _input_error(error, tensor, self._path, node) from error

        for tensor, span in self._found:
            set_span(tensor, span)
        for node, tensor, error in empty:
            if not is_external(tensor):
                raise _input_error(error, tensor, self._path, node)

    def _put(self, data: bytes) -> Span:
        return Span(*(self._spool or shared_spool())(data), len(data))

    def _hint(self) -> str:
        """What the file may be instead."""
        start = self._data[:256]
        if start.startswith(b"\x89PNG"):
            return " (it is a PNG image)"
        if start.startswith(b"PK\x03\x04"):
            return " (it is a ZIP archive)"
        if all(byte >= 0x20 or byte in b"\t\n\r" for byte in start):
            return " (it looks like text)"
        return ""


_CONTIGUOUS = {number for number, name in DATA_FIELDS.items() if name in ("float_data", "double_data")}


def _holds_data(tensor: TensorProto) -> bool:
    return any(len(getattr(tensor, name)) for name in DATA_FIELDS.values())


def _input_error(error: Unusable, tensor: TensorProto, file: Path | None, node: str | None) -> InputError:
    name = f'tensor "{tensor.name}"' if tensor.name else "its tensor" if node else "a tensor without a name"
    return InputError(f"{name} {error}", file, node)


def _settle_external(tensor: TensorProto, external: ExternalData) -> None:
    """Makes an external tensor a span; a small one is read."""
    needed = byte_count(tensor)
    if needed is None:
        raise Unusable("holds strings, which cannot be external")
    if _holds_data(tensor):
        raise Unusable("is external and holds data as well")
    span = external.find(tensor, needed)
    if needed <= INLINE:
        set_raw(tensor, read_span(span))
    else:
        set_span(tensor, span)


def _check(message: Any, depth: int = 0) -> None:
    """
    Refuses text that is not UTF-8, which would come out as bytes; nesting that could not be written again; and sparse
    tensors in external data, since these stay as they are and nobody would look where they point.

    raises     Malformed, Unusable
    cost       O(fields)
    """
    if depth > MAX_DEPTH:
        raise Malformed(f"messages are nested deeper than {MAX_DEPTH}")
    if isinstance(message, SparseTensorProto) and (is_external(message.values) or is_external(message.indices)):
        raise Unusable(f'sparse tensor "{message.values.name}" is external, which is not supported')
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            if isinstance(value, bytes) or any(isinstance(item, bytes) for item in value):
                raise Malformed(f"the text in '{field.name}' is not UTF-8")
        elif field.type == field.TYPE_MESSAGE:
            for item in (value,) if hasattr(value, "ListFields") else value:
                _check(item, depth + 1)


# ------------------------------------------------------------------------------------------------ from memory


def lighten(proto: ModelProto, spool: Spooler) -> ModelProto:
    """
    The light model of `proto`, which stays as it is; large data goes to `spool`, which returns its file and offset.

    A light model may be given: the absolute locations in it are believed.
    raises     InputError for a tensor whose data is missing or of the wrong size
    cost       O(bytes); beside `proto`, one tensor at a time
    """
    model = ModelProto()
    _lighten(proto, model, spool, ExternalData(None), None)
    try:
        _check(model)
    except (Malformed, Unusable) as error:
        raise InputError(f"the model cannot be used: {error}") from error
    return model


def _lighten(source: Message, target: Any, spool: Spooler, external: ExternalData, node: str | None) -> None:
    if not _may_hold_tensors(source):
        target.CopyFrom(source)
        return

    node = node_label(source, node)
    children = CHILDREN[source.DESCRIPTOR.name].values()
    _copy_but(source, target, {child.name for child in children})
    for child in children:
        for value in children_of(source, child):
            copy = open_child(target, child)
            if not (isinstance(value, TensorProto) and isinstance(copy, TensorProto)):
                _lighten(value, copy, spool, external, node)
                continue
            try:
                _lighten_tensor(value, copy, spool, external)
            except Unusable as error:
                raise _input_error(error, value, None, node) from error


def _may_hold_tensors(message: Message) -> bool:
    if isinstance(message, NodeProto):
        return any(_may_hold_tensors(attribute) for attribute in message.attribute)
    if isinstance(message, AttributeProto):
        return message.HasField("t") or message.HasField("g") or bool(message.tensors) or bool(message.graphs)
    return True


def _lighten_tensor(source: TensorProto, target: TensorProto, spool: Spooler, external: ExternalData) -> None:
    needed = byte_count(source)
    if is_external(source):
        target.CopyFrom(source)
        _settle_external(target, external)
    elif needed is None:
        check_strings(source)
        target.CopyFrom(source)
    else:
        data = stored_bytes(source)
        if needed <= INLINE:
            target.CopyFrom(source)
        else:
            _copy_but(source, target, DATA_FIELDS.values())
            set_span(target, Span(*spool(data), needed))


def _copy_but(source: Message, target: Any, names: Collection[str]) -> None:
    """Copies the fields of `source`, without touching (so: without copying) those in `names`."""
    for field in source.DESCRIPTOR.fields:
        name = field.name
        if name in names:
            continue
        value = getattr(source, name)
        if hasattr(value, "MergeFrom"):  # a message or a repeated field
            if not hasattr(value, "ListFields"):
                getattr(target, name).MergeFrom(value)
            elif source.HasField(name):
                getattr(target, name).CopyFrom(value)
        elif source.HasField(name):
            setattr(target, name, value)
