"""Rules for the party that may answer a call from outside (contract T7, T10)."""

import re

from runtime.errors import ConfigurationError

PERSON = "person"
SITE = "site"
STAFF = "staff:"
_STAFF_RULE = re.compile(rf"{STAFF}\w+\.\w+")


def check_answer_rule(parameter: str, rule: str, tool_name: str, *, may_be_site: bool) -> None:
    """Check that the rule is `person`, `staff:<permission>` or, if allowed, `site`.

    Raises:
        ConfigurationError: the rule has none of these forms.
    """
    if rule == PERSON or (rule == SITE and may_be_site) or _STAFF_RULE.fullmatch(rule):
        return
    names = "'person', 'site' or" if may_be_site else "'person' or"
    raise ConfigurationError(
        f"{parameter}={rule!r} of tool {tool_name!r} names nobody. "
        f"Write {names} 'staff:<app label>.<permission>'."
    )


def check_confirmer(rule: str, tool_name: str, may_allow_for_session: bool) -> str:
    """Return the `confirmed_by` of a tool.

    Raises:
        ConfigurationError: the rule names nobody, or leaves an allowance for a whole session to staff.
    """
    check_answer_rule("confirmed_by", rule, tool_name, may_be_site=False)
    if rule != PERSON and may_allow_for_session:
        raise ConfigurationError(
            f"Tool {tool_name!r} has confirmed_by={rule!r} and may_allow_for_session. Staff decide on each call: "
            "leave out may_allow_for_session."
        )
    return rule
