"""
gecc: an open graph compiler for ONNX inference models.

`gecc.optimize(model)` is the whole tool in one call; the command lines are `ge`, `ge-opt` and `ge-run`.
The sub-packages stand at the repository's top; in a checkout the lines below find them there.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_top = Path(__file__).resolve().parents[2]
if Path(__file__).resolve().parents[1].name == "src" and (_top / "pyproject.toml").is_file():
    __path__.insert(0, str(_top))

if TYPE_CHECKING:
    from .driver import optimize as optimize


def __getattr__(name: str) -> Any:
    # `import gecc` stays cheap: the compiler loads on first use.
    if name == "optimize":
        from .driver import optimize

        return optimize
    raise AttributeError(f"module 'gecc' has no attribute {name!r}")
