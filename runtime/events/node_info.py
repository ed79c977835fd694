"""NodeInfo: the place of an event in a workflow.

A path names the runs of nodes from the workflow down: `refund@1/check_stock@2` is the second run of the node
`check_stock` in the first run of the workflow `refund`, within one invocation.
"""

from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

_QUOTED = str.maketrans({"%": "%25", "/": "%2F", "@": "%40"})


class NodeInfo(BaseModel):
    """The run of a node that an event belongs to.

    Attributes:
        path: path of the run.
        output_for: paths of the runs whose output the event gives: the run itself and, at the last node of a workflow,
            the workflow. A workflow that is a node has a last event of its own.
        message_as_output: True if the latest message of the run is its output.
        has_ended: True for the last event of a run.
        failed_attempts: number of attempts that have failed, in the event of a failure that is tried again.
        retry_at: time of the next attempt (seconds since the epoch), in the same event.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")

    path: str = ""
    output_for: list[str] | None = None
    message_as_output: bool | None = None
    has_ended: bool | None = None
    failed_attempts: int | None = None
    retry_at: float | None = None

    @property
    def name(self) -> str:
        return name_of_run(self.path)

    @property
    def run_id(self) -> str:
        """Id of the run: its number among the runs of the node."""
        return run_id_of(self.path)


def name_of_run(path: str) -> str:
    """Return the name of the node of a run."""
    return path.rpartition("/")[2].rpartition("@")[0]


def run_id_of(path: str) -> str:
    """Return the id of a run among the runs of its node."""
    return unquote(path.rpartition("@")[2])


def child_path(path: str, name: str, run_id: str | int) -> str:
    """Return the path of a run of the node `name` below the run at `path`, which is empty for a workflow itself."""
    # An id of other code, such as that of a model's call, may contain the signs that divide a path.
    if isinstance(run_id, str):
        run_id = run_id.translate(_QUOTED)
    segment = f"{name}@{run_id}"
    return f"{path}/{segment}" if path else segment


def is_at_or_below(path: str, top: str) -> bool:
    """Return True if the run at `path` is the run at `top` or one that it has started."""
    return path == top or path.startswith(f"{top}/")
