"""Planners: make a model plan before it acts."""

from runtime.planners.base_planner import BasePlanner
from runtime.planners.built_in_planner import BuiltInPlanner
from runtime.planners.plan_re_act_planner import PlanReActPlanner

__all__ = ["BasePlanner", "BuiltInPlanner", "PlanReActPlanner"]
