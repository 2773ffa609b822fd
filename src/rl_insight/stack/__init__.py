"""Prometheus, Tempo and Grafana beside the collector: dashboards, alert rules, configs, start and stop."""
