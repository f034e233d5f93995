// SPDX-License-Identifier: BSD-2-Clause
#include "examples/terminal/program_words.h"

#include <cstdio>

namespace mrc {

bool answer_word(const char* program, const std::string& usage, std::string_view word) {
  if (word == "--help" || word == "-h") {
    std::fputs(usage.c_str(), stdout);
    return true;
  }
  if (word == "--version") {
    std::printf("%s %s\n", program, MRC_VERSION);
    return true;
  }
  return false;
}

bool answer_words(const char* program, const std::string& usage, int count, char** words) {
  for (int i = 1; i < count; ++i)
    if (answer_word(program, usage, words[i])) return true;
  return false;
}

int refuse_word(const char* program, std::string_view word) {
  std::fprintf(stderr, "%s: '%.*s' is not known here; %s --help shows how it is used\n", program,
               static_cast<int>(word.size()), word.data(), program);
  return kCalledWrongly;
}

}  // namespace mrc
