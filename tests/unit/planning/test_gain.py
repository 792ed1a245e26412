"""What a group can gain at most: none gains more, and tiles that cost more are not looked at."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecc.planning import Group, Model, Op, Piece, Tensor, single_plan
from gecc.planning.gain import MostGain
from gecc.targets import get

from .pieces import MIB, chain

BRIEF = replace(get("brief-910b"), l2_bytes=4 * MIB, cache="hints")


def gain_of(piece: Piece, overlap: bool) -> tuple[MostGain, Model, float]:
    model = Model(piece, BRIEF)
    baseline = model.evaluate(single_plan(piece, BRIEF))
    assert baseline.seconds is not None
    return MostGain(piece, BRIEF, baseline, overlap), model, baseline.seconds


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 6), st.sampled_from([4, 8, 16]), st.sampled_from([MIB // 4, MIB, 3 * MIB]), st.data())
def test_no_group_gains_more(count: int, batch: int, sample: int, data: st.DataObject):
    piece = chain(batch, count, sample)
    gain, model, alone = gain_of(piece, True)
    begin = data.draw(st.integers(0, count - 2))
    end = data.draw(st.integers(begin + 2, count))
    samples = data.draw(st.integers(1, batch))
    singles = single_plan(piece, BRIEF)
    plan = [*singles[:begin], Group(begin, end, samples), *singles[end:]]
    seconds = model.evaluate(plan).seconds
    assert seconds is not None
    starts = (end - begin) * (-(-batch // samples) - 1) * BRIEF.tile_seconds
    assert alone - seconds + starts <= gain.of(begin, end) + 1e-9


def test_where_every_byte_is_compulsory_no_tile_pays():
    # x -> y, z -> u: what is read is an input, what is written a result; no arithmetic.
    tensors = tuple(Tensor(name, 16 * MIB, output=name in "yu") for name in "xyzu")
    piece = Piece(16, tensors, (Op("first", (0,), (1,)), Op("second", (2,), (3,))))
    gain, _, _ = gain_of(piece, True)
    assert gain.of(0, 2) == pytest.approx(0, abs=1e-9)
    assert not gain.may_pay(0, 2, 2)


@pytest.mark.parametrize("overlap", [True, False])
def test_what_is_spilled_may_be_gained(overlap: bool):
    # The inner 16 MiB is written and read again; without overlap its bytes count beside, once more.
    gain, _, _ = gain_of(chain(16, 2, MIB), overlap)
    assert BRIEF.memory_bytes_per_s is not None
    spilled = 2 * 16 * MIB / BRIEF.memory_bytes_per_s
    assert gain.of(0, 2) == pytest.approx(spilled * (1 if overlap else 2), rel=0.05)
    assert gain.may_pay(0, 2, 16)
    assert not gain.may_pay(0, 2, 160)
