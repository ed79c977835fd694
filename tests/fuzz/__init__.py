"""Fuzzing: input that nobody would send. The site answers, and keeps to its contracts."""
