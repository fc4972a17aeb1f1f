"""The agent on a node: the loop that reads, records, reduces and ships, and the process that it lives in."""

from lnetstat.agent.process import MALLOC, agent_command, become, main
from lnetstat.agent.settings import AgentSettings

__all__ = ["MALLOC", "AgentSettings", "agent_command", "become", "main"]
