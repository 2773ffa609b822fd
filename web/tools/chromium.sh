#!/usr/bin/env bash
# A Chromium for the browser tests. As root on Debian a missing one is installed; elsewhere this says how to get it. It never
# fails: without Chromium the browser tests are skipped, and say so.
set -uo pipefail

found() {
  local place
  for place in "${CHROMIUM:-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
    [[ -n $place && -x $place ]] && return 0
  done
  return 1
}

# Ubuntu's package of that name is a snap, which a container cannot run.
debian() {
  [[ -r /etc/os-release ]] && grep -qx 'ID=debian' /etc/os-release && command -v apt-get >/dev/null
}

skipped() {
  echo "NO CHROMIUM: the page's tests in a browser will be SKIPPED. $1" >&2
}

found && exit 0
if debian && [[ $(id -u) == 0 ]]; then
  echo "installing Chromium for the browser tests" >&2
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null || true
  found || skipped "Its installation failed, see above."
else
  skipped "Install it (Debian: apt-get install chromium), or set CHROMIUM to its path."
fi
exit 0
