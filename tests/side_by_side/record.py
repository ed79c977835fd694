"""Run all programs with google-adk and write their outcomes to `recorded/`: see CONTRIBUTING.md for the command."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"


def read_recorded(folder: Path = RECORDED) -> dict[str, dict[str, Any]]:
    """Return the recorded outcomes by subject and program."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def write_recorded(outcomes: dict[str, dict[str, Any]], folder: Path) -> None:
    """Write a file for each subject, with one line for each event, request and stored session."""
    folder.mkdir(exist_ok=True)
    for subject, programs in outcomes.items():
        (folder / f"{subject}.json").write_text(_layout(programs, depth=3) + "\n")


def _layout(value: Any, depth: int) -> str:
    if not depth or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"
    lines = [f"{json.dumps(key)}: {_layout(item, depth - 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


async def _record(folder: Path) -> None:
    from tests.side_by_side.google_adk import use_google_adk

    use_google_adk()
    from tests.side_by_side.program import load_programs

    outcomes: dict[str, dict[str, Any]] = {}
    for program in load_programs():
        outcomes.setdefault(program.subject, {})[program.name] = await program.outcome()
    write_recorded(outcomes, folder)


if __name__ == "__main__":
    logging.disable()
    warnings.simplefilter("ignore")
    asyncio.run(_record(Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED))
