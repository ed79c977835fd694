"""Fuzzing: what nobody would send. The site answers, and keeps to its contracts."""
