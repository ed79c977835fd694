"""Public path; defined in `runtime.run_config`."""

from runtime.run_config import RunConfig, StreamingMode

__all__ = ["RunConfig", "StreamingMode"]
