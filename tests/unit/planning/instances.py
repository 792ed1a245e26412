"""Packing problems for tests: google/minimalloc's where they are at hand, and generated ones of known optimum."""

import csv
import random
from pathlib import Path

import pytest

from gecc.planning import Buffer

MINIMALLOC = Path(__file__).parents[4] / "shared" / "minimalloc"
CAPACITY = 1_048_576

needs_minimalloc = pytest.mark.skipif(not MINIMALLOC.is_dir(), reason=f"no {MINIMALLOC}: google/minimalloc's instances")


def read(path: Path) -> list[Buffer]:
    with path.open() as file:
        return [Buffer(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]


def minimalloc(name: str) -> list[Buffer]:
    return read(MINIMALLOC / f"{name}.{CAPACITY}.csv")


def pinwheels(count: int, seed: int, side: int = 1 << 14) -> list[Buffer]:
    """
    A square cut into `count` = 4 k + 1 rectangles, the largest one again and again into a pinwheel of five.

        a a b     No straight cut goes through a pinwheel, and no byte stays free: the optimum is the side, and a greedy
        d e b     order hardly finds it.
        d c c
    """
    chance = random.Random(seed)
    rectangles = [(0, side, 0, side)]
    while len(rectangles) < count:
        largest = max(range(len(rectangles)), key=lambda i: area(rectangles[i]))
        left, right, low, high = rectangles.pop(largest)
        x, y = sorted(chance.sample(range(left + 1, right), 2))
        u, v = sorted(chance.sample(range(low + 1, high), 2))
        rectangles += [(left, y, low, u), (y, right, low, v), (x, right, v, high), (left, x, u, high), (x, y, u, v)]
    chance.shuffle(rectangles)
    return [Buffer(left, right, high - low) for left, right, low, high in rectangles]


def area(rectangle: tuple[int, int, int, int]) -> int:
    left, right, low, high = rectangle
    # One that is too thin for a pinwheel counts as none.
    return (right - left) * (high - low) if min(right - left, high - low) > 2 else 0
