#!/usr/bin/env bash
# Rewrites requirements.lock: every package that regard and its extras need at run time, at the version of
# constraints.txt, with the hashes of its files. torch stays out (its CPU and CUDA builds have different files), and so
# does regard itself.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
tools=$venv/lock-tools
[ -x "$tools/bin/pip-compile" ] || {
  "$venv/bin/python" -m venv "$tools"
  "$tools/bin/python" -m pip --quiet --disable-pip-version-check --no-input install pip-tools==7.6.2
}
# every extra but the one for development
read -ra extras <<<"$("$tools/bin/python" -c 'import tomllib
print(*(name for name in tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"] if name != "dev"))')"
new=$(mktemp)
trap 'rm -f "$new"' EXIT
"$tools/bin/pip-compile" --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
  --strip-extras --unsafe-package torch --constraint constraints.txt "${extras[@]/#/--extra=}" --output-file "$new" \
  pyproject.toml 2>/dev/null
{
  cat <<'TXT'
# What regard and its extras need at run time, with hashes. Made by `scripts/lock.sh`; versions are those of constraints.txt.
#   pip install torch==2.13.0 && pip install --no-deps --require-hashes -r requirements.lock && pip install --no-deps .
TXT
  sed '/^$/,$d; /^# /,$d' "$new"
} >requirements.lock
