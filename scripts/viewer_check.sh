#!/usr/bin/env bash
# The front end from its lock file: types, style, a rebuild that must give the committed bundle byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."
py=${PY:-python3}
path=$(scripts/node.sh)
export PATH="$path:$PATH"
echo "viewer: node $(node --version)"
scripts/viewer_units.sh
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cd viewer
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
cd ..
for name in viewer.js viewer_svg.js; do
  cmp "$built/$name" "src/regard/present/pack/static/$name" || { echo "viewer: $name is stale; run: make viewer" >&2; exit 1; }
done
"$py" scripts/viewer_types.py --check
echo "viewer: types and style clean; both bundles rebuilt byte for byte ($(gzip -c src/regard/present/pack/static/viewer.js | wc -c) bytes gzipped)"
