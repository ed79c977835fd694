"""Read YAML by PyYAML, which is an optional package. Only its safe loaders are used: a document is data."""

from pathlib import Path
from types import ModuleType
from typing import Any

from runtime.errors import ConfigurationError, how_to_install


def parse_yaml(text: str) -> Any:
    """Return the content of a document.

    Raises:
        ConfigurationError: PyYAML is missing.
        ValueError: the text is not YAML; the message names the line.
    """
    yaml = _yaml()
    try:
        return yaml.load(text, Loader=_loader(yaml))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def load_yaml_file(file_path: str | Path) -> Any:
    """Return the content of a file.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigurationError, ValueError: as `parse_yaml`.
    """
    return parse_yaml(Path(file_path).read_text(encoding="utf-8"))


def key_lines(text: str) -> dict[str, int]:
    """Return the line number of each key in a document with a mapping; the first line is 1."""
    yaml = _yaml()
    pairs = yaml.compose(text, Loader=_loader(yaml)).value
    return {key.value: key.start_mark.line + 1 for key, _ in pairs}


def _loader(yaml: ModuleType) -> Any:
    # The loader in C reads long texts about ten times as fast; not every build of PyYAML has it.
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _yaml() -> ModuleType:
    try:
        import yaml
    except ImportError as error:
        raise ConfigurationError(
            f"YAML needs the package PyYAML: {how_to_install('yaml')}. JSON and Python need none."
        ) from error
    return yaml
