"""
Where the console scripts begin: what a tool's process can do without.

A compiler's heap has next to no garbage cycles: to look for them while modules load finds nothing. And to take the heap
apart at the end, object by object, takes as long as the passes on a small model: the process goes as it is, once what
was registered for its end is done.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from typing import NoReturn


def ge() -> NoReturn:
    _run("ge")


def ge_opt() -> NoReturn:
    _run("ge_opt")


def ge_run() -> NoReturn:
    _run("ge_run")


def ge_reduce() -> NoReturn:
    _run("ge_reduce")


def ge_report() -> NoReturn:
    _run("ge_report")


def _run(tool: str) -> NoReturn:
    gc.disable()
    main = importlib.import_module(f".{tool}", __package__).main
    gc.freeze()  # what is loaded stays: no later look walks it
    gc.enable()
    code = main()
    atexit._run_exitfuncs()  # os._exit does not
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads any more
        pass
    os._exit(code)
