#!/usr/bin/env bash
# Wheel, source archive, a CycloneDX bill of materials (Python packages of requirements.lock and the bundled front end)
# and SHA-256 checksums, all in dist/. The build tools live in an environment of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
tools=$venv/release-tools
if [ ! -x "$tools/bin/cyclonedx-py" ]; then
  "$venv/bin/python" -m venv "$tools"
  "$tools/bin/python" -m pip --quiet --disable-pip-version-check --no-input install build==1.6.1 cyclonedx-bom==7.5.0
fi
rm -rf dist
"$tools/bin/python" -m build --outdir dist . >/dev/null
"$tools/bin/python" scripts/sbom.py dist
(cd dist && sha256sum -- * >SHA256SUMS)
ls -1 dist
