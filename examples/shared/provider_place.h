// SPDX-License-Identifier: BSD-2-Clause
// Where the provider is that belongs to the running program, in a build folder or installed to any prefix.
#pragma once

#include <string>

namespace mrc {

// As libibverbs wants it named: an absolute path to which it appends "-rdmav34.so". Empty: `error` says where
// it was looked for.
std::string find_provider_place(std::string* error);

// The line of a driver file for it. In libibverbs' own folder of providers a name is enough.
std::string driver_line(const std::string& provider_place);

}  // namespace mrc
