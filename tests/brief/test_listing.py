"""`ge --list_passes`, read as the brief's script reads it."""

import re

from .conftest import Shell

NAMED_BY_THE_BRIEF = {
    "ConstantFoldingPass",
    "OpFusionPass",
    "MemoryReusePass",
    "L2FusionPass",
    "DeadCodeEliminationPass",
    "CommonSubexpressionEliminationPass",
}


def test_every_line_is_a_name_and_a_description(shell: Shell):
    lines = shell("ge --list_passes").stdout.splitlines()
    matches = [re.match(r"^(\w+):\s*(.*)$", line) for line in lines]
    assert None not in matches, lines

    passes = {match[1]: match[2] for match in matches if match}
    assert set(passes) >= NAMED_BY_THE_BRIEF
    assert len(passes) == len(lines), "a name is listed twice"
    assert all(passes.values()), "a pass has no description"
