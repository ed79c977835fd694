"""The text of an OpenAPI document, as JSON or YAML."""

from __future__ import annotations

import json
from typing import Any, Literal

from runtime.errors import ConfigurationError

SpecFormat = Literal["json", "yaml"]


def parse_spec(text: str, spec_format: SpecFormat) -> dict[str, Any]:
    """Return the document as a dict.

    Raises:
        ConfigurationError: the text is not a JSON or YAML object, or PyYAML is missing.
    """
    try:
        spec = _parse_yaml(text) if spec_format == "yaml" else json.loads(text)
    except RecursionError:
        raise ConfigurationError("The OpenAPI spec is nested too deeply to be read.") from None
    except ValueError as error:
        raise ConfigurationError(f"The OpenAPI spec is not valid {spec_format.upper()}: {error}") from error
    if not isinstance(spec, dict):
        raise ConfigurationError(f"The OpenAPI spec is a {type(spec).__name__}, not an object.")
    return spec


def _parse_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise ConfigurationError(
            "A spec in YAML needs the package PyYAML: `pip install PyYAML`, or give the spec as JSON."
        ) from error
    # The loader in C reads large specs about ten times as fast; not every build of PyYAML has it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  # both are safe loaders
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
