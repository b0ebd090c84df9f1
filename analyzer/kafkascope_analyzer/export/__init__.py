"""Exports of a dataset for other systems: Prometheus, OpenTelemetry, Grafana, Zeek, and lakehouses (Delta Lake,
Iceberg)."""
