// SPDX-License-Identifier: BSD-2-Clause
// toml++, without what it (3.3) believes of every file and some break. It asserts, or has the compiler
// assume, what "[!]" is not, and refuses that right behind. And its search for the blanks of other scripts
// ends, for most letters of Latin ones, where it never should: they are no blanks. Everybody includes it from
// here, so that there is one of it.
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#if __has_include(<toml++/impl/unicode.hpp>)  // from 3.4 on
#include <toml++/impl/forward_declarations.hpp>
#else
#include <toml++/impl/forward_declarations.h>
#endif
#pragma push_macro("TOML_UNREACHABLE")
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#if __has_include(<toml++/impl/unicode.hpp>)
#include <toml++/impl/unicode.hpp>
#else
#include <toml++/impl/unicode.h>
#endif
#pragma pop_macro("TOML_UNREACHABLE")
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
#include <cassert>  // as it is meant to be behind this
