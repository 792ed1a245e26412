"""The compiler in one call."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..dialects.ge.errors import UsageError
from .instrument import run_or_tell
from .phases import DEFAULT_LEVEL, LEVELS, plan
from .registry import Registry, default_registry

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp


def optimize(
    model_or_path: ModelProto | str | Path,
    output: str | Path | None = None,
    level: int = DEFAULT_LEVEL,
    passes: Mapping[str, bool | Mapping[str, object]] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
) -> ModelProto:
    """
    The model, optimised: the same inputs, outputs and meaning. What is given is not changed.

        gecc.optimize("model.onnx", "small.onnx")
        gecc.optimize(model, passes={"ConstantFoldingPass": False, "l2-fusion": {"l2_size": 32}})

    output        the .onnx file to write; weights go straight into it and its external data, also past 2 GB
    level         0 to 3, as -O0 to -O3
    passes        some switched on or off over what the level says, by kebab or GE name; options switch on
    input_shapes  sizes for free dims, by input; -1 stays free
    returns       the whole model; with `output` a light one, whose large tensors are references into that file
    raises        InputError (the model), UsageError (the arguments), OSError, PassCrash (our fault)
    """
    from ..frontend import export_model, import_model
    from ..frontend.wire import materialise, read_light, write_model

    if level not in LEVELS:
        raise UsageError(f"level must be one of {', '.join(map(str, LEVELS))}; got {level!r}")
    source = Path(model_or_path) if isinstance(model_or_path, str | Path) else model_or_path
    registry = _registry()
    switches = {name: bool(state) or isinstance(state, Mapping) for name, state in (passes or {}).items()}
    options = {name: state for name, state in (passes or {}).items() if isinstance(state, Mapping)}
    pipeline = plan(registry, level, switches, options)

    def read() -> ModuleOp:
        module = import_model(source)
        if input_shapes:
            from ..transforms.shape.bind import bind_shapes

            bind_shapes(module, {name: tuple(dims) for name, dims in input_shapes.items()})
        return module

    module = read()
    run_or_tell(registry.context(), module, pipeline, read)
    light = export_model(module)
    if output is None:
        return materialise(light)
    write_model(light, Path(output))
    return read_light(Path(output))


@functools.cache
def _registry() -> Registry:
    return default_registry(lambda text: warnings.warn(text, stacklevel=2))
