"""Signing in with an OpenID Connect provider, which `SSO_SERVER_URL` switches on (docs/security.md)."""
