import json
import subprocess
import sys
from pathlib import Path

import pytest

from lnetstat.cli import run

PINGS = Path(__file__).parents[2] / "sample-data" / "recordings" / "s7-lustre-pings"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "pings.html"
    assert run(["report", str(PINGS), "-o", str(path), "--title", "Pings of s7"]) == 0
    return path.read_text("utf-8")


def test_a_recording_of_real_pings_becomes_a_page(page: str) -> None:
    assert "<title>Pings of s7</title>" in page
    assert "obd_ping" in page
    assert "Bursts of pings come every" in page
    assert page.index("Findings") < page.index("Throughput, pings, credits and buffers on one time axis")


def test_the_page_says_on_stderr_what_was_written_and_nothing_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    assert run(["report", str(PINGS), "-o", str(path), "--begin", "-30s"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{path}: ")
    assert said.err.endswith("MiB\n")


def test_the_mail_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(PINGS), "--format", "md", "--title", "Pings"]) == 0
    assert capsys.readouterr().out.startswith("# Pings\n\n3 hosts (")


def test_the_json_is_that_of_analyze(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(PINGS), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert run(["analyze", str(PINGS), "--json"]) == 0
    assert report == json.loads(capsys.readouterr().out)


def test_a_csv_series_can_be_reported_on(tmp_path: Path) -> None:
    series = tmp_path / "series.csv"
    series.write_text("time,value\n" + "".join(f"{second},{0 if second % 25 == 0 else 100}\n" for second in range(1, 1500)))
    assert run(["report", str(series), "-o", str(tmp_path / "page.html")]) == 0
    assert "dips every 25" in (tmp_path / "page.html").read_text("utf-8")


def test_a_missing_folder_is_said_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "/nowhere/recording", "-o", "/nowhere/page.html"]) == 3
    said = capsys.readouterr().err
    assert "the folder /nowhere does not exist: make it" in said
    assert len(said.splitlines()) == 1


def test_nothing_to_read_is_one_line_and_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tmp_path / "none"), "-o", str(tmp_path / "page.html")]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_could_be_read_is_reported_and_the_rest_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    assert run(["report", str(PINGS), str(tmp_path / "none"), "-o", str(path), "--begin", "-30s"]) == 3
    assert path.stat().st_size > 4_000_000
    assert capsys.readouterr().err.startswith(f"lnetstat: {tmp_path / 'none'}: ")


def test_help_needs_no_plotly() -> None:
    code = "import sys; from lnetstat.cli import run; run(['report', '--help']); sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
