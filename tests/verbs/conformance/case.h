// SPDX-License-Identifier: BSD-2-Clause
// A conformance case: a name and a function that throws when the device does not do what it must.
#pragma once

#include <cerrno>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace conformance {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The machine, not the device, lacks what the case needs.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The case is about what this transport does not have, and refuses as it should.
struct NotApplicable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  std::string name;  // group.what
  std::function<void()> body;
};
std::vector<Case>& all_cases();

struct Registration {
  Registration(std::string name, std::function<void()> body) {
    all_cases().push_back({std::move(name), std::move(body)});
  }
};

// A failure that cannot be thrown, for example while an object is destroyed: it fails the running case.
void complain(const std::string& what);
std::vector<std::string> take_complaints();

template <typename T>
std::string text_of(const T& value) {
  if constexpr (std::is_pointer_v<T>)
    return value == nullptr ? "null" : "a pointer";
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<long long>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return std::to_string(value);
  else
    return std::string(value);
}

[[noreturn]] void fail_at(const char* file, int line, const std::string& what);

template <typename A, typename B>
void check_equal(const char* file, int line, const char* expression, const A& actual, const B& expected) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if (static_cast<long long>(actual) == static_cast<long long>(expected)) return;
  } else {
    if (actual == expected) return;
  }
  fail_at(file, line, std::string(expression) + " is " + text_of(actual) + ", not " + text_of(expected));
}

// What a verb answered: 0, or an errno that is one of those.
void check_error(const char* file, int line, const char* expression, int error,
                 std::initializer_list<int> expected);

}  // namespace conformance

#define CONFORMANCE_JOIN_(a, b) a##b
#define CONFORMANCE_JOIN(a, b) CONFORMANCE_JOIN_(a, b)
// By a counter, not by the line: several files are compiled as one.
#define CASE(name) CONFORMANCE_CASE(name, __COUNTER__)
#define CONFORMANCE_CASE(name, number)                                              \
  static void CONFORMANCE_JOIN(case_, number)();                                    \
  static const ::conformance::Registration CONFORMANCE_JOIN(registration_, number)( \
      name, &CONFORMANCE_JOIN(case_, number));                                      \
  static void CONFORMANCE_JOIN(case_, number)()

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) ::conformance::fail_at(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)
#define CHECK_EQ(actual, expected) \
  ::conformance::check_equal(__FILE__, __LINE__, #actual, (actual), (expected))
// A verb that returns 0 or an errno.
#define CHECK_ERROR(call, ...) ::conformance::check_error(__FILE__, __LINE__, #call, (call), {__VA_ARGS__})
#define CHECK_OK(call) CHECK_ERROR(call, 0)
// A verb that returns an object, or null and sets errno.
#define CHECK_REFUSED(call, ...)                                                                  \
  do {                                                                                            \
    errno = 0;                                                                                    \
    if ((call) != nullptr) ::conformance::fail_at(__FILE__, __LINE__, "was not refused: " #call); \
    ::conformance::check_error(__FILE__, __LINE__, #call, errno, {__VA_ARGS__});                  \
  } while (false)
