"""Helpers of google-adk's command line that programs import."""
