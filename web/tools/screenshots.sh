#!/usr/bin/env bash
# Fills a server of its own with two runs of the demo and takes the pictures of docs/pictures.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${BIN:-.venv/bin}
work=$(mktemp -d)
trap '"$bin"/rl-insight server stop --data-dir "$work/data" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
"$bin"/rl-insight server start --port 0 --data-dir "$work/data" --detach >/dev/null
url=$("$bin"/python -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$work/data/server.json")
export RL_INSIGHT_SERVER_URL=$url
RL_INSIGHT_RUN=baseline "$bin"/python -m rl_insight.demo --steps 40 --speed 2 >/dev/null
RL_INSIGHT_RUN=straggler "$bin"/python -m rl_insight.demo --steps 40 --speed 2 --fault straggler >/dev/null
node web/tools/screenshots.mjs "$url" docs/pictures straggler baseline
echo "pictures are in docs/pictures"
