"""Dependencies of the wheel, read from the requirements files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PINNED = re.compile(r"([\w.-]+)(\[[\w,]+\])?==((\d+)\.\S+)")


class RequirementsMetadata(MetadataHookInterface):
    """Hook of hatchling that `pyproject.toml` configures.

    A site pins its packages. A project has packages of its own, so the wheel takes any version from the pinned one to
    the next major one.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies and the extras."""
        needed = self._requirements("requirements.txt")
        only_of_site = self.config["only-of-site"]
        metadata["dependencies"] = [text for name, text in needed.items() if name not in only_of_site]
        metadata["optional-dependencies"] = {
            extra: list(self._requirements(f"requirements-{extra}.txt").values())
            for extra in self.config["extras"]
        }

    def _requirements(self, file: str) -> dict[str, str]:
        """Return the requirements of a file by the names of the packages."""
        found = PINNED.finditer(Path(self.root, file).read_text())
        return {pin[1]: f"{pin[1]}{pin[2] or ''}>={pin[3]},<{int(pin[4]) + 1}" for pin in found}
