// SPDX-License-Identifier: BSD-2-Clause
// How much longer than usual a check waits before it calls something hung: sanitizers slow everything down.
#pragma once

#if defined(__has_feature)  // clang says it like this
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MRC_TEST_SANITIZED
#endif
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(MRC_TEST_SANITIZED)
inline constexpr int kPatience = 5;
#else
inline constexpr int kPatience = 1;
#endif
