"""The text of an OpenAPI document, as JSON or YAML."""

from __future__ import annotations

import json
from typing import Any, Literal

from runtime.errors import ConfigurationError
from runtime.utils.yaml_utils import parse_yaml

SpecFormat = Literal["json", "yaml"]


def parse_spec(text: str, spec_format: SpecFormat) -> dict[str, Any]:
    """Return the document as a dict.

    Raises:
        ConfigurationError: the text is not a JSON or YAML object, or PyYAML is missing.
    """
    try:
        spec = parse_yaml(text) if spec_format == "yaml" else json.loads(text)
    except ConfigurationError:
        raise
    except RecursionError:
        raise ConfigurationError("The OpenAPI spec is nested too deeply to be read.") from None
    except ValueError as error:
        raise ConfigurationError(f"The OpenAPI spec is not valid {spec_format.upper()}: {error}") from error
    if not isinstance(spec, dict):
        raise ConfigurationError(f"The OpenAPI spec is a {type(spec).__name__}, not an object.")
    return spec
