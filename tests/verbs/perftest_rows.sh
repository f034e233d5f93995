# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the scripts that run perftest: what its table says, on a busy machine too.

# perftest_rows LOG COLUMN: how many rows of the table in LOG have a number above zero in that column. perftest measures the
# CPU's clock before every row, and says "Correlation coefficient ..." where others computed meanwhile; such a row has
# been run like every other, but its rate is 0.
perftest_rows() {
  awk -v column="$2" '
    /Correlation coefficient r/ { ++blind }
    $1 ~ /^[0-9]+$/ && NF >= column { if ($column + 0 > 0) ++good; else ++zero }
    END { print good + (zero < blind ? zero : blind) }' "$1"
}
