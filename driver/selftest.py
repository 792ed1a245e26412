"""A pass that fails on purpose: it shows, and tests, what the tools do when one of ours crashes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class TestCrashPass(ModulePass):
    """Raises, always."""

    __test__ = False  # pytest takes classes called Test... for tests

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise RuntimeError("boom")
