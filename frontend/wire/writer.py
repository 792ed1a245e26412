"""
Light models out: into a file, streaming the weights from where they lie, or into memory.

The light message is serialised (it is small), and copied with its external tensors replaced. A length stands before
what it counts, so the pieces of the file (bytes, and spans of other files) are laid out first and written then.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TypeAlias

from onnx import ModelProto, TensorProto

from ...dialects.ge.data import pieces as pieces_of
from ...dialects.ge.data import postponed
from ...dialects.ge.errors import InputError, UsageError
from .external import Span, read_span, set_raw, set_span, span_of
from .protobuf import Cut, cuts, header, parse_tensor, tensors
from .tensors import RAW_DATA

Piece: TypeAlias = bytes | Span
Place: TypeAlias = Callable[[TensorProto, Span], list[Piece]]

LIMIT = 2_000_000_000  # bytes; protobuf's is 2**31 - 1, and other tools add shapes and names to a model
_CHUNK = 4 << 20  # bytes
_LARGE = 4 << 20  # bytes
_PAGE = 4096  # bytes; so that each tensor can be mapped by itself


def write_model(light: ModelProto, path: Path, external: bool | None = None) -> None:
    """
    Writes a light model as an ordinary one: complete, or not at all.

    external   True: the weights go to `<name>.data` beside it; False: into it; None: into it if it stays below 2 GB
    raises     InputError, naming the file, if it cannot be written or a file with weights cannot be read; then what
               stood at `path` still does, with its weights. UsageError for more than 2 GB with external=False
    cost       O(bytes), 8 MB of memory

    The model may be light on the files that it overwrites. Afterwards it no longer fits them, nor does any other.
    """
    path = Path(path)
    data = path.with_name(path.name + ".data")
    text = light.SerializeToString(deterministic=True)

    pieces = _lay_out(text, _inline)
    beside: list[Piece] = []
    if external or (external is None and _size(pieces) > LIMIT):
        _check_name(data)
        sidecar = _Sidecar(data.name)
        pieces, beside = _lay_out(text, sidecar.place), sidecar.pieces
    if _size(pieces) > LIMIT:
        message = f"{path}: {_size(pieces)} bytes do not fit into one ONNX file; let the weights be external"
        raise UsageError(message) if external is False else InputError("has over 2 GB without its weights", path)

    # The weights come first: a model never stands beside weights of an older one for longer than a rename takes.
    files = [(data, beside), (path, pieces)] if beside else [(path, pieces)]
    with _temporary([target for target, _ in files]) as temporary:
        for (target, content), (file, _) in zip(files, temporary, strict=True):
            _write(content, file, target)
        _replace([(name, target) for (_, name), (target, _) in zip(temporary, files, strict=True)])


def materialise(light: ModelProto) -> ModelProto:
    """
    A model with all its data in memory.

    raises     UsageError for more than 2 GB, which a ModelProto cannot hold; InputError if a file cannot be read
    cost       O(bytes), twice the largest tensor on the way
    """
    spans = [span for _, tensor in tensors(light) if (span := span_of(tensor))]
    size = sum(span.length for span in spans)
    if size > LIMIT:
        raise UsageError(f"the model's {size} bytes of weights do not fit into a ModelProto; give an output file")

    model = ModelProto()
    model.CopyFrom(light)
    for _, tensor in tensors(model):
        if span := span_of(tensor):
            set_raw(tensor, read_span(span))
    return model


# ------------------------------------------------------------------------------------------------ the layout


def _lay_out(text: bytes, place: Place) -> list[Piece]:
    """The pieces of the serialised light model `text`, with its light tensors as `place` has them."""
    # Every light tensor has this word in it, and the search is cheap.
    found = cuts(text, 0, len(text), "ModelProto", lambda body, end: text.find(b"location", body, end) >= 0)
    return _expand(text, 0, len(text), found, place)


def _expand(text: bytes, start: int, end: int, found: list[Cut], place: Place) -> list[Piece]:
    pieces: list[Piece] = []
    at = start
    for cut in found:
        if cut.inner:
            inner = _expand(text, cut.body, cut.end, cut.inner, place)
        else:
            tensor = parse_tensor(text[cut.body : cut.end])
            span = span_of(tensor)
            inner = place(tensor, span) if span else [text[cut.body : cut.end]]
        pieces += [text[at : cut.start], header(cut.number, _size(inner)), *inner]
        at = cut.end
    pieces.append(text[at:end])
    return pieces


def _size(pieces: Iterable[Piece]) -> int:
    return sum(piece.length if isinstance(piece, Span) else len(piece) for piece in pieces)


def _inline(tensor: TensorProto, span: Span) -> list[Piece]:
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")
    return [tensor.SerializeToString(), header(RAW_DATA, span.length), span]


class _Sidecar:
    """The file beside the model: every span once, each on a page of its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._offsets: dict[Span, int] = {}
        self._size = 0
        self.pieces: list[Piece] = []

    def place(self, tensor: TensorProto, span: Span) -> list[Piece]:
        if span not in self._offsets:
            padding = -self._size % _PAGE
            self.pieces += [bytes(padding), span]
            self._offsets[span] = self._size + padding
            self._size += padding + span.length
        set_span(tensor, Span(self._name, self._offsets[span], span.length))
        return [tensor.SerializeToString()]


