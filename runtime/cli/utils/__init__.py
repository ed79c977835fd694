"""Helpers for scripts."""
