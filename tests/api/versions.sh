#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The headers are clean in C11 and C++20, have the layout that programs compiled elsewhere have, and keep the rules of
# versions: the latest is the current one, a newer one is an error, the oldest one a warning.
# versions.sh SOURCE_DIR C_COMPILER CXX_COMPILER
set -euo pipefail

source_dir=$1
languages=("$2 -x c -std=c11" "$3 -x c++ -std=c++20")
options=(-Wall -Wextra -pedantic -Werror -fsyntax-only "-I$source_dir/include" "-I$source_dir")
failed=0

# compiles WANTED WHAT OPTION...: WANTED is 0 or 1.
compiles() {
  local wanted=$1 what=$2 language got
  shift 2
  for language in "${languages[@]}"; do
    # shellcheck disable=SC2086
    if echo '#include "tests/api/layout.h"' | $language "${options[@]}" "$@" - >/dev/null 2>&1; then got=1; else got=0; fi
    [[ $got == "$wanted" ]] && continue
    echo "$what: ${language#* } compiles: $got, not $wanted"
    # shellcheck disable=SC2086
    echo '#include "tests/api/layout.h"' | $language "${options[@]}" "$@" - 2>&1 | head -5 || true
    failed=1
  done
}

compiles 1 'no version given'
for prefix in MRC_API MRC_CTL_API; do
  compiles 1 "$prefix 1.0.0" "-D${prefix}_VER_USED=0x01000000"
  compiles 1 "$prefix 1.0.1" "-D${prefix}_VER_USED=0x01000001"
  compiles 1 "$prefix latest" "-D${prefix}_VER_USED=${prefix}_VER_LATEST"
  compiles 0 "$prefix 1.0.2" "-D${prefix}_VER_USED=0x01000002"
  compiles 0 "$prefix 0.0.0, by its warning" "-D${prefix}_VER_USED=0"
  compiles 1 "$prefix 0.0.0" "-D${prefix}_VER_USED=0" -Wno-error -w
done
for prefix in MRC_VENDOR_API MRC_CTL_VENDOR_API; do
  compiles 1 "$prefix latest" "-D${prefix}_VER_USED=0xFFFFFFFF"
  compiles 0 "$prefix 1.0.1" "-D${prefix}_VER_USED=0x01000001"
done
# What came with 1.0.1 is not there before.
before=$(printf '#include <mrc/mrc_ctl.h>\nint (*f)(void) = (int (*)(void))&mrc_query_device_ex;\n')
if echo "$before" | $2 -x c -std=c11 -fsyntax-only "-I$source_dir/include" -DMRC_API_VER_USED=0x01000000 - 2>/dev/null; then
  echo 'mrc_query_device_ex is there in 1.0.0'
  failed=1
fi
exit $failed
