"""Where an agent may hand the invocation to (spec A6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.agents.base_agent import BaseAgent
    from runtime.agents.llm_agent import LlmAgent


def transfer_targets(agent: LlmAgent) -> list[BaseAgent]:
    """Sub-agents, then the parent, then peers, as the two `disallow_` flags allow."""
    targets: list[BaseAgent] = list(agent.sub_agents)
    parent = agent.parent_agent
    if parent is None or not parent.offers_transfer:
        return targets
    if not agent.disallow_transfer_to_parent:
        targets.append(parent)
    if not agent.disallow_transfer_to_peers:
        targets += [peer for peer in parent.sub_agents if peer is not agent]
    return targets
