"""Names of `runtime` that stand for google-adk's modules, in a process that has google-adk.

`use_google_adk` makes `from runtime.agents import LlmAgent` import `google.adk.agents.LlmAgent`, so that a program is
written once and runs in both packages.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

PREFIX = "runtime"


def use_google_adk() -> None:
    """Let every later import of a `runtime` module give google-adk's module of the same name."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        is_ours = name.partition(".")[0] == PREFIX
        return importlib.machinery.ModuleSpec(name, _Loader()) if is_ours else None


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module("google.adk" + spec.name.removeprefix(PREFIX))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: google-adk has executed its module."""
