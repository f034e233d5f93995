// SPDX-License-Identifier: BSD-2-Clause
// How much longer than usual a test waits before it calls something hung: sanitizers slow everything down.
#pragma once

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kPatience = 5;
#else
inline constexpr int kPatience = 1;
#endif
