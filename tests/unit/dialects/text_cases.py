"""What the tests of the dialect's frame share: modules from text, and back."""

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.dialects.test import Test

from gecc.dialects.ge import Ge
from gecc.dialects.ge.text import module_text, parse_module


def parsed(source: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, MemRef, Test, Ge):
        context.load_dialect(dialect)
    return parse_module(context, source, "test.mlir")


def round_trip(source: str) -> str:
    """The module's text, which reads back as the same module; so does the generic form."""
    module = parsed(source)
    module.verify()
    text = module_text(module)
    for form in (text, module_text(module, generic=True)):
        again = parsed(form)
        again.verify()
        assert module.is_structurally_equivalent(again), form
        assert module_text(again) == text
    return text
