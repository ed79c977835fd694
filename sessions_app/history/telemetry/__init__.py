"""Metrics for Prometheus and spans for an OpenTelemetry collector."""
