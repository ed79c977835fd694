"""Distribution of the tests over processes in whole files, which a process imports when it begins with them.

Collecting all tests takes 25 seconds of CPU time, and as much again where no bytecode is cached yet. In each of four
processes this was a tenth of the run.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

BROWSER = "tests/browser/"
SECOND_HALF = f"{BROWSER}test_j"
"""The first browser file, by name, of the second site: the files before it take half of the CPU time."""
RESTARTS = tuple(f"{BROWSER}test_{name}.py" for name in ("outages", "outside", "restart"))

CLIENTS_OF_MODELS = (
    "tests/contracts/test_models.py",
    "tests/fuzz/test_model_answers.py",
    "tests/unit/runtime/models/",
    "tests/unit/runtime/test_http_bodies.py",
    "tests/unit/test_patterns.py",
)
"""Tests that import the clients of Anthropic and LiteLLM, which takes more CPU time than most of these files."""


class WholeFiles(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no type hints
    """Gives each process whole files.

    Browser tests share three sites, one for the files that restart it. A single process imports the clients of models.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        if file.startswith(BROWSER):
            if file in RESTARTS:
                return "site that restarts"
            return "first site" if file < SECOND_HALF else "second site"
        if file.startswith(CLIENTS_OF_MODELS):
            return "clients of models"
        return file


class LateFile(pytest.Item):
    """A file of tests that stands for them in the list of tests of a process of xdist, until it runs."""

    @classmethod
    def at(cls, path: Path, directory: pytest.Collector) -> LateFile:
        nodeid = path.relative_to(directory.config.rootpath).as_posix()
        file: LateFile = cls.from_parent(directory, name=path.name, path=path, nodeid=nodeid)
        file.add_marker("django_db")  # pytest-django makes the databases that such marks name
        return file

    def runtest(self, nextitem: pytest.Item | None = None) -> None:
        """Collect and run the tests of the file; `nextitem` keeps the fixtures that it uses as well."""
        module = pytest.Module.from_parent(self.parent, path=self.path)
        tests = [*self.session.genitems(module)]
        self.config.hook.pytest_collection_modifyitems(session=self.session, config=self.config, items=tests)
        place = self.session.items.index(self)
        for test, following in pairwise([*tests, nextitem]):
            assert test is not None
            self.session.items[place] = test  # xdist takes reports of the test at this place only
            self.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if self.session.shouldfail or self.session.shouldstop:
                return
