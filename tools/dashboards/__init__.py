"""The Grafana dashboards as code. `make dashboards` writes them to `src/rl_insight/stack/dashboards/`.

Only this folder imports grafana-foundation-sdk; the package ships the JSON.
"""
