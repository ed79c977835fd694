"""Metric of the tool calls: calls of the agent compared with the expected calls."""

from collections.abc import Sequence

from runtime import types
from runtime.evaluation.eval_case import Invocation, get_all_tool_calls
from runtime.evaluation.eval_metrics import ToolTrajectoryCriterion
from runtime.evaluation.metric import InvocationScore, Metric
from runtime.events.calls import FRAMEWORK_CALLS

MatchType = ToolTrajectoryCriterion.MatchType
Calls = Sequence[types.FunctionCall]


class ToolTrajectory(Metric):
    """1.0 for an invocation whose calls match the expected calls, otherwise 0.0.

    The framework's questions to the user are not calls of the agent, and are ignored.
    """

    name = "tool_trajectory_avg_score"
    criterion_type = ToolTrajectoryCriterion

    _criterion: ToolTrajectoryCriterion

    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        return InvocationScore(score=float(self._matches(_calls(actual), _calls(expected))))

    def _matches(self, actual: Calls, expected: Calls) -> bool:
        match self._criterion.match_type:
            case MatchType.EXACT:
                return len(actual) == len(expected) and all(map(self._equal, actual, expected))
            case MatchType.IN_ORDER:
                remaining = iter(actual)  # Each search begins after the call found by the last search.
                return all(any(self._equal(call, wanted) for call in remaining) for wanted in expected)
            case MatchType.ANY_ORDER:
                return self._has_all(list(actual), expected)

    def _has_all(self, actual: list[types.FunctionCall], expected: Calls) -> bool:
        for wanted in expected:
            for index, call in enumerate(actual):
                if self._equal(call, wanted):
                    # Deleted, so two expected calls need two calls.
                    del actual[index]
                    break
            else:
                return False
        return True

    def _equal(self, actual: types.FunctionCall, expected: types.FunctionCall) -> bool:
        if actual.name != expected.name:
            return False
        return self._criterion.ignore_args or (actual.args or {}) == (expected.args or {})


def _calls(invocation: Invocation) -> list[types.FunctionCall]:
    calls = get_all_tool_calls(invocation.intermediate_data)
    return [call for call in calls if call.name not in FRAMEWORK_CALLS]