def _check_name(path: Path) -> None:
    try:
        path.name.encode()
    except UnicodeEncodeError as error:
        raise InputError("has a name that is not UTF-8, which ONNX cannot hold", repr(str(path))) from error


# ------------------------------------------------------------------------------------------------ the files


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", path) from error


@contextmanager
def _temporary(targets: list[Path]) -> Generator[list[tuple[FileIO, Path]]]:
    """An empty file beside each target, with the permissions that it will have; removed in the end if still there."""
    made: list[tuple[FileIO, Path]] = []
    try:
        for target in targets:
            with _writing(target):
                name = target.with_name(f".gecc-{secrets.token_hex(8)}.tmp")
                handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
                made.append((FileIO(handle, "wb"), name))
                if (mode := _mode(target)) is not None:
                    os.fchmod(handle, mode)
        yield made
    finally:
        for file, name in made:
            with suppress(OSError):
                file.close()
            name.unlink(missing_ok=True)


def _mode(target: Path) -> int | None:
    """The permissions of the file that is to be replaced; None if there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise InputError("cannot be written: it is a folder", target)
    if not stat.S_ISREG(mode):
        raise InputError("cannot be written: it is not a regular file", target)
    return stat.S_IMODE(mode)


def _write(pieces: Sequence[Piece], file: FileIO, target: Path) -> None:
    """Writes `pieces` and closes `file`. Small pieces are gathered: a model has thousands."""
    chunk = bytearray(_CHUNK)
    gathered = bytearray()
    _reserve(file, _size(pieces), target)
    for piece in pieces:
        if isinstance(piece, Span) and piece.length >= _CHUNK // 4:
            _write_all(file, gathered, target)
            gathered.clear()
            _copy(piece, file, target, chunk)
            continue
        gathered += read_span(piece) if isinstance(piece, Span) else piece
        if len(gathered) >= _CHUNK:
            _write_all(file, gathered, target)
            gathered.clear()
    _write_all(file, gathered, target)
    with _writing(target):
        file.close()


def _reserve(file: FileIO, size: int, target: Path) -> None:
    """
    Asks for the place on the disk before the bytes come: a full disk is known at once, and a large file takes a quarter
    less time, for its blocks are not looked for one by one.
    """
    if size < _LARGE:
        return
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except AttributeError:  # not on this system
        pass
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # not on this file system
            raise InputError(f"cannot be written: {error.strerror or error}", target) from error


def _write_all(file: FileIO, data: bytes | bytearray | memoryview, target: Path) -> None:
    with _writing(target), memoryview(data) as view:
        done = 0
        while done < len(view):
            done += file.write(view[done:])


def _copy(span: Span, file: FileIO, target: Path, chunk: bytearray) -> None:
    if (moved := postponed(span.path, span.offset, span.length)) is not None:
        for piece in pieces_of(moved):
            _write_all(file, piece, target)
        return
    try:
        with open(span.path, "rb", buffering=0) as source:
            left = span.length - _in_kernel(source, file, span)
            source.seek(span.offset + span.length - left)
            while left:
                count = source.readinto(memoryview(chunk)[: min(left, len(chunk))])
                if not count:
                    raise InputError("has become shorter since it was read", span.path)
                _write_all(file, memoryview(chunk)[:count], target)
                left -= count
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", span.path) from error


def _in_kernel(source: FileIO, file: FileIO, span: Span) -> int:
    """Copies without a detour through this process, as far as the system can: how many bytes."""
    done = 0
    with suppress(OSError, AttributeError):  # no such call here, or not between these two files
        while done < span.length:
            count = os.copy_file_range(source.fileno(), file.fileno(), span.length - done, span.offset + done)
            if not count:
                break
            done += count
    return done


def _replace(renames: list[tuple[Path, Path]]) -> None:
    """Puts every new file in its target's place; if one cannot, or at an interrupt, the old ones are put back."""
    undo: list[tuple[Path, Path | None]] = []
    try:
        for new, target in renames[:-1]:
            with _writing(target):
                old = new.with_suffix(".old") if target.exists() else None
                undo.append((target, old))
                if old:
                    os.replace(target, old)
                os.replace(new, target)
        new, target = renames[-1]
        with _writing(target):
            os.replace(new, target)
    except BaseException:
        if not renames[-1][0].exists():  # an interrupt after the last rename: all is in place
            _forget(undo)
            raise
        for target, old in reversed(undo):
            if old is None:
                target.unlink(missing_ok=True)
            elif old.exists():
                os.replace(old, target)
        raise
    _forget(undo)


def _forget(undo: list[tuple[Path, Path | None]]) -> None:
    for _, old in undo:
        if old:
            with suppress(OSError):
                old.unlink()
