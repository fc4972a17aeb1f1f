"""The agent's own process: how the command line becomes it, and what signals mean to it."""

import json
import os
import signal
import sys
from types import FrameType

from lnetstat.agent.loop import Agent, GivenUp
from lnetstat.agent.service import Service
from lnetstat.agent.settings import AgentSettings, settings_from_json
from lnetstat.errors import LnetstatError, bug_line

READS_END_S = 0.3  # how long a read under way may go on after the signal to stop
# Behind the standard library, so that nothing beside us in site-packages passes for a part of it.
_BOOT = "import sys; sys.path.append(sys.argv[1]); from lnetstat.agent import main; sys.exit(main(sys.argv[2]))"
# One heap for all reader threads, and large texts given back to the kernel: half the memory at 100,000 peers.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "1000000", "MALLOC_MMAP_THRESHOLD_": "500000"}


def agent_command(settings: AgentSettings) -> list[str]:
    """Return the command line of an agent's own process: isolated from the environment and from site-packages."""
    package_parent = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [sys.executable, "-I", "-S", "-c", _BOOT, package_parent, json.dumps(settings._asdict())]


def become(settings: AgentSettings) -> None:
    """Replace this process by the agent: click and all else that checked the settings is gone from memory."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by who started us
            stream.flush()
    command = agent_command(settings)
    os.execve(command[0], command, os.environ | MALLOC)  # noqa: S606


def main(text: str) -> int:
    """Run the agent with settings in JSON; return the exit status."""
    settings = settings_from_json(text)
    try:
        agent = Agent(settings, report, service=Service(os.environ))
    except LnetstatError as error:
        report(str(error))
        return 3
    signals: list[int] = []
    _listen(agent, signals, reloads=settings.config is not None)
    try:
        done = agent.run()
    except LnetstatError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away (`| head`): no error
            return 0
        report(str(error))
        return 3
    except Exception as error:
        report(bug_line(error))
        return 4
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # at Python's own end nobody handles it any more: it would kill
    if signal.SIGINT in signals:
        return 130
    return 0 if done else 3


def report(line: str) -> None:
    """Say one line on stderr. Where nobody listens any more (a log that went away) the agent goes on."""
    if sys.stderr is None:
        return
    try:
        print(f"lnetstat: {line}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _listen(agent: Agent, signals: list[int], *, reloads: bool) -> None:
    """SIGTERM and SIGINT end the agent, also out of a read that hangs; SIGHUP makes it read its file again, or without one ends it."""

    def end(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        agent.stop()
        signal.setitimer(signal.ITIMER_REAL, READS_END_S)

    def give_up(number: int, frame: FrameType | None) -> None:
        if agent.reading:
            raise GivenUp

    def reload(number: int, frame: FrameType | None) -> None:
        agent.reload()

    signal.signal(signal.SIGALRM, give_up)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGHUP, reload if reloads else end)
