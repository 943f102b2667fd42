#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what the build needs and this machine lacks; changes nothing and touches no network when
# everything is there.
#   scripts/setup.sh         what every build needs
#   scripts/setup.sh --all   also clang, its sanitizer runtime, ccache and the browser of the report
#                            tests
# EPIKV_SKIP_SETUP=1 skips it, e.g. to let CMake download the libraries instead.
set -euo pipefail

[ "${EPIKV_SKIP_SETUP:-}" = 1 ] && exit 0

has_command() { command -v "$1" >/dev/null 2>&1; }

# CXX may carry a launcher or flags; its first word is what must run.
has_compiler() {
  local cxx=${CXX:-}
  if [ -n "$cxx" ]; then has_command "${cxx%% *}"; else has_command g++ || has_command c++; fi
}

has_cmake() {
  local version major minor
  has_command cmake || return 1
  version=$(cmake --version | sed -n '1s/^cmake version //p')
  major=${version%%.*}
  minor=${version#*.}
  minor=${minor%%.*}
  [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 22 ]; }
}

# has_header FILE: in one of the usual prefixes or one that CMAKE_PREFIX_PATH names.
has_header() {
  local prefix
  local -a prefixes=()
  IFS=':;' read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for prefix in ${prefixes[@]+"${prefixes[@]}"} /usr /usr/local /opt/homebrew /opt/local; do
    [ -e "$prefix/include/$1" ] && return 0
  done
  return 1
}

has_browser() { has_command chromium || has_command chromium-browser || has_command google-chrome; }

missing=()
need() { # need PACKAGE CHECK...: PACKAGE unless CHECK succeeds
  local package=$1
  shift
  "$@" || missing+=("$package")
}

need g++ has_compiler
need cmake has_cmake
need ninja-build has_command ninja
need libeigen3-dev has_header eigen3/Eigen/Core
need libfmt-dev has_header fmt/core.h
need doctest-dev has_header doctest/doctest.h
need libbenchmark-dev has_header benchmark/benchmark.h
need nlohmann-json3-dev has_header nlohmann/json.hpp
if [ "${1:-}" = --all ]; then
  need clang has_command clang++
  need libclang-rt-dev test -n "$(find /usr/lib/llvm-* /usr/lib/clang -name 'libclang_rt.asan*.a' -print -quit 2>/dev/null)"
  need ccache has_command ccache
  need chromium has_browser
fi

[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
can_install() {
  has_command apt-get || return 1
  [ "$(id -u)" -eq 0 ] && return 0
  if has_command sudo && sudo -n true >/dev/null 2>&1; then
    as_root=(sudo -n)
    return 0
  fi
  return 1
}

if ! can_install; then
  {
    echo "EpiKV needs these packages (Debian's and Ubuntu's names): ${missing[*]}"
    if has_command apt-get; then
      echo "Install them with: sudo apt-get install ${missing[*]}"
    else
      echo "Install them with this system's package manager and run again."
    fi
    echo "Or set EPIKV_SKIP_SETUP=1: CMake then downloads the libraries that it does not find."
  } >&2
  exit 1
fi

echo "Installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" >>"$log" 2>&1
}
# Package lists that cannot be refreshed may still be good enough.
apt update || echo "apt-get update failed; trying with the package lists that are there" >&2
if ! apt install --no-install-recommends "${missing[@]}"; then
  cat "$log" >&2
  echo "Could not install: ${missing[*]}" >&2
  exit 1
fi
