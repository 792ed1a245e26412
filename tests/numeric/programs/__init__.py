"""Random models: `program(random)`, its steps by family in the files beside, and inputs to try one on."""

from . import arithmetic, control, idioms, layers, movement, picking
from .program import SIZES, STEPS, feeds, program

__all__ = ["SIZES", "STEPS", "arithmetic", "control", "feeds", "idioms", "layers", "movement", "picking", "program"]
