"""Arrays in and out of files, and as a line to read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..dialects.ge.errors import InputError
from ..driver.files import replacing

FEW = 8
"""Elements up to which an array is shown whole."""


def read_npy(path: str) -> np.ndarray:
    """The array of an .npy file; raises InputError, OSError."""
    found = _load(path)
    if not isinstance(found, np.ndarray):
        raise InputError("is no .npy file with one array", file=path)
    return found


def read_npz(path: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; raises InputError, OSError."""
    found = _load(path)
    if isinstance(found, np.ndarray):
        raise InputError("is no .npz file: it has one array and no names", file=path)
    with found:
        try:
            return {name: found[name] for name in found.files}
        except (ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"cannot be read: {error}", file=path) from None


def _load(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile):  # its own words are an invitation to unpickle the file
        raise InputError("is no file of numpy arrays, or one of Python objects", file=path) from None


def write_npz(arrays: Mapping[str, Any], path: str) -> None:
    """
    Writes arrays by name; texts as numpy's strings, the items of a sequence as name.0, name.1 and so on.

    raises  OSError
    """
    # Not np.savez: an output called "file" is an argument of its own there.
    with replacing(path) as fresh, zipfile.ZipFile(fresh, "w") as archive:
        for name, value in _flat(arrays):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                array = np.asarray(value)
                array = array.astype(np.str_) if array.dtype == object else array
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _flat(arrays: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in arrays.items():
        if isinstance(value, list | tuple):
            yield from _flat({f"{name}.{k}": item for k, item in enumerate(value)})
        elif value is not None:
            yield name, value


def described(value: Any) -> str:
    """`float32[1, 1000]  min -3.1  mean 0.02  max 4.5`, or all elements where they are few."""
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}" + (f"; the first: {described(value[0])}" if value else "")
    array = np.asarray(value)
    head = f"{array.dtype}{list(array.shape)}"
    if array.size <= FEW or array.dtype.kind in "OUS":
        return f"{head}  {' '.join(_shown(x) for x in array.ravel()[:FEW])}{' ...' if array.size > FEW else ''}"
    if array.dtype.kind == "b":
        return f"{head}  {int(array.sum())} true"
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    finite = wide[np.isfinite(wide)]
    wrong = f"  {wide.size - finite.size} not finite" if finite.size < wide.size else ""
    if not finite.size:
        return head + wrong
    numbers = (("min", finite.min()), ("mean", finite.mean()), ("max", finite.max()))
    return head + "".join(f"  {what} {_shown(x)}" for what, x in numbers) + wrong


def _shown(x: Any) -> str:
    if isinstance(x, str | bytes | np.bool_):
        return str(x)
    return f"{complex(x):.6g}" if np.iscomplexobj(x) else str(x) if isinstance(x, np.integer) else f"{float(x):.6g}"
