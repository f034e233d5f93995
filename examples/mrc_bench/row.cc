// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/row.h"

#include <algorithm>

namespace mrc::bench {

double median(std::vector<double> values) {
  std::erase(values, 0.0);
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double ratio_of(const Row& row) {
  const double reference = row.reference != nullptr ? median(row.reference->seen) : 0;
  return reference > 0 ? median(row.ours->seen) / reference : 0;
}

double spread_of(const Row& row) {
  std::vector<double> values;
  for (size_t i = 0; i < row.ours->seen.size(); ++i) {
    const double reference =
        row.reference != nullptr && i < row.reference->seen.size() ? row.reference->seen[i] : 1;
    if (row.ours->seen[i] > 0 && reference > 0) values.push_back(row.ours->seen[i] / reference);
  }
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / median(values);
}

double judged(const Row& row) {
  return row.reference != nullptr ? ratio_of(row) : median(row.ours->seen);
}

bool as_wanted(const Row& row) {
  const double value = judged(row);
  return value > 0 && value >= row.at_least.value_or(value) && value <= row.at_most.value_or(value);
}

}  // namespace mrc::bench
