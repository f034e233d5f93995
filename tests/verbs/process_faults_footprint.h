// SPDX-License-Identifier: BSD-2-Clause
// What a process holds of the system, so that what is left behind is noticed.
#pragma once

#include <cstddef>
#include <string>

namespace process_faults {

struct Footprint {
  size_t descriptors;
  size_t mappings;
  size_t threads;
  size_t files;  // in the run directory

  static Footprint now();
  std::string text() const;
};

// What the descriptors of this process are.
std::string open_descriptors();
// The names in the run directory.
std::string run_directory_files();

// Descriptors that a program started by exec() would inherit.
size_t inheritable_descriptors();

}  // namespace process_faults
