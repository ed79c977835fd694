"""Logging for scripts that run agents."""

import logging
import tempfile
from datetime import datetime
from pathlib import Path

LOGGING_FORMAT = "%(asctime)s - %(levelname)s - %(filename)s:%(lineno)d - %(message)s"


def setup_adk_logger(level: int = logging.INFO) -> None:
    """Log to standard error, from the given level on."""
    logging.basicConfig(level=level, format=LOGGING_FORMAT)
    logging.getLogger("runtime").setLevel(level)


def log_to_tmp_folder(
    level: int = logging.INFO,
    *,
    sub_folder: str = "agents_log",
    log_file_prefix: str = "agent",
    log_file_timestamp: str = "",
) -> str:
    """Log to a new file instead of standard error, from the given level on; return the path of the file."""
    timestamp = log_file_timestamp or datetime.now().astimezone().strftime("%Y%m%d_%H%M%S")
    # A new private directory: others may write to the system's temporary directory.
    path = Path(tempfile.mkdtemp(prefix=f"{sub_folder}-")) / f"{log_file_prefix}.{timestamp}.log"
    logging.basicConfig(level=level, format=LOGGING_FORMAT, filename=path, force=True)
    return str(path)
