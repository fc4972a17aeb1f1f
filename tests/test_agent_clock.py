"""Somebody sets the node's clock while the agent runs: it is told, each second is sent once, and samples stay on whole multiples."""

import signal
import subprocess

import pytest

from lnetstat.agent import agent_command
from lnetstat.agent.settings import AgentSettings
from tests.agent_process import make_tree, wait_for

SETTABLE = """import time, functools, signal; from lnetstat.agent import loop, process; from lnetstat.sources.reading import Clocks
ahead_ns = [0]
signal.signal(signal.SIGUSR1, lambda *_: ahead_ns.append(STEP))
process.Agent = functools.partial(loop.Agent, clocks=Clocks(lambda: time.time_ns() + ahead_ns[-1]))
sys.exit(main"""


@pytest.mark.parametrize("step_s", [3600, -3600, 0.5, -86_400 * 400])
def test_a_clock_that_is_set_is_told_and_no_second_is_sent_twice(tmp_path, step_s):
    tree = make_tree(tmp_path / "tree")
    command = agent_command(AgentSettings(root=str(tree), host="rtr", stdout=True, interval_s=0.1))
    at = command.index("-c") + 1
    command[at] = command[at].replace("sys.exit(main", SETTABLE.replace("STEP", str(int(step_s * 1e9))))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as agent:
        lines = [agent.stdout.readline()]
        agent.send_signal(signal.SIGUSR1)
        assert f"the clock was set by {step_s:+.1f} s" in wait_for(agent, "clock")
        while len({line.split()[2] for line in lines}) < 5:
            lines.append(agent.stdout.readline())
        agent.terminate()
        rest, words = agent.communicate(timeout=30)
    assert (agent.returncode, words) == (0, "")
    points = [line.split() for line in (*lines, *rest.splitlines())]
    assert len({(path, second) for path, _, second in points}) == len(points)
    seconds = sorted({int(second) for _, _, second in points})
    assert abs((seconds[-1] - seconds[0]) - abs(step_s)) < 60
    counted = [float(value) for path, value, _ in points if path.endswith(".self.late")]
    assert max(counted) < 100  # the step itself is no missed sample
