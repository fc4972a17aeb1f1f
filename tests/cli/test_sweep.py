import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from lnetstat.cli import run

SMALL = """
about = "a small system"
release = "1.8"
[run]
duration = "25 s"
[clients]
count = 100
[routers]
count = 2
[servers]
count = 2
[o2ib]
credits = 256
[pings]
interval = "10 s"
first = "2 s"
spread = "1 ms"
[costs]
credit_return_server = "20 ms"
disk_write = "20 ms"
[[io]]
processes = 4
window = 2
"""
OVER = ["--over", "pings.spread=1 ms,5 s", "--over", "o2ib.peer_credits=8,32"]
DEADLINE_S = 120


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def cells(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_every_combination_is_a_line_of_the_table(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", small, *OVER, "--processes", "1"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert said.err == ""
    assert [line.split("  ")[0] for line in lines[1:]] == ["1 ms", "1 ms", "5 s", "5 s"]
    for head in (
        "dead time, s",
        "lost, %",
        "flood, s",
        "write minimum, %",
        "peers min",
        "small buffers min",
        "required",
        "barrier step, ms",
    ):
        assert head in lines[0]


def test_barriers_stand_beside_a_sweep_over_pings_only(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", small, "--over", "o2ib.peer_credits=8,32", "--processes", "1"]) == 0
    assert "barrier" not in capsys.readouterr().out


def test_processes_give_the_same_table(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", small, *OVER, "--processes", "1"]) == 0
    here = capsys.readouterr().out
    assert run(["sweep", small, *OVER, "--processes", "2"]) == 0
    assert capsys.readouterr().out == here


def test_a_cluster_gives_the_same_table(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra [cluster] is not installed")
    assert run(["sweep", small, *OVER, "--processes", "1"]) == 0
    here = capsys.readouterr().out
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        assert run(["sweep", small, *OVER, "--scheduler", cluster.scheduler_address]) == 0
    assert capsys.readouterr().out == here


def test_json_has_all_figures_with_their_names(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", small, *OVER, "--processes", "1", "--json", "--imports", "100"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert [axis["key"] for axis in document["axes"]] == ["pings.spread", "o2ib.peer_credits"]
    assert [(point["pings.spread"], point["o2ib.peer_credits"]) for point in document["points"]] == [
        (spread, limit) for spread in ("1 ms", "5 s") for limit in ("8", "32")
    ]
    assert {point["barrier_imports"] for point in document["points"]} == {100}
    assert {point["pings_per_server"] for point in document["points"]} == {400}


def test_the_result_can_be_kept_as_csv_and_parquet(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sweep", small, "--over", "pings.policy=aligned-jiffies,suppressed", "--processes", "1", "-o"]
    assert run([*arguments, str(tmp_path / "a.csv")]) == 0
    assert run([*arguments, str(tmp_path / "a.parquet")]) == 0
    assert f"{tmp_path / 'a.csv'}: 2 points, " in capsys.readouterr().err
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["pings.policy"] for row in rows] == ["aligned-jiffies", "suppressed"]
    assert float(rows[0]["dead_s"]) > 0.1
    assert rows[1]["pings_per_server"] == ""  # not known is not zero
    table = pd.read_parquet(tmp_path / "a.parquet")
    assert table["dead_s"].tolist() == [float(row["dead_s"]) for row in rows]
    assert table["credits_required"].dtype == "Int64"
    assert table["pings_per_server"].isna().tolist() == [False, True]


def test_the_page_is_whole_and_asks_nobody(small: str, tmp_path: Path) -> None:
    assert run(["sweep", small, *OVER, "--processes", "1", "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Sweep of small" in page
    assert "mean barrier step, ms" in page
    assert 'http-equiv="Content-Security-Policy"' in page
    assert "<td" in page


def test_the_mail_is_a_table(small: str, tmp_path: Path) -> None:
    assert run(["sweep", small, "--over", "o2ib.peer_credits=8,32", "--processes", "1", "-o", str(tmp_path / "mail.md")]) == 0
    lines = (tmp_path / "mail.md").read_text("utf-8").splitlines()
    assert lines[0].startswith("# small over o2ib.peer\\_credits") or lines[0].startswith("# small over o2ib.peer_credits: dead time ")
    assert len([line for line in lines if line.startswith("| ")]) == 4


def test_what_drivers_clamp_is_said_with_its_point(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", small, "--over", "o2ib.peer_credits=8,126", "--set", "o2ib.credits=64", "--processes", "1"]) == 0
    assert "lnetstat: note: o2ib.peer_credits=126: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--over", "o2ib.peer_credits"], "expected KEY=VALUE,VALUE"),
        (["--over", "o2ib.peer_credits=8,8"], "stands there twice"),
        (["--over", "o2ib.peer_credits=8,none"], "point o2ib.peer_credits=none: "),
        (["--over", "o2ib.peer_credit=8"], "did you mean"),
        (["--over", "run.seed=1,2", "--seed", "3"], "with --set and with --over"),
        (["--over", "run.seed=" + ",".join(map(str, range(1001)))], "1001 = 1,001 points: expected at most 1,000"),
    ],
)
def test_a_sweep_that_cannot_be_is_one_line(small: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", small, *arguments]) == 2
    line = capsys.readouterr().err
    assert said in line
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "--over"),
        (["--over", "run.seed=1", "-o", "table.xls"], 2, "expected a name that ends in .csv, .parquet, .html, .md"),
        (["--over", "run.seed=1", "-o", "/nowhere/table.csv"], 3, "the folder /nowhere does not exist"),
        (["--over", "run.seed=1", "--scheduler", "tcp://127.0.0.1:1", "--processes", "2"], 2, "exclude one another"),
        (["--over", "run.seed=1", "--intervals", "0"], 2, "--intervals"),
    ],
)
def test_options_that_do_not_fit_are_said(
    small: str, arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sweep", small, *arguments]) == status
    assert said in capsys.readouterr().err


def test_without_dask_the_extra_is_named(small: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run(["sweep", small, "--over", "run.seed=1", "--scheduler", "tcp://127.0.0.1:1"]) == 3
    assert capsys.readouterr().err == "lnetstat: the Python package distributed is missing: pip install 'lnetstat[cluster]'\n"


def test_without_pyarrow_it_is_named_before_the_work(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("lnetstat.simulator.sweep.run_point", lambda point: pytest.fail("worked"))
    assert run(["sweep", small, "--over", "run.seed=1", "--processes", "1", "-o", str(tmp_path / "a.parquet")]) == 3
    assert capsys.readouterr().err == "lnetstat: the Python package pyarrow is missing: pip install 'lnetstat[analysis]'\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_end_it_and_its_processes(small: str, number: int, status: int) -> None:
    command = [
        sys.executable,
        "-m",
        "lnetstat",
        "sweep",
        small,
        "--over",
        "run.seed=1,2,3",
        "--set",
        "run.duration=5d",
        "--processes",
        "2",
    ]
    with started(command) as process:
        wait_until(lambda: len(workers(process.pid)) >= 2)
        children = workers(process.pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == status, err
    assert "Traceback" not in err
    wait_until(lambda: not any(os.path.exists(f"/proc/{child}") for child in children))


def test_help_is_there_at_once() -> None:
    code = "import sys; from lnetstat.cli import run; run(['sweep', '--help']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def workers(parent: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


@contextlib.contextmanager
def started(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A process that does not outlive the test."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(there: Callable[[], bool]) -> None:
    """Look again and again until it is so."""
    end = time.monotonic() + DEADLINE_S
    while not there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
