"""Targets of an agent transfer (contract A6)."""

from __future__ import annotations

from runtime.context import AgentProtocol
from runtime.engine.llm_agent_protocol import LlmAgentProtocol


def transfer_targets(agent: LlmAgentProtocol) -> list[AgentProtocol]:
    """Return the sub-agents, then the parent, then peers, as the two `disallow_` flags allow."""
    targets: list[AgentProtocol] = list(agent.sub_agents)
    parent = agent.parent_agent
    if parent is None or not parent.offers_transfer:
        return targets
    if not agent.disallow_transfer_to_parent:
        targets.append(parent)
    if not agent.disallow_transfer_to_peers:
        targets += [peer for peer in parent.sub_agents if peer is not agent]
    return targets
