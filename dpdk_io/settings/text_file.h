// SPDX-License-Identifier: BSD-2-Clause
// Reads a file of settings as a whole, and says whether it is still the one that was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mrc {

// Two that are equal are of the same file with the same content, as far as one can tell from outside.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Of a file that is not there: that of none.
FileStamp stamp_of(const std::string& file);

// False with an empty error: there is no such file. `stamp` may be null.
bool read_text_file(const std::string& file, size_t bytes_max, std::string* text, FileStamp* stamp,
                    std::string* error);

}  // namespace mrc
