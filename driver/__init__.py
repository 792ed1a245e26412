"""
The compiler as one thing: which passes there are, in which order they run, how modules get in and out.

    registry, plugins      passes and dialects by name
    options                passes and their options as text
    phases                 what -O0 to -O3 run
    pipeline, instrument   running passes, and what can be seen of it
    settings, schemas      ge's switches: command line, environment, files, and which comes first
    files                  modules in and out of files
    diagnostics            failures as one line and an exit code
    api                    all of it in one call
"""

from .api import optimize
from .files import load_module, save_module

__all__ = ["load_module", "optimize", "save_module"]
