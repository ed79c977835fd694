"""EvalConfig: criteria of an evaluation, as in a `test_config.json`."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator
from pydantic.alias_generators import to_camel

from runtime.agents.common_configs import CodeConfig
from runtime.evaluation.common import EvalBaseModel
from runtime.evaluation.eval_metrics import BaseCriterion
from runtime.evaluation.simulation.llm_backed_user_simulator import LlmBackedUserSimulatorConfig

NOT_HERE = ("customMetrics", "liveModelConfig", "userSimulatorConfig")
"""Settings of google-adk's evaluations that its files may have empty. `liveModelConfig` has no meaning here."""


class CustomMetricConfig(EvalBaseModel):
    """Metric of a function.

    Attributes:
        code_config: reference to the function; see `CustomMetric`.
        metric_info: google-adk's notes on the range of the score; kept, but not read.
    """

    code_config: CodeConfig
    metric_info: dict[str, Any] | None = None
    description: str = ""


class EvalConfig(BaseModel):
    """Criteria by the names of their metrics. In JSON, a criterion is an object, or just its threshold.

    Attributes:
        custom_metrics: functions of the criteria that are no built-in metrics, by their names.
        user_simulator_config: the simulated user of cases with a scenario.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    criteria: dict[str, SerializeAsAny[BaseCriterion]] = Field(default_factory=dict)
    custom_metrics: dict[str, CustomMetricConfig] = Field(default_factory=dict)
    user_simulator_config: LlmBackedUserSimulatorConfig = Field(default_factory=LlmBackedUserSimulatorConfig)

    @model_validator(mode="before")
    @classmethod
    def _without_empty_settings(cls, value: Any) -> Any:
        """Leave out settings of google-adk that are empty; others are refused by name."""
        if not isinstance(value, dict):
            return value
        return {name: given for name, given in value.items() if given or to_camel(name) not in NOT_HERE}

    @field_validator("criteria", mode="before")
    @classmethod
    def _from_thresholds(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        criteria = {}
        for name, given in value.items():
            if isinstance(given, dict | BaseCriterion):
                criteria[name] = given
            else:
                criteria[name] = {"threshold": given}
        return criteria


DEFAULT_CONFIG = EvalConfig.model_validate(
    {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}
)
"""Criteria for sets without a `test_config.json`, the same as in google-adk."""
