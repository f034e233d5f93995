#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The library exports what its headers declare, each under the version that it came with, and nothing else.
# exports.sh SOURCE_DIR LIBRARY
set -euo pipefail

source_dir=$1
declared=$(cat "$source_dir"/include/mrc/*.h | grep -oE '\b(mrc|mrc_ctl|mrcdv)_[a-z_]+\(' | tr -d '(' | sort -u)
versioned=$(for name in $declared; do
  case $name in
    mrc_query_device_ex | mrc_ctl_query_device_ex) echo "$name@@MRC_1.0.1" ;;
    mrcdv_add_fault | mrcdv_remove_fault | mrcdv_query_faults) echo "$name@@MRC_1.0.2" ;;
    mrcdv_modify_denied_links | mrcdv_query_denied_links | mrcdv_query_profiles) echo "$name@@MRC_1.0.3" ;;
    *) echo "$name@@MRC_1.0" ;;
  esac
done)
exported=$(nm -D --defined-only "$2" | awk '$2 == "T" {print $3}' | sort)
others=$(nm -D --defined-only "$2" | awk '$2 != "T" && $2 != "A"')
[[ -z $others ]] || { echo "exports something that is no function: $others"; exit 1; }
diff <(echo "$versioned" | sort) <(echo "$exported") && echo "$(wc -l <<<"$exported") functions"
