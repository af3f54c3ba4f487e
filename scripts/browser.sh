#!/usr/bin/env bash
# Finds a Chromium for the browser tests, or installs Debian's if it may. Prints its path; says why if there is none.
# Chinese pages are looked at with a Chinese font, so that one is installed where none is there.
if command -v fc-list >/dev/null 2>&1 && [ -z "$(fc-list :lang=zh-cn family 2>/dev/null)" ] \
  && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "setup: installing a Chinese font for the browser tests" >&2
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq fonts-noto-cjk) >/dev/null 2>&1 \
    || echo "setup: no Chinese font could be installed; Chinese pages are drawn without one" >&2
fi
# The data set `spoken` needs a speaking program; without it, its tests and pages use recordings alone.
if ! command -v espeak-ng >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "setup: installing espeak-ng for the data set spoken" >&2
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq espeak-ng) >/dev/null 2>&1 \
    || echo "setup: espeak-ng could not be installed; the data set spoken stays unavailable" >&2
fi
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then command -v "$name"; exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "setup: installing chromium for the browser tests" >&2
  apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null 2>&1
  command -v chromium && exit 0
fi
echo "no browser found; browser tests will be listed as NOT RUN (install chromium to run them)" >&2
