"""Signing in with an OpenID Connect provider, enabled by `SSO_SERVER_URL` (docs/security.md)."""
