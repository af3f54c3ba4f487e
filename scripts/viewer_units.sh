#!/usr/bin/env bash
# Installs the front end's packages from its lock file and bundles its unit tests for the browser that pytest starts.
# Does nothing when neither the lock file nor the sources changed.
set -euo pipefail
cd "$(dirname "$0")/.."
path=$(scripts/node.sh)
export PATH="$path:$PATH"
cd viewer
lock=$(cat package.json package-lock.json | sha256sum | cut -d' ' -f1)
if [ ! -f node_modules/.installed ] || [ "$(cat node_modules/.installed)" != "$lock" ]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! npm ci --no-audit --no-fund --loglevel=error >"$log" 2>&1; then cat "$log" >&2; exit 4; fi
  printf '%s' "$lock" >node_modules/.installed
fi
node build.mjs --tests node_modules/.units/units.js
