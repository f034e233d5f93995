// SPDX-License-Identifier: BSD-2-Clause
#include "case.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace conformance {
namespace {

std::mutex g_mutex;
std::vector<std::string> g_complaints;

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

}  // namespace

std::vector<Case>& all_cases() {
  static std::vector<Case> cases;
  return cases;
}

void complain(const std::string& what) {
  std::lock_guard lock(g_mutex);
  g_complaints.push_back(what);
}

std::vector<std::string> take_complaints() {
  std::lock_guard lock(g_mutex);
  return std::exchange(g_complaints, {});
}

void fail_at(const char* file, int line, const std::string& what) {
  throw Failure(std::string(file_name(file)) + ":" + std::to_string(line) + ": " + what);
}

void check_error(const char* file, int line, const char* expression, int error,
                 std::initializer_list<int> expected) {
  if (std::find(expected.begin(), expected.end(), error) != expected.end()) return;
  const auto named = [](int number) {
    const char* name = strerrorname_np(number);
    return number == 0 ? "success" : name != nullptr ? name : std::to_string(number);
  };
  std::string wanted;
  for (const int one : expected) wanted += (wanted.empty() ? "" : " or ") + std::string(named(one));
  fail_at(file, line, std::string(expression) + " answered " + named(error) + ", not " + wanted);
}

}  // namespace conformance
