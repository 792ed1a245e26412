"""
Modules in and out of files: MLIR text and ONNX, weights beside them, and never half a file.

In memory the paths of `ge.weights` are absolute; a reader makes them so against the text's folder, a writer prints them
relative to the output's folder (for stdout: the current one). Weights that so far live in the process's temporary
folder (what passes computed, a model that came through stdin) are copied beside the output first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import ParseError

from ..dialects.ge.errors import InputError, UsageError
from .diagnostics import one_line

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

STDIN = "<stdin>"
SPLIT = "// -----"


@dataclass(frozen=True)
class Source:
    """
    Something to read a module from, as often as wanted: a crash is told from its beginning again.

    name    as messages show it
    folder  what relative paths of weights start from
    text    MLIR, or None
    onnx    the ONNX file, or None
    line    lines before `text` in its file, when it is a part of it
    """

    name: str
    folder: Path
    text: str | None = None
    onnx: Path | None = None
    line: int = 0

    def read(self, context: Context) -> ModuleOp:
        """
        The module, not verified.

        raises  InputError or ParseError: what cannot be read, and where
        """
        if self.onnx is not None:
            from ..frontend import import_model

            return import_model(self.onnx)
        from ..dialects.ge.text import bytes_to_text

        module = _parse(self.text or "", self.name, context, self.line)
        bytes_to_text(module)
        for op in _weights(module):
            op.properties["path"] = StringAttr(os.path.normpath(self.folder / _path(op)))
        return module


def open_sources(path: str | Path | None, split: bool = False) -> list[Source]:
    """
    What a file (None: stdin) holds: MLIR, its parts when `split` is asked for, or ONNX, by suffix or else by content.

    raises  InputError, OSError
    """
    if path is not None and Path(path).suffix == ".onnx":
        return [Source(str(path), Path(path).absolute().parent, onnx=Path(path))]
    data = sys.stdin.buffer.read() if path is None else Path(path).read_bytes()
    name = STDIN if path is None else str(path)
    folder = Path.cwd() if path is None else Path(path).absolute().parent

    if _is_text(data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"is not UTF-8 at byte {error.start}", file=name) from None
        return list(_parts(name, folder, text)) if split else [Source(name, folder, text=text)]
    if path is None:
        path = _temporary_folder() / "stdin.onnx"
        path.write_bytes(data)
    return [Source(name, folder, onnx=Path(path))]


def load_module(path: str | Path | None, context: Context | None = None) -> ModuleOp:
    """
    The verified module of an .mlir or .onnx file, None for stdin.

    context  what dialects its text may use; by default ours, the plugins' and xDSL's
    raises   InputError, ParseError, OSError
    """
    if context is None:
        from .registry import default_registry

        context = default_registry(lambda text: None).context()
    source = open_sources(path)[0]
    module = source.read(context)
    verify_input(module, source.name)
    return module


def verify_input(module: ModuleOp, name: str) -> None:
    """Raises InputError where what was read does not hold: the fault is the input's, not a pass's."""
    try:
        module.verify()
    except RecursionError:
        raise InputError("nested too deeply", file=name) from None
    except Exception as error:
        raise InputError(one_line(error), file=name) from None


def save_module(
    module: ModuleOp,
    path: str | Path | None,
    weights_out: str | Path | None = None,
    *,
    generic: bool = False,
    locations: bool = False,
    opset: int | None = None,
) -> None:
    """
    Writes a module: ONNX where `path` ends in .onnx, else MLIR; None is stdout. An old file stays whole on failure.

    weights_out  the file for weights that are in no lasting file yet; by default named after `path` and their digest
    generic      MLIR's generic form
    locations    with loc(...)
    opset        of the ONNX model; by default the source's
    raises       InputError, OSError; UsageError where stdout would need `weights_out`
    """
    if path is not None and Path(path).suffix == ".onnx":
        from ..frontend import export_model
        from ..frontend.wire import write_model

        write_model(export_model(module, opset), Path(path))
        return
    folder = Path.cwd() if path is None else Path(path).absolute().parent
    kept = _keep_weights(module, None if path is None else Path(path), weights_out)
    with _printed_paths(module, folder, kept):
        if path is None:
            print_module(module, sys.stdout, generic=generic, locations=locations)
            return
        with replacing(path) as fresh, fresh.open("w", encoding="utf-8") as stream:
            print_module(module, stream, generic=generic, locations=locations)


def print_module(module: ModuleOp, stream: IO[str], *, generic: bool = False, locations: bool = False) -> None:
    from ..dialects.ge.text import ModulePrinter

    printer = ModulePrinter(stream=stream, print_generic_format=generic, print_debuginfo=locations)
    printer.print_op(module)
    stream.write("\n")


@contextlib.contextmanager
def replacing(path: str | Path) -> Generator[Path]:
    """
    A new file's name beside `path`: it takes that place when the block ends well and is gone when it does not.

    What is no ordinary file (a pipe, /dev/null) is written directly. raises OSError
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
    fresh = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield fresh
        if target.exists():
            shutil.copymode(target, fresh)
        os.replace(fresh, target)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(fresh):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        fresh.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Raises OSError where `path` cannot be written: before the work, not after it."""
    folder = Path(path).absolute().parent
    if Path(path).is_dir() or str(path).endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such file or folder", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "cannot be written", str(folder))


def _is_text(data: bytes) -> bool:
    """MLIR has no control characters but white space; an ONNX file begins with one (the key of its first field)."""
    return not any(byte < 32 and byte not in b"\t\n\r\f\v" for byte in data[:64])


def _parts(name: str, folder: Path, text: str) -> Iterator[Source]:
    line = 0
    for part in text.split(SPLIT):
        yield Source(name, folder, text=part, line=line)
        line += part.count("\n")


def _parse(text: str, name: str, context: Context, line: int) -> ModuleOp:
    from ..dialects.ge.text import ModuleParser

    if not text.strip():
        raise InputError("is empty", file=name)
    parser = ModuleParser(context, text, name)
    try:
        return parser.parse_module()
    except ParseError as error:
        error.span = dataclasses.replace(error.span, line_offset=line)
        raise
    except UsageError:  # a plugin's dialect that does not load
        raise
    except RecursionError:
        raise InputError("nested too deeply", file=name) from None
    except Exception as error:  # an attribute or a type that its own checks refuse, without a place of its own
        row = text.count("\n", 0, parser.pos) + 1 + line
        column = parser.pos - text.rfind("\n", 0, parser.pos)
        raise InputError(one_line(error), file=f"{name}:{row}:{column}") from None


def _weights(module: ModuleOp) -> list[Operation]:
    from ..dialects.ge.data import weight_files

    return [op for op in weight_files(module) if isinstance(op.properties.get("path"), StringAttr)]


def _path(op: Operation) -> Path:
    path: Any = op.properties["path"]
    return Path(path.data)


def _temporary_folder() -> Path:
    from ..dialects.ge.data import sidecar_path

    return sidecar_path().parent


def _keep_weights(module: ModuleOp, output: Path | None, weights_out: str | Path | None) -> dict[str, Path]:
    """Copies the weights that would vanish with the process; where each of those files lies now, by its old path."""
    from ..dialects.ge.data import settle

    passing = [_path(op) for op in _weights(module)]
    passing = [path for path in dict.fromkeys(passing) if _is_passing(path)]
    if passing and output is None and weights_out is None:
        size = sum(path.stat().st_size for path in passing)
        raise UsageError(f"the module holds {size} bytes of new weights: name a file for them with --weights-out=FILE")

    if passing:
        settle()
    kept: dict[str, Path] = {}
    for at, path in enumerate(passing):
        if weights_out is not None:
            target = Path(weights_out).absolute()
            target = target if at == 0 else target.with_name(f"{target.name}.{at}")
        else:
            assert output is not None
            target = output.absolute().with_name(f"{output.stem}-{_digest(path)}.weights")
        if weights_out is not None or not target.exists():
            with replacing(target) as fresh:
                shutil.copyfile(path, fresh)
        kept[str(path)] = target
    return kept


def _is_passing(path: Path) -> bool:
    """Whether the file goes when the process ends: a pass's sidecar or the importer's spool."""
    temporary = Path(tempfile.gettempdir()).absolute()
    return path.is_relative_to(temporary) and path.relative_to(temporary).parts[0].startswith("gecc-")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:8]


@contextlib.contextmanager
def _printed_paths(module: ModuleOp, folder: Path, kept: dict[str, Path]) -> Generator[None]:
    """While it lasts, the paths of the module's weights are as they are to be printed."""
    before = [(op, op.properties["path"]) for op in _weights(module)]
    try:
        for op, _ in before:
            path = _path(op)
            op.properties["path"] = StringAttr(os.path.relpath(kept.get(str(path), path), folder))
        yield
    finally:
        for op, path in before:
            op.properties["path"] = path


def temporary_name(prefix: str, suffix: str) -> Path:
    """A new empty file that outlives the process."""
    handle, name = tempfile.mkstemp(suffix, prefix)
    os.close(handle)
    return Path(name)
