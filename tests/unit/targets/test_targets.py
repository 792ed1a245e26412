"""Chips are found by any spelling, and their numbers are those of the sources."""

import pytest

from gecc import targets
from gecc.planning import Model, Op, Piece, Tensor, single_plan


@pytest.mark.parametrize("spelling", ["Ascend910B1", "ascend910b1", "910B1", "ASCEND-910B1"])
def test_one_chip_has_many_spellings(spelling: str):
    assert targets.get(spelling).name == "ascend910b1"


def test_a_suffix_is_part_of_the_name():
    assert targets.get("Ascend910B4").l2_bytes == 96 * targets.MIB
    assert targets.get("Ascend910B4-1").l2_bytes == 168 * targets.MIB


def test_an_unknown_name_says_what_is_allowed_and_the_nearest():
    with pytest.raises(ValueError, match="no target 'Ascend910B9'; did you mean 'ascend910b") as error:
        targets.get("Ascend910B9")
    for name in targets.names():
        assert name in str(error.value)


def test_a_name_near_to_nothing_gets_no_suggestion():
    with pytest.raises(ValueError, match=r"no target 'zzz' \(allowed: "):
        targets.get("zzz")


def test_the_brief_has_a_tenth_of_the_bandwidth():
    brief = targets.get("brief-910b")
    assert brief.l2_bytes == 32 * targets.MIB
    assert brief.memory_bytes_per_s is not None
    assert brief.l2_read_bytes_per_s == pytest.approx(10 * brief.memory_bytes_per_s)


def test_derived_figures():
    chip = targets.get("910B1")
    assert chip.memory_bytes_per_s == pytest.approx(1.42e12, rel=0.01)  # 24 x 1.85 GHz x 32
    assert chip.peak_flops == pytest.approx(364e12, rel=0.01)  # 24 x 1.85 GHz x 8192


def test_unknown_figures_stay_unknown():
    assert targets.get("950PR_9579").peak_flops is None


@pytest.mark.parametrize("name", targets.names())
def test_every_target_is_sane(name: str):
    target = targets.get(name)
    assert target.l2_bytes > 0
    assert target.alignment & (target.alignment - 1) == 0
    assert target.launch_seconds >= target.tile_seconds > 0


@pytest.mark.parametrize("name", targets.names())
def test_the_traffic_model_takes_a_target(name: str):
    target = targets.get(name)
    piece = Piece(2, (Tensor("x", 4096), Tensor("y", 4096, output=True)), (Op("relu", (0,), (1,), 2048),))
    shown = Model(piece, target).evaluate(single_plan(piece, target))
    assert shown.total == (12288 if target.cache == "write-allocate" else 8192)
    assert (shown.seconds is None) == (target.peak_flops is None)
