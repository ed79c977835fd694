"""Programs that run in google-adk and here with the same outcome, or with a difference that the documentation lists.

google-adk's outcomes are recorded in `recorded/`. `tests/side_by_side/record.py` records them anew, with the Python
that `ADK_PYTHON` names: one with the packages of `requirements-adk.txt`. The own outcomes of programs that differ are
recorded in `differences/`, by `tests/side_by_side/record_differences.py`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.side_by_side.program import Program, load_programs
from tests.side_by_side.record import read_recorded
from tests.side_by_side.record_differences import DIFFERENCES

ROOT = Path(__file__).parents[2]
PROGRAMS = load_programs()
RECORDED = read_recorded()
OWN_OUTCOMES = read_recorded(DIFFERENCES)
DOCUMENTED = (ROOT / "docs" / "adk-differences.md").read_text()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.subject}-{program.name}")
async def test_a_program_has_the_outcome_of_google_adk(program: Program) -> None:
    outcome = await program.outcome()
    recorded = RECORDED[program.subject][program.name]
    if program.differs is None:
        assert outcome == recorded
    else:
        assert outcome != recorded, "The outcomes agree: register it with @program."
        assert outcome == OWN_OUTCOMES[program.subject][program.name]
        if program.only_in:
            assert without(outcome, program.only_in) == without(recorded, program.only_in)


def without(value: Any, keys: tuple[str, ...]) -> Any:
    """Return an outcome without these keys, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, keys) for key, item in value.items() if key not in keys}
    return [without(item, keys) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("row", sorted({program.differs for program in PROGRAMS if program.differs}))
def test_each_deliberate_difference_is_documented(row: str) -> None:
    assert f"| {row}" in DOCUMENTED


def test_the_recorded_programs_are_those_that_exist() -> None:
    recorded = [(subject, name) for subject, programs in RECORDED.items() for name in programs]
    assert sorted(recorded) == sorted((program.subject, program.name) for program in PROGRAMS)
    own = {(subject, name) for subject, programs in OWN_OUTCOMES.items() for name in programs}
    assert own == {(program.subject, program.name) for program in PROGRAMS if program.differs}


@pytest.mark.skipif("ADK_PYTHON" not in os.environ, reason="ADK_PYTHON is not set")
def test_the_recorded_outcomes_are_those_of_google_adk(tmp_path: Path) -> None:
    command = [os.environ["ADK_PYTHON"], "-m", "tests.side_by_side.record", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=240)
    assert read_recorded(tmp_path) == RECORDED
