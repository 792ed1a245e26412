"""Passes and their options as text, both ways."""

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gecc.dialects.ge.errors import UsageError
from gecc.driver.options import PassRequest, build, flag_of, parse_pipeline
from gecc.driver.registry import Registry


@dataclass(frozen=True)
class TilePass(ModulePass):
    """Has an option of every kind."""

    name = "tile"
    l2_size: float = 1.5
    rounds: int = 3
    target: str = ""
    axes: tuple[int, ...] = ()
    policy: Literal["lifetime", "size"] = "lifetime"
    strict: bool = False
    limit: int | None = 7

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise ValueError("rounds must not be negative")

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class NeedsPass(ModulePass):
    """Has an option without a default."""

    name = "needs"
    file: str

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class PlainPass(ModulePass):
    """Has no options."""

    name = "plain"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


REGISTRY = Registry({"tile": lambda: TilePass, "needs": lambda: NeedsPass, "plain": lambda: PlainPass})


def tile(text: str) -> ModulePass:
    return build(PassRequest("tile", text), REGISTRY)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", TilePass()),
        ("l2-size=32", TilePass(l2_size=32.0)),
        ("l2_size=32.5 rounds=1", TilePass(l2_size=32.5, rounds=1)),
        ("l2-size=1e3,target=x", TilePass(l2_size=1000.0, target="x")),
        ("l2-size=2, target=x", TilePass(l2_size=2.0, target="x")),
        ("axes=1,2,3 rounds=4", TilePass(axes=(1, 2, 3), rounds=4)),
        ("axes=1,2,rounds=4", TilePass(axes=(1, 2), rounds=4)),
        ("target=a,b", TilePass(target="a,b")),
        ('target="two words, or more" rounds=1', TilePass(target="two words, or more", rounds=1)),
        (r'target="a \"b\""', TilePass(target='a "b"')),
        ("target=dir/file-1.json", TilePass(target="dir/file-1.json")),
        ("rounds=2,strict", TilePass(rounds=2, strict=True)),
        ("strict=off", TilePass(strict=False)),
        ("policy=size", TilePass(policy="size")),
        ("limit", TilePass(limit=None)),
        ("limit=none", TilePass(limit=None)),
        ("limit=8", TilePass(limit=8)),
    ],
)
def test_reads(text: str, made: TilePass):
    assert tile(text) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "l2-sizes=1",
            "pass 'tile' has no option 'l2-sizes'; it has l2-size, rounds, target, axes, policy, strict, limit"
            "; did you mean 'l2-size'?",
        ),
        ("rounds=many", "pass 'tile': option 'rounds' must be a whole number, got 'many'"),
        ("rounds=1.5", "pass 'tile': option 'rounds' must be a whole number, got '1.5'"),
        ("l2-size=big", "pass 'tile': option 'l2-size' must be a number, got 'big'"),
        ("l2-size=nan", "pass 'tile': option 'l2-size' must be a number, got 'nan'"),
        ("l2-size=1e999", "pass 'tile': option 'l2-size' must be a number, got '1e999'"),
        ("l2-size", "pass 'tile': option 'l2-size' must be a number, but no value is given"),
        ("strict=maybe", "pass 'tile': option 'strict' must be true or false, got 'maybe'"),
        ("policy=any", "pass 'tile': option 'policy' must be one of lifetime, size, got 'any'"),
        ("axes=1,x", "pass 'tile': option 'axes' must be a whole number, got 'x'"),
        ("limit=x", "pass 'tile': option 'limit' must be a whole number or none, got 'x'"),
        ("rounds=1 rounds=2", "pass 'tile': option 'rounds' is given twice"),
        ("rounds=-1", "pass 'tile': rounds must not be negative"),
        ("=3", "pass 'tile': cannot read the options at '=3'; write name=value name=value"),
        ('target="open', "pass 'tile': cannot read the options at 'target=\"open'; write name=value name=value"),
    ],
)
def test_refuses(text: str, message: str):
    with pytest.raises(UsageError) as error:
        tile(text)
    assert str(error.value) == message


def test_a_pass_without_options_says_so():
    with pytest.raises(UsageError, match="pass 'plain' has no option 'x'; it has none"):
        build(PassRequest("plain", "x=1"), REGISTRY)


def test_an_option_without_a_default_is_needed():
    with pytest.raises(UsageError, match="pass 'needs': needs the option 'file'"):
        build(PassRequest("needs"), REGISTRY)


def test_values_from_a_file_take_the_same_way():
    values = {"l2_size": 32, "target": ["Softmax", "LayerNorm"], "axes": [1, 2], "strict": True}
    made = build(PassRequest("tile", values=values), REGISTRY)
    assert made == TilePass(l2_size=32.0, target="Softmax,LayerNorm", axes=(1, 2), strict=True)


def test_pipelines_are_xdsl_s():
    parts = list(parse_pipeline('plain, tile{l2-size=2 target="a, b"},needs{file=a/b.json}'))
    assert [(part.name, part.text) for part in parts if isinstance(part, PassRequest)] == [
        ("plain", ""),
        ("tile", 'l2-size=2 target="a, b"'),
        ("needs", "file=a/b.json"),
    ]


@pytest.mark.parametrize("text", ["tile{rounds=1", "tile rounds", "mlir-opt[", "tile{}x"])
def test_a_pipeline_that_cannot_be_read(text: str):
    with pytest.raises(UsageError, match=r"^-p: "):
        list(parse_pipeline(text))


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Cs")), max_size=8)


@given(
    st.builds(
        TilePass,
        l2_size=st.floats(0, 1e6, allow_nan=False),
        rounds=st.integers(0, 10**9),
        target=TEXT,
        axes=st.lists(st.integers(-9, 9), min_size=1).map(tuple),
        policy=st.sampled_from(["lifetime", "size"]),
        strict=st.booleans(),
        limit=st.none() | st.integers(0, 9),
    )
)
def test_what_is_written_reads_back(one: TilePass):
    _, _, options = flag_of(one).partition("=")
    assert tile(options[1:-1]) == one
