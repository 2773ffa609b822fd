#!/bin/sh
# Makes the secrets of deploy/compose.yaml, once: the collector's token and the password of Grafana's admin.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
chmod 700 secrets
for name in token grafana-password; do
    if [ ! -s "secrets/$name" ]; then
        # Containers read them as users of their own; on this machine nobody else gets into the folder.
        LC_ALL=C tr -dc 'A-Za-z0-9' < /dev/urandom | head -c 32 > "secrets/$name"
        chmod 444 "secrets/$name"
        echo "made deploy/secrets/$name"
    fi
done
