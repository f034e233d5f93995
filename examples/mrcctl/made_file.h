// SPDX-License-Identifier: BSD-2-Clause
// A text file that says in its first line that it was made by mrcctl, with how many folders around it, and
// with which content: so that exactly this can be taken back, and nothing that somebody else made or changed.
#pragma once

#include <filesystem>
#include <string>

namespace mrc {

enum class FileState {
  kAbsent,
  kMade,     // by us, and not changed since
  kChanged,  // made by us, but changed by somebody since
  kForeign,  // of somebody else, or no plain file
};

struct MadeFile {
  FileState state = FileState::kAbsent;
  std::string text;  // without our first line
  int folders = 0;   // that were made around it
};

MadeFile read_made_file(const std::filesystem::path& path);

// Makes the folders that are missing, then the file as a whole or not at all; `before` is what was there.
// False: `error` says why.
bool write_made_file(const std::filesystem::path& path, const std::string& text, const MadeFile& before,
                     std::string* error);

// Removes the file, and the folders that were made around it if nothing else is in them.
bool remove_made_file(const std::filesystem::path& path, const MadeFile& file, std::string* error);

// Whether two texts say the same apart from comments and empty lines.
bool says_the_same(const std::string& a, const std::string& b);

}  // namespace mrc
