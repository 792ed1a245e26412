"""Steps with graphs inside: If and Loop, which read what is around them."""

import numpy as np

from .program import STEPS, Program, Value, step

INSIDE = ("elementwise", "movement", "picking", "idioms", "conversion")


def grown(p: Program, x: Value, steps: int) -> str:
    """A few steps inside a body; a new value of the element and the dims of `x`."""
    start = len(p.values)
    for _ in range(steps):
        made = p.r.choice(STEPS[p.r.choice(INSIDE)])(p, p.r.choice([x, *p.values[start:]]))
        values = [] if made is None else [made] if isinstance(made, Value) else list(made)
        p.values += [v for v in values if p.fits(v)]
    fitting = [v for v in p.values[start:] if (v.element, v.dims) == (x.element, x.dims)]
    if fitting:
        return p.op("Identity", fitting[-1].name)
    if x.element in ("f32", "f16", "bf16"):
        return p.op(p.r.choice(["Neg", "Tanh", "Abs"]), x.name)
    return p.op("Identity", x.name)


@step("control")
@step("control")
def branch(p: Program, x: Value) -> list[Value] | None:
    if p.depth > 1:
        return None
    conditions = [v for v in p.values if v.element == "bool" and v.dims in ((), ((1, ()),))]
    if conditions and p.r.randrange(3):
        condition = p.r.choice(conditions).name
    elif p.r.randrange(3) and x.element != "bool":
        # Something that depends on data: whether the value has more than a few elements.
        condition = p.op("Greater", p.op("Size", x.name), p.const(6, np.int64))
    else:
        condition = p.const(p.r.randrange(2) == 0)
    values = [x, p.r.choice(p.values)][: p.r.randint(1, 2)]

    def build() -> list[str]:
        return [grown(p, v, p.r.randint(0, 2)) for v in values]

    bodies = {name: p.body([], build) for name in ("then_branch", "else_branch")}
    outputs = p.node("If", [condition], len(values), **bodies)
    return [Value(n, v.element, v.dims) for n, v in zip(outputs, values, strict=True)]


@step("control")
def loop(p: Program, x: Value) -> list[Value] | None:
    if p.depth or x.element == "bool":
        return None
    trips = p.r.choice([0, 1, 1, 2, 3])
    count = p.const(trips, np.int64)
    goes_on = p.r.choice([True, True, None, False])
    going = "" if goes_on is None else p.const(goes_on)
    index, goes = Value(p.name(), "i64", ()), Value(p.name(), "bool", ())
    carried = Value(p.name(), x.element, x.dims)
    stacked = p.r.randrange(3) == 0 and trips > 0 and goes_on is not False

    def build() -> list[str]:
        on = p.op("Identity", goes.name)
        new = grown(p, carried, p.r.randint(0, 2))
        return [on, new, *([p.op("Identity", carried.name)] if stacked else [])]

    body = p.body([index, goes, carried], build)
    outputs = p.node("Loop", [count, going, x.name], 1 + stacked, body=body)
    found = [Value(outputs[0], x.element, x.dims)]
    if stacked:
        found.append(Value(outputs[1], x.element, ((trips, ()), *x.dims)))
    return found
