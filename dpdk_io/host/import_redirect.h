// SPDX-License-Identifier: BSD-2-Clause
// Redirects an imported function of ONE loaded shared object to a function of ours; everybody else in the
// process goes on calling the original.
#pragma once

#include <span>
#include <string>

namespace mrc {

struct Redirection {
  const char* symbol;
  void* replacement;
};

// Rewrites the slots through which the library that holds `address_in_library` calls `symbol`. Returns how
// many were rewritten (0: it does not import the symbol), or a negative errno.
int redirect_import(const void* address_in_library, const char* symbol, void* replacement);

// All of them, each of which the library must import. Empty when that went well, else which one failed and
// why.
std::string redirect_imports(const void* address_in_library, std::span<const Redirection> redirections);

// Some address in the loaded library whose file name contains `name`; nullptr: not loaded.
const void* find_loaded_library(const char* name);

}  // namespace mrc
