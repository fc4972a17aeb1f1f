"""What stands twice in the collectl plug-ins is generated: each file's blocks are those of its sources."""

import re
import subprocess
import sys
from pathlib import Path

from lnetstat.reduce.metrics import METRICS

FOLDER = Path(__file__).parents[2] / "collectors" / "collectl"
PLUGINS = ("lnet.ph", "lustre_oss.ph", "lnetcarbon.ph")


def generate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(folder / "generate.py"), *arguments], capture_output=True, text=True, check=False)


def copy_of_the_sources(to: Path) -> Path:
    (to / "parts").mkdir(parents=True)
    for file in (FOLDER / "generate.py", *(FOLDER / plugin for plugin in PLUGINS), *FOLDER.glob("parts/*.pl")):
        (to / file.relative_to(FOLDER)).write_bytes(file.read_bytes())
    return to


def test_blocks_are_current() -> None:
    done = generate(FOLDER, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_each_plugin_has_the_blocks_that_it_shares() -> None:
    for plugin in PLUGINS:
        blocks = re.findall(r"^# --- begin generated: (\w+) ", (FOLDER / plugin).read_text(), re.MULTILINE)
        assert {"paths", "metrics"} <= set(blocks), plugin


def test_a_stale_block_is_named_and_made_new(tmp_path: Path) -> None:
    folder = copy_of_the_sources(tmp_path / "collectl")
    part = folder / "parts" / "paths.pl"
    part.write_text(part.read_text() + "# one more line\n")
    found = generate(folder, "--check")
    assert found.returncode == 1
    assert all(f"{plugin}: its generated blocks are stale: make docs" in found.stderr for plugin in PLUGINS)
    assert generate(folder).returncode == 0
    assert generate(folder, "--check").returncode == 0
    assert all("# one more line\n# --- end generated: paths" in (folder / plugin).read_text() for plugin in PLUGINS)


def test_every_metric_of_a_plugin_stands_in_its_table() -> None:
    sent = [metric.pattern for metric in METRICS if metric.pattern.split(".")[0] not in ("cpu", "health")]
    text = (FOLDER / "lnetcarbon.ph").read_text()
    assert [pattern for pattern in sent if f"    '{pattern}' => '" not in text] == []


def test_a_wrong_word_is_refused() -> None:
    done = generate(FOLDER, "--chek")
    assert (done.returncode, done.stderr) == (2, "generate.py [--check]\n")
