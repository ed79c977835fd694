"""Documents of others in an iframe of a chat page."""

from __future__ import annotations

from collections.abc import Mapping

SANDBOX = "; ".join(
    (
        "sandbox allow-popups allow-popups-to-escape-sandbox",
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
)
"""Policy for HTML of others: its styles apply and its links open, and nothing else in it has an effect."""
VIEWER = "frame-ancestors 'self'"
"""Policy for a PDF. The browser's viewer, which gives a PDF no access to the site, does not work in a sandbox."""


def iframe_headers(policy: str) -> Mapping[str, str]:
    """Return headers with which pages of this site may show a response in an iframe."""
    # Both headers: Django's middleware would add `DENY`.
    return {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
