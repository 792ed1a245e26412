"""A folder with code is a sub-package everywhere or nowhere: wheel, sdist, links, lint rules and type checker agree."""

import os
import tomllib
from pathlib import Path

import pytest

import gecc

TOP = Path(__file__).parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
NOT_PACKAGES = {"src", "tests", "bench", "examples", "docs", "build", "dist"}


def code_folders() -> list[str]:
    folders = (path for path in TOP.iterdir() if path.is_dir() and not path.name.startswith("."))
    return sorted(path.name for path in folders if path.name not in NOT_PACKAGES and any(path.rglob("*.py")))


def wheel_tables() -> tuple[set[str], dict[str, str]]:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    return set(wheel["only-include"]), wheel["sources"]


def test_the_wheel_holds_each_folder_and_no_other():
    included, sources = wheel_tables()
    folders = code_folders()
    assert included == {*folders, "src/gecc/__init__.py", "src/gecc/py.typed"}
    assert sources == {"src/gecc": "gecc"} | {name: f"gecc/{name}" for name in folders}


@pytest.mark.parametrize("name", code_folders())
def test_a_folder_is_linked_where_type_checkers_look(name: str):
    link = TOP / "src" / "gecc" / name
    # Where git makes no links (Windows) the target is the file's text.
    target = os.readlink(link) if link.is_symlink() else link.read_text()
    assert target == f"../../{name}"


def test_no_link_leads_nowhere():
    links = {path.name for path in (TOP / "src" / "gecc").iterdir()} - {"__init__.py", "py.typed", "__pycache__"}
    assert links == set(code_folders())


@pytest.mark.parametrize("name", code_folders())
def test_every_folder_below_is_a_package(name: str):
    # A folder without __init__.py imports by accident here and is lost to some tools.
    folders = {path.parent for path in (TOP / name).rglob("*.py")}
    assert [str(path) for path in folders if not (path / "__init__.py").is_file()] == []


def test_importing_a_folder_without_gecc_is_banned():
    banned = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert sorted(banned) == code_folders()


def test_the_type_checker_is_told_existing_folders():
    included = PROJECT["tool"]["basedpyright"]["include"]
    assert set(included) <= {f"src/gecc/{name}" for name in code_folders()}


def test_modules_have_their_real_file_names():
    # Not src/gecc/planning/..., the link: tracebacks and coverage would name files twice.
    import gecc.planning

    assert gecc.planning.__file__ == str(TOP.resolve() / "planning" / "__init__.py")


def test_the_version_is_the_package_s():
    assert gecc.__version__
    assert PROJECT["project"]["dynamic"] == ["version"]
