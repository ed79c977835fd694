"""Sentences for the reasons that end an answer without success, or refuse a request.

google-genai has an enum for each. Providers add reasons, which google-genai reads as new members: these have the
sentence of `OTHER`.
"""

from runtime import types

_STOPPED = {
    "MAX_TOKENS": "The model reached its limit before it could answer. Ask for less at once.",
    "SAFETY": "The model stopped its answer because of its safety rules. Ask in other words.",
    "RECITATION": "The model stopped its answer because it repeated a published text. Ask in other words.",
    "LANGUAGE": "The model does not know this language well enough. Write in another language.",
    "OTHER": "The model stopped its answer and did not say why. Try again.",
    "BLOCKLIST": "The model stopped its answer because of a forbidden word. Ask in other words.",
    "PROHIBITED_CONTENT": "The model stopped its answer because its content is not allowed. Ask in other words.",
    "SPII": "The model stopped its answer because of personal data in it. Ask in other words.",
    "MALFORMED_FUNCTION_CALL": "The model wanted to use a tool in a way that cannot be read. Try again.",
    "IMAGE_SAFETY": "The model made no image because of its safety rules. Describe another image.",
    "IMAGE_PROHIBITED_CONTENT": (
        "The model made no image because its content is not allowed. Describe another image."
    ),
    "IMAGE_OTHER": "The model made no image and did not say why. Try again.",
    "NO_IMAGE": "The model made no image and did not say why. Try again.",
    "IMAGE_RECITATION": (
        "The model made no image because it would repeat a published one. Describe another image."
    ),
    "UNEXPECTED_TOOL_CALL": "The model wanted to use a tool that it does not have. Try again.",
    "TOO_MANY_TOOL_CALLS": "The model used too many tools for one answer. Ask for less at once.",
    "MISSING_THOUGHT_SIGNATURE": "The model cannot go on with this chat. Begin a new one.",
    "MALFORMED_RESPONSE": "The model's answer cannot be read. Try again.",
    "ESCALATION": "The model stopped its answer because of its provider's rules. Ask in other words.",
    "PUP_LIMITED_DISABLED": (
        "The model's provider has limited this account. Tell the people who run this site."
    ),
    "CONTINUATION": "The model reached its limit before it could answer. Ask for less at once.",
    "MODEL_ARMOR": "A filter stopped the model's answer. Ask in other words.",
}
_REFUSED = {
    "SAFETY": "The model refused the request because of its safety rules. Ask in other words.",
    "OTHER": "The model refused the request and did not say why. Ask in other words.",
    "BLOCKLIST": "The model refused the request because of a forbidden word. Ask in other words.",
    "PROHIBITED_CONTENT": "The model refused the request because its content is not allowed. Ask in other words.",
    "IMAGE_SAFETY": "The model refused to make this image because of its safety rules. Describe another image.",
    "MODEL_ARMOR": "A filter refused the request. Ask in other words.",
    "JAILBREAK": "The model refused the request because it is against its rules. Ask in other words.",
}


def why_stopped(reason: types.FinishReason) -> str:
    """Return a sentence for the user about an answer that ended with this reason."""
    return _STOPPED.get(reason.value, _STOPPED["OTHER"])


def why_refused(reason: types.BlockedReason) -> str:
    """Return a sentence for the user about a request that was refused for this reason."""
    return _REFUSED.get(reason.value, _REFUSED["OTHER"])
