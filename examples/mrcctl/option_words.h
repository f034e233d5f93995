// SPDX-License-Identifier: BSD-2-Clause
// The words behind a command that has many options: which there are, and what was said.
#pragma once

#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/terminal/program_words.h"

namespace mrc {

struct OptionWord {
  std::string_view name;
  bool has_value = false;
  // False: the value is none.
  std::function<bool(const std::string& value)> take;
};

// 0, or the status for the shell; standard error was told. `rest` gets the words that are no options.
inline int take_options(const std::vector<std::string>& words, const std::vector<OptionWord>& options,
                        std::vector<std::string>* rest) {
  for (size_t i = 0; i < words.size(); ++i) {
    const OptionWord* known = nullptr;
    for (const OptionWord& option : options)
      if (option.name == words[i]) known = &option;
    if (known == nullptr && words[i].starts_with("--")) return refuse_word("mrcctl", words[i]);
    if (known == nullptr) {
      rest->push_back(words[i]);
      continue;
    }
    if (known->has_value && i + 1 == words.size()) return refuse_word("mrcctl", words[i]);
    const std::string value = known->has_value ? words[++i] : "";
    if (!known->take(value)) return refuse_word("mrcctl", value);
  }
  return 0;
}

// A number and nothing else, within limits.
template <typename Number>
bool read_number(const std::string& text, Number least, Number most, Number* to, int base = 10) {
  Number value{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (wrong != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
  *to = value;
  return true;
}
inline bool read_decimal(const std::string& text, double least, double most, double* to) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
  *to = value;
  return true;
}

}  // namespace mrc
