"""
Ops that rules name become one `ge.fusion`, with the ops themselves as its body.

    %0 = ge.conv %x, %w, %b                 %0 = ge.fusion "ConvRelu" (%a = %x, %c = %w, %d = %b) {
    %1 = ge.relu %0               ->            %1 = ge.conv %a, %c, %d
                                                %2 = ge.relu %1
                                                ge.yield %2
                                            }

Rules from a file come first, in the file's order, then ours (catalogue/). Where a rule matches in several ways it takes
the most ops. An op is in one fusion at most; what is in a body already is left alone.

    conservative    a value in the middle is read by nothing else and is no result of the function
    aggressive      it may be: it becomes one more result of the fusion

Floats that are made of integers for several readers are made again for each that is quantised, in either mode.

Needs nothing. Leaves no match of a rule that holds outside of fusions.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects.ge.interfaces import View, is_pure
from ..base import GePass
from ..report import count, missed
from ..rewriting import functions, is_isolated
from .catalogue import CATALOGUE
from .closed import MANY, Grower, Near, has_ranks, shown, why_open
from .condition import Missing
from .fusion import CannotFuse, fuse
from .matcher import Matcher
from .pattern import Pattern
from .rules import Facts, Form, Rule
from .rules_file import read_rules
from .search import Miss, Search
from .switches import ge_name, is_on, read_switches

Times: TypeAlias = dict[str, list[int]]
"""By rule: how often it matched, and how often a fusion came of it."""


@dataclass(frozen=True)
class OpFusion(GePass):
    """
    rules_file   JSON (rules_file.py)
    mode         what may be fused; see above
    switch_file  which rules are off (switches.py)
    result_file  where it is written how often each rule matched and fused, as GE does in fusion_result.json
    """

    name = "op-fusion"
    ge_name = "OpFusionPass"
    level = 2
    summary = "Makes ops that rules name one: convolution + activation, MatMul + bias + activation, and rules of yours"

    rules_file: str | None = None
    mode: Literal["conservative", "aggressive"] = "conservative"
    switch_file: str | None = None
    result_file: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = [*(read_rules(self.rules_file) if self.rules_file is not None else ()), *CATALOGUE]
        switches = read_switches(self.switch_file) if self.switch_file is not None else {}
        rules = [rule for rule in rules if is_on(rule.name, switches)]
        times: Times = {}
        for function in functions(op):
            for block in _open_blocks(function):
                fuse_in(block, rules, share=self.mode == "aggressive", times=times)
        if self.result_file is not None:
            write_result(self.result_file, times)


def _open_blocks(op: Operation) -> Iterator[Block]:
    """The blocks in `op` that are no body of a fusion or the like, inner ones first."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if inner.regions and not is_isolated(inner):
                    yield from _open_blocks(inner)
            yield block


def fuse_in(block: Block, rules: Sequence[Rule], share: bool = False, times: Times | None = None) -> None:
    """
    Fuses what `rules` match among the ops of a block, the first rule first; see the module's docstring.

    share      whether a value in the middle may have other readers
    times      where matches and fusions are counted
    cost       O(ops x steps of rules)
    """
    fuser = Fuser(block, share, {} if times is None else times)
    for rule in rules:
        for form in rule.forms:
            fuser.fuse_all(rule, form)
    while fuser.copied:
        # What was read by several is now read by one, which may have had its turn.
        fuser.copied = False
        for rule in rules:
            for form in rule.forms if rule.again is not None else ():
                fuser.fuse_all(rule, form)
    fuser.tell_misses()


def write_result(path: str, times: Times) -> None:
    """fusion_result.json; rules that matched nothing are not in it. Raises OSError."""
    ours = {rule.name: ge_name(rule.name) for rule in CATALOGUE}
    found = {
        ours.get(name, name): {"match_times": matched, "effect_times": effective}
        for name, (matched, effective) in times.items()
        if matched
    }
    content = {"session_and_graph_id_0_0": {"graph_fusion": found, "ub_fusion": {}}}
    Path(path).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


