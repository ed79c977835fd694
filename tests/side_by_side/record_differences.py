"""Run the differing programs with this runtime and write their outcomes to `differences/`, to be read in the diff.

`python -m tests.side_by_side.record_differences` needs no google-adk.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from tests.side_by_side.program import load_programs
from tests.side_by_side.record import write_recorded

DIFFERENCES = Path(__file__).parent / "differences"


async def _record(folder: Path) -> None:
    outcomes: dict[str, dict[str, Any]] = {}
    for program in load_programs():
        if program.differs is not None:
            outcomes.setdefault(program.subject, {})[program.name] = await program.outcome()
    write_recorded(outcomes, folder)


if __name__ == "__main__":
    logging.disable()
    asyncio.run(_record(DIFFERENCES))
