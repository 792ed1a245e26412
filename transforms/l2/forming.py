"""
Makes the groups of a plan ops, and says on each how it is cut into tiles.

    Group(0, 3, samples=6)    ->    %3 = ge.fusion "L2" (%a = %0, ...) -> (...) tiling #ge.l2_tiling<axes = [0], ..>
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import Operation

from ...dialects.ge.attributes import L2TilingAttr
from ...dialects.ge.bodies import FusionOp, yielded
from ...dialects.ge.types import shape_of
from ...planning import Group, GroupTraffic, Model, Plan, groups_of
from ...targets import Target
from ..fusion.fusion import CannotFuse, fuse, inline
from ..memory.tiles import tiled
from ..report import missed
from .piece import Described

FEW = 64
"""Groups up to which what one saves is seen in the whole: a walk over all ops for each."""


class Formed(NamedTuple):
    """A group of a plan as an op, and the bytes that the model says it saves."""

    saved: float
    fusion: FusionOp
    group: Group


def form_all(described: Described, plan: Plan, singles: Plan, model: Model, machine: Target) -> list[Formed]:
    """Makes the plan's groups, of which some may turn out not to run in loops."""
    modelled = model.evaluate(plan)
    few = len(groups_of(plan)) <= FEW
    alone = () if few else model.evaluate(singles).groups
    formed: list[Formed] = []
    for k in reversed(range(len(plan))):
        group, traffic = plan[k], modelled.groups[k]
        if group.end - group.begin == 1:
            continue
        if few:
            # What the group saves shows in the whole: it also leaves the cache to what runs after it.
            without = [*plan[:k], *singles[group.begin : group.end], *plan[k + 1 :]]
            saved = model.evaluate(without).total - modelled.total
        else:
            saved = sum(each.read + each.written for each in alone[group.begin : group.end])
            saved -= traffic.read + traffic.written
        ops = members_of(described, group)
        try:
            fusion = fuse(ops, "L2")
        except CannotFuse as err:
            missed(ops[-1], f"no group: {err}")
            continue
        tiling = tiling_of(described, group, fusion, traffic, saved, machine)
        if tiling is not None:
            fusion.properties["tiling"] = tiling
        if tiling is None or tiled(fusion) is None:
            missed(fusion, "no group: its tiles cannot be run in a loop")
            inline(fusion)
            continue
        formed.append(Formed(saved, fusion, group))
    return formed


def members_of(described: Described, group: Group) -> list[Operation]:
    """The ops of a group in order, and what moves no byte between them."""
    inside = described.ops[group.begin : group.end]
    order = list(inside)
    views = [(at, view) for at, view in described.views if group.begin < at < group.end]
    made: set[Operation] = set(inside)
    for _, view in views:
        if any(v.owner in made for v in view.operands):
            made.add(view)
    read: set[Operation] = set(inside)
    for _, view in reversed(views):
        if view in made and any(use.operation in read for r in view.results for use in r.uses):
            read.add(view)
    for at, view in reversed(views):
        if view in read:
            order.insert(at - group.begin, view)
    return order


def tiling_of(
    described: Described, group: Group, fusion: FusionOp, traffic: GroupTraffic, saved: float, machine: Target
) -> L2TilingAttr | None:
    """What stands on a group; None where a result is not cut into its tiles."""
    found = [described.cuts(group, v) for v in yielded(fusion.body) if shape_of(v.type)]
    cuts = [loops for loops in found if loops is not None]
    if not cuts or len(cuts) < len(found):
        return None
    if all(loops == cuts[0] for loops in cuts):
        cuts = cuts[:1]
    return L2TilingAttr.of(
        [[axis for axis, _ in loops] for loops in cuts],
        [[size for _, size in loops] for loops in cuts],
        traffic.tiles,
        halo="none" if not traffic.halo else "lines" if group.lines else "recompute",
        weights="resident" if traffic.working_set <= machine.l2_bytes else "streamed",
        working_set=traffic.working_set,
        bytes_before=int(traffic.read + traffic.written + saved),
        bytes_after=int(traffic.read + traffic.written),
        hit_share=traffic.hit_share,
    )
