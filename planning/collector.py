"""Python's collector of cycles, kept still where millions of small tuples are made that hold none."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collector() -> Generator[None]:
    """Tuples of numbers are no cycles: to look for some in them takes longer than to make them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
