// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/fault.h"

#include <time.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "examples/terminal/program_words.h"
#include "libmrc/fault/fault_text.h"

namespace mrc {
namespace {

using ull = unsigned long long;

int fault_failed(const std::string& what) {
  std::fprintf(stderr, "mrcctl: %s\n", what.c_str());
  return 1;
}

int add(FaultPage& page, const std::string& run_directory, int count, char** words) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::string(i == 0 ? "" : " ") + words[i];
  FaultRule rule;
  std::string wanted;
  if (!read_fault(text, &rule, &wanted)) {
    std::fprintf(stderr, "mrcctl: fault: %s\n", wanted.c_str());
    return kCalledWrongly;
  }
  const int error = add_fault(page, run_directory, &rule);
  if (error == ENOSPC) return fault_failed("there are as many rules as fit; remove one (mrcctl fault list)");
  if (error != 0) return fault_failed(run_directory + ": " + std::strerror(error));
  std::printf("fault %u: %s\n", rule.id, describe(rule).c_str());
  return 0;
}

int remove(FaultPage& page, const std::string& run_directory, std::string_view word) {
  uint32_t id = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (fault != std::errc() || end != word.data() + word.size()) return refuse_word("mrcctl", word);
  const int error = remove_fault(page, run_directory, id);
  if (error == ENOENT)
    return fault_failed("there is no fault " + std::to_string(id) + "; see mrcctl fault list");
  return error == 0 ? 0 : fault_failed(run_directory + ": " + std::strerror(error));
}

// Somebody may be writing; that does not take long.
bool read_all(FaultPage& page, std::vector<PlacedRule>* rules) {
  uint32_t changes = 0;
  for (int tries = 0; tries < 1000; ++tries) {
    if (read_faults(page, rules, &changes)) return true;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

int list(FaultPage& page, bool json) {
  std::vector<PlacedRule> rules;
  if (!read_all(page, &rules))
    return fault_failed("the page of faults was left half written; try mrcctl fault clear");
  if (!json) {
    if (rules.empty()) std::printf("nothing goes wrong on purpose\n");
    for (const PlacedRule& each : rules)
      std::printf("fault %u: %s: %llu times\n", each.rule.id, describe(each.rule).c_str(),
                  static_cast<ull>(each.hits->load()));
    return 0;
  }
  std::printf("{\"faults\": [");
  const char* between = "";
  for (const PlacedRule& each : rules) {
    std::printf("%s\n  {\"id\": %u, \"kind\": \"%s\", \"hits\": %llu", between, each.rule.id,
                to_string(each.rule.kind), static_cast<ull>(each.hits->load()));
    // Values are words and numbers of ours: nothing in them needs an escape.
    for (const auto& [key, value] : fields_of(each.rule))
      std::printf(", \"%s\": \"%s\"", key.c_str(), value.c_str());
    std::printf("}");
    between = ",";
  }
  std::printf("%s]}\n", rules.empty() ? "" : "\n");
  return 0;
}

}  // namespace

int fault_command(FaultPage& page, const std::string& run_directory, int count, char** words) {
  const std::string_view what = count > 0 ? words[0] : "list";
  const std::string_view next = count > 1 ? words[1] : "";
  if (what == "add" && count > 1) return add(page, run_directory, count - 1, words + 1);
  if (what == "remove" && count == 2) return remove(page, run_directory, next);
  if (what == "list" && (count < 2 || (count == 2 && next == "--json"))) return list(page, count == 2);
  if (what == "clear" && count == 1) {
    const int error = clear_faults(page, run_directory);
    return error == 0 ? 0 : fault_failed(run_directory + ": " + std::strerror(error));
  }
  if (what != "add" && what != "remove" && what != "list" && what != "clear")
    return refuse_word("mrcctl", what);
  if (count > 1) return refuse_word("mrcctl", words[count - 1]);
  std::fprintf(stderr, "mrcctl: fault %s needs %s\n", words[0], what == "add" ? "a kind" : "a number");
  return kCalledWrongly;
}

}  // namespace mrc
