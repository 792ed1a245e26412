"""What the operator set that a module is exported for has: a pass makes no op that the source's opset lacks."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects.ge.core import GeOp


def opset_of(module: ModuleOp) -> int:
    """ONNX's opset that the module was read from, or what one without is exported as."""
    from ..frontend.nodes import DEFAULT_OPSET, opsets_of  # loads onnx: only for those who make ops

    return opsets_of(module).get("", DEFAULT_OPSET)


def has_op(module: ModuleOp, op: type[GeOp], *attributes: str) -> bool:
    """Whether the module's opset has the operator as `op` means it, with these attributes."""
    from ..frontend.nodes import attribute_names, since_version

    opset, name = opset_of(module), op.onnx
    if since_version(name.type, opset, name.domain) < max(name.since, 1):
        return False
    return set(attributes) <= attribute_names(name.type, opset, name.domain)
