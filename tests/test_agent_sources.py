"""What the agent says of sources that hang, break off or come back, each once each way; and that none of them makes another late."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from lnetstat.agent.loop import WHOLE_AGAIN_S, Agent
from lnetstat.agent.settings import AgentSettings
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording
from lnetstat.sources.reading import Clocks
from tests.agent_process import make_tree, running, wait_for

HANGING = Path(__file__).with_name("hanging_file.py")
NS = 10**9


@pytest.fixture
def hanging(tmp_path):
    """A folder with a `peers` that hangs until the file system is gone."""
    folder = tmp_path / "hanging"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, str(HANGING), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with server:
        if server.stdout.readline() != "mounted\n":
            pytest.skip(f"no FUSE here: {server.stderr.read().strip()}")
        yield folder, server
        subprocess.run(["umount", "-l", str(folder)], check=False, timeout=30)
        server.kill()


def test_a_file_that_hangs_is_told_once_with_its_path_and_once_when_it_is_back_and_delays_nothing(tmp_path, hanging):
    folder, server = hanging
    tree = make_tree(tmp_path / "tree")
    text = (tree / "peers").read_text()
    (tree / "peers").unlink()
    (tree / "peers").symlink_to(folder / "peers")
    with running(root=str(tree), host="rtr", recording=str(tmp_path / "rec"), interval_s=0.25, deadline_s=0.5) as agent:
        words = wait_for(agent, "peers")
        assert f"peers: hangs: {tree}/peers: no answer within 0.5 s" in words
        (tree / "new").write_text(text)
        (tree / "new").rename(tree / "peers")
        server.kill()  # the read that hung ends with an error
        assert "readable again" in wait_for(agent, "peers")
        agent.terminate()
        _, rest = agent.communicate(timeout=30)
    assert rest == ""
    snapshots = list(Recording(tmp_path / "rec").snapshots())
    of = {name: [s for s in snapshots if s.name == name] for name in ("peers", "stats")}
    assert {(s.state, s.errno) for s in of["peers"]} == {(State.FAILED, errno.ETIMEDOUT), (State.OK, 0)}
    assert {s.state for s in of["stats"]} == {State.OK}
    assert len({s.time_ns for s in of["stats"]}) == len(of["stats"])


class Table:
    """Stands in for an agent's source: gives `peers` in the state that is set."""

    def __init__(self):
        self.state = State.OK
        self.host = "rtr"
        self.problems = []
        self.lacks_lnet = False

    def tick(self, wait_s):
        number = errno.ESTALE if self.state is State.PARTIAL else 0
        return [Snapshot("peers", "rtr", 0, 0, 0, self.state, number, frozenset(), "")]


def test_a_table_that_breaks_off_is_told_once_and_whole_again_only_after_a_minute_without(tmp_path):
    now_ns = [NS]
    said = []
    settings = AgentSettings(root=str(tmp_path), config="x")
    agent = Agent(settings, said.append, clocks=Clocks(lambda: now_ns[0], lambda: now_ns[0]))
    agent._source.close()
    agent._source = Table()

    def samples(*states):
        for state in states:
            agent._source.state = state
            now_ns[0] += NS
            agent._tell_states(agent._read())

    samples(State.OK, State.OK)
    assert said == []
    samples(*[State.PARTIAL, State.OK, State.PARTIAL] * 20)
    assert len(said) == 1
    assert said[0].startswith("peers: the table changes in each of several reads")
    assert [words for words, _ in agent._standing.troubles.values()] == said
    samples(*[State.OK] * (WHOLE_AGAIN_S - 1))
    assert len(said) == 1
    samples(State.OK)
    assert said[1:] == ["peers: whole again"]
    assert agent._standing.troubles == {}
    samples(State.PARTIAL, State.ABSENT)
    assert said[3] == "peers: gone"
    assert "peers part" not in agent._standing.troubles, "what is not there has no parts"


def test_reads_that_are_still_under_way_are_not_told_as_lnet_that_is_not_there(tmp_path):
    said = []
    agent = Agent(AgentSettings(root=str(make_tree(tmp_path / "tree"))), said.append)
    agent._tell_states([])
    assert said == []
    agent._source._has_looked = True
    agent._tell_states([])
    assert "no table of LNet under" in said[0]
    agent._source.close()


def test_a_name_that_would_act_in_a_terminal_is_harmless_in_the_log(tmp_path):
    said = []
    agent = Agent(AgentSettings(root=str(tmp_path)), said.append)
    agent._source.close()
    snapshot = Snapshot("osc.\x1b[2J\n<script>.stats", "rtr", 0, 0, 0, State.FAILED, errno.EIO, frozenset(), "")
    agent._tell_states([snapshot])
    line = next(line for line in said if "script" in line)
    assert line.isprintable()
    assert line.startswith(r"osc.\x1b[2J\n<script>.stats: failed: Input/output error")
