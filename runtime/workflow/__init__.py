"""Workflows: graphs of functions, agents and tools. An interrupted workflow continues where it stopped."""

from runtime.workflow.base_node import START, BaseNode, JoinNode
from runtime.workflow.build import node
from runtime.workflow.errors import GraphValidationError, NodeDataError, NodeTimeoutError
from runtime.workflow.function_node import FunctionNode
from runtime.workflow.graph import DEFAULT_ROUTE, Edge
from runtime.workflow.node_context import NodeContext
from runtime.workflow.parallel_worker import Node
from runtime.workflow.retry_config import RetryConfig
from runtime.workflow.wait_node import WaitNode
from runtime.workflow.workflow import Workflow

__all__ = [
    "DEFAULT_ROUTE",
    "START",
    "BaseNode",
    "Edge",
    "FunctionNode",
    "GraphValidationError",
    "JoinNode",
    "Node",
    "NodeContext",
    "NodeDataError",
    "NodeTimeoutError",
    "RetryConfig",
    "WaitNode",
    "Workflow",
    "node",
]
