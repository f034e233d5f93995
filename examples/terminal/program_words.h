// SPDX-License-Identifier: BSD-2-Clause
// What every program answers alike: --help, --version, and words that it does not know.
#pragma once

#include <string>
#include <string_view>

namespace mrc {

// The exit status of a program that was called with words it does not know.
constexpr int kCalledWrongly = 2;

// True: the word asks for help or for the version, and the answer has been printed.
bool answer_word(const char* program, const std::string& usage, std::string_view word);

// The same for any word on the command line; for programs that run no other with words of its own.
bool answer_words(const char* program, const std::string& usage, int count, char** words);

// Names the word on standard error; returns kCalledWrongly.
int refuse_word(const char* program, std::string_view word);

}  // namespace mrc
