// SPDX-License-Identifier: BSD-2-Clause
// Redirects an imported function of ONE loaded shared object to a function of ours; everybody else in the
// process goes on calling the original.
#pragma once

namespace mrc {

// Rewrites the slots through which the library that holds `address_in_library` calls `symbol`. Returns how
// many were rewritten (0: it does not import the symbol), or a negative errno.
int redirect_import(const void* address_in_library, const char* symbol, void* replacement);

}  // namespace mrc
