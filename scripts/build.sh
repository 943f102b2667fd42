# SPDX-License-Identifier: MIT
# Shared by examples/run and tests/run; source it with root set to the repository.

job_count() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# quietly LOG COMMAND...: the output goes to LOG, and to the terminal only if COMMAND fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "failed: $*" >&2
    return 1
  fi
}

# build PRESET [TARGET...]: configures the preset and builds the targets, by default all.
build() {
  local preset=$1
  shift
  local -a targets=()
  [ $# -gt 0 ] && targets=(--target "$@")
  # Presets are looked up in the current folder.
  (
    cd "$root"
    quietly "build/$preset/configure.log" cmake --preset "$preset" &&
      quietly "build/$preset/build.log" \
        cmake --build --preset "$preset" --parallel "$(job_count)" ${targets[@]+"${targets[@]}"}
  )
}
