"""`python -m gecc.planning`: a table in, one line out, and a code."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from gecc.planning import Buffer, find_violation
from gecc.planning.__main__ import main

from .instances import pinwheels

HEAD = "id,lower,upper,size\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A: [0, 3) 4 B, b: [1, 2) 2 B, c: [2, 4) 2 B: 6 bytes at steps 1 and 2."""
    path = tmp_path / "buffers.csv"
    path.write_text(HEAD + "a,0,3,4\nb,1,2,2\nc,2,4,2\n")
    return path


def test_a_proved_packing(table: Path):
    done = subprocess.run([sys.executable, "-m", "gecc.planning", table], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("size 6  bound 6  proved  ")
    assert done.stdout.endswith(" s\n")


def test_offsets_are_written_beside_what_was_there(table: Path, tmp_path: Path):
    table.write_text("name,id,lower,upper,size,offset\nA,a,0,3,4,99\nB,b,1,2,0,99\nC,c,2,4,2,99\n")
    out = tmp_path / "out.csv"
    assert main([str(table), "-o", str(out)]) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["A", "B", "C"]
    buffers = [Buffer(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in rows]
    assert find_violation(buffers, [int(row["offset"]) for row in rows], 6) is None


def test_an_alignment(table: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(table), "--alignment", "16"]) == 0
    assert capsys.readouterr().out.startswith("size 32  bound 32  proved  ")


def test_a_gap_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "pinwheels.csv"
    rows = [f"{k},{b.begin},{b.end},{b.size}\n" for k, b in enumerate(pinwheels(129, 0))]
    path.write_text(HEAD + "".join(rows))
    assert main([str(path), "--seconds", "0"]) == 0
    assert "  bound 16384  gap " in capsys.readouterr().out


def test_a_capacity_that_is_not_met(table: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(table), "--capacity", "5"]) == 1
    assert capsys.readouterr().err == f"error: {table}: does not fit: 6 bytes, capacity 5\n"
    assert main([str(table), "--capacity", "6"]) == 0


def test_an_empty_table(table: Path, capsys: pytest.CaptureFixture[str]):
    table.write_text(HEAD)
    assert main([str(table)]) == 0
    assert capsys.readouterr().out.startswith("size 0  bound 0  proved  ")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", ": no column 'id'; the first line must name id,lower,upper,size"),
        ("id,lower,size\n", ": no column 'upper'; the first line must name id,lower,upper,size"),
        (HEAD + "a,0,1,8\nb,0,x,8\n", ":3: lower, upper and size must be whole numbers, got lower=0,upper=x,size=8"),
        (HEAD + "a,0,1\n", ":2: 3 values for 4 columns"),
        (HEAD + "a,0,1,8,9\n", ":2: 5 values for 4 columns"),
        (HEAD + "a,0,1,1_000\n", ":2: lower, upper and size must be whole numbers, got lower=0,upper=1,size=1_000"),
        (
            HEAD + "a,0,1," + "9" * 5000 + "\n",
            f":2: lower, upper and size must be whole numbers, got lower=0,upper=1,size={'9' * 40}..",
        ),
        (
            HEAD + "\na,0,1,8\n\nb,0,x,8\n",
            ":5: lower, upper and size must be whole numbers, got lower=0,upper=x,size=8",
        ),
        (HEAD + "a,0,1,8\na,2,3,8\n", ":3: id 'a' stands in line 2 already"),
        (
            "id,lower,upper,size,size\na,0,1,8,9\n",
            ": more than one column 'size'; the first line must name id,lower,upper,size",
        ),
        (HEAD + "a,4,4,8\n", ":2: lower must be below upper, got [4, 4)"),
        (HEAD + "a,0,4,-8\n", ":2: size must be at least 0, got -8"),
        (HEAD + 'a,0,4,"8\n8"\n', ":3: lower, upper and size must be whole numbers, got lower=0,upper=4,size=8 8"),
        (HEAD + '"a,0,4,8\n', ": is no table: unexpected end of data"),
    ],
)
def test_a_wrong_table(text: str, error: str, table: Path, capsys: pytest.CaptureFixture[str]):
    table.write_text(text)
    assert main([str(table)]) == 1
    assert capsys.readouterr().err == f"error: {table}{error}\n"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffid,lower,upper,size\na,0,3,4\nb,1,2,2\n",
        "id,lower,upper,size\r\na,0,3,4\r\n\r\nb,1,2,2\r\n",
        "id, lower, upper, size\na, 0, 3, 4\nb, 1, 2, 2",
        'size,upper,lower,id,note\n4,3,0,a,"x, y"\n2,2,1,b,\n',
    ],
    ids=["byte order mark", "lines of Windows", "spaces", "another order"],
)
def test_tables_as_other_programs_write_them(text: str, table: Path, capsys: pytest.CaptureFixture[str]):
    table.write_bytes(text.encode())
    assert main([str(table)]) == 0
    assert capsys.readouterr().out.startswith("size 6  bound 6  proved  ")


def test_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(tmp_path / "nowhere.csv")]) == 1
    assert capsys.readouterr().err == f"error: {tmp_path / 'nowhere.csv'}: No such file or directory\n"
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    assert main([str(tmp_path / "bytes.csv")]) == 1
    assert "is no table" in capsys.readouterr().err


def test_nowhere_to_write(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(table), "-o", str(tmp_path / "no" / "out.csv")]) == 1
    assert capsys.readouterr().err == f"error: {tmp_path / 'no' / 'out.csv'}: No such file or directory\n"


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ([], "the following arguments are required: file"),
        (["x.csv", "--alignment", "0"], "argument --alignment: must be a whole number of at least 1, got '0'"),
        (["x.csv", "--seconds", "nan"], "argument --seconds: must be a number of seconds, got 'nan'"),
        (["x.csv", "--what"], "unrecognized arguments: --what"),
    ],
)
def test_a_wrong_command_line(flags: list[str], error: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(flags)
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"error: {error}; --help says more\n"