class Fuser:
    """
    Where the ops of a block stood, by class and in order, while they become fusions.

    copied   whether something was made again for one of its readers
    """

    def __init__(self, block: Block, share: bool, times: Times) -> None:
        self.block, self.share, self.times = block, share, times
        self.order = {op: k for k, op in enumerate(block.ops)}
        self.by_class: dict[type[Operation], list[Operation]] = {}
        for op in self.order:
            self.by_class.setdefault(type(op), []).append(op)
        self.grower = Grower(block, self.order)
        self.misses: dict[Operation, tuple[Rule, Miss]] = {}
        self.plain: set[Operation] = set()
        self.copied = False

    def fuse_all(self, rule: Rule, form: Form) -> None:
        """Fuses every match of one form of a rule, the last one in the block first."""
        if isinstance(form, Pattern):
            for root in self._roots(form):
                if root.parent is self.block:
                    self._fuse_graph(rule, form, root)
            return
        matcher = Matcher(form, self.block, self.share)
        for root in matcher.roots():
            if root.parent is self.block:
                self._attempt(rule, root, lambda root=root: matcher.match(root))

    def tell_misses(self) -> None:
        """Remarks on what nearly matched, but for what another rule has found something in."""
        for op, (rule, miss) in self.misses.items():
            if op.parent is self.block or op.parent_op() in self.plain:
                missed(op, f'not fused by "{rule.name}": {miss.why}')

    def _roots(self, form: Pattern) -> list[Operation]:
        heads = tuple(form.heads)
        found = [op for kind, ops in self.by_class.items() if not heads or issubclass(kind, heads) for op in ops]
        return sorted(found, key=self.order.__getitem__, reverse=True)

    def _fuse_graph(self, rule: Rule, form: Pattern, root: Operation) -> None:
        search = Search(self.block)
        ops = search.find(form, root)
        if ops is not None:
            self._attempt(rule, root, lambda: self._whole(ops, search.ends))
        elif search.miss is not None:
            known = self.misses.get(search.miss.at)
            if known is None or search.miss.ops >= known[1].ops:
                self.misses[search.miss.at] = (rule, search.miss)

    def _whole(self, ops: Sequence[Operation], ends: Sequence[Operation]) -> set[Operation]:
        """The ops of a match, where they can run as one: what the `ends` give may be read outside."""
        for op in ops:
            if not is_pure(op):
                raise Near(f"{shown(op)} is not known to be pure")
            if op not in ends and not self.share and (why := why_open(op, ops, self.block)):
                raise Near(why)
        return set(ops)

    def _attempt(self, rule: Rule, root: Operation, match: Callable[[], set[Operation]]) -> None:
        times = self.times.setdefault(rule.name, [0, 0])
        times[0] += 1
        try:
            ops = match()
            for share in (True, False) if self.share else (False,):
                if self._fused(rule, self._grown(rule, ops, root, share), last_try=not share):
                    return
        except Missing as what:
            missed(root, f'not fused by "{rule.name}": its condition asks for {what}, which is not there')
        except (Near, CannotFuse) as why:
            missed(root, f'not fused by "{rule.name}": {why}')

    def _fused(self, rule: Rule, ops: Sequence[Operation], *, last_try: bool) -> bool:
        """Fuses the ops of a match, where there are enough of them; says whether it did, or raises why not."""
        grows = rule.after is not None or rule.before is not None
        if sum(not (grows and isinstance(op, View)) for op in ops) < rule.least:
            self.times[rule.name][0] -= 1
            self._tell_alone(rule, ops)
            return True
        if rule.condition is not None and not rule.condition.holds(Facts(ops)):
            raise Near(f"the condition {rule.condition.text} does not hold")
        try:
            ops = self._with_copies(rule, ops)
            fusion = fuse(ops, rule.label_of(ops))
        except CannotFuse:
            if last_try:
                raise
            return False
        if rule.plain:
            self.plain.add(fusion)
        self.times[rule.name][1] += 1
        count("fusions")
        count("ops fused", len(ops))
        return True

    def _tell_alone(self, rule: Rule, ops: Sequence[Operation]) -> None:
        """A remark on what would have joined the ops, were they closed."""
        if rule.after is None or rule.plain:
            return
        for use in itertools.islice(ops[-1].results[0].uses, MANY):
            reader = use.operation
            if reader.parent is not self.block or not reader.results or not has_ranks(reader):
                continue
            if rule.after(reader, ops[-1]):
                why = why_open(ops[-1], {*ops, reader}, self.block)
                if why:
                    missed(reader, f'not fused by "{rule.name}": {why}')

    def _grown(self, rule: Rule, ops: set[Operation], root: Operation, share: bool) -> list[Operation]:
        """A match with what joins it, in the block's order."""
        grows = rule.after is not None or rule.before is not None
        if grows and not any(why_open(op, ops, self.block) for op in ops if op is not root):
            if rule.after is not None:
                ops = self.grower.after(ops, root, rule.after, share)
            if rule.before is not None:
                ops = self.grower.before(ops, root, rule.before)
        return sorted(ops, key=self.order.__getitem__)

    def _with_copies(self, rule: Rule, ops: Sequence[Operation]) -> list[Operation]:
        """The ops with copies of what others read too, where that may be made again. A copy keeps its ONNX names."""
        copies: dict[Operation, Operation] = {}
        inside = set(ops)
        for op in ops if rule.again is not None else ():
            for k, value in enumerate(op.operands):
                source = value.owner
                if not isinstance(source, Operation) or source in inside or source.parent is not self.block:
                    continue
                if rule.again is not None and rule.again(source, ops[-1]):
                    if source not in copies:
                        copies[source] = source.clone()
                        self.copied = True
                        self.order[copies[source]] = self.order[source]
                        self.block.insert_op_before(copies[source], op)
                    op.operands[k] = copies[source].results[source.results.index(value)]
        return sorted([*ops, *copies.values()], key=self.order.__getitem__)
