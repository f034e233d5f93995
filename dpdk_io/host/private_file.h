// SPDX-License-Identifier: BSD-2-Clause
// Files of one user alone, as all in the run directory are. Whatever lies there under such a name, opening it
// never waits and never follows a link, and nothing is removed that was not made here.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mrc {

// Opens a regular file that belongs to this user and that nobody else may open; with O_CREAT in `flags` it is
// made so. -1: `why` says what is wrong with it, if anybody wants to know.
int open_private_file(const std::string& path, int flags, std::string* why = nullptr);

// Gives the first `bytes` of a file a place on the disk: a hole would end the process that writes to it
// through a mapping when the disk is full. False: errno says why.
bool allocate_file(int fd, size_t bytes);

// Whether the name means what open_private_file(), or bind(), of this user has made.
bool is_private_file(const std::string& path);
bool is_own_socket(const std::string& path);
// They remove nothing else. False: the name is still taken.
bool remove_private_file(const std::string& path);
bool remove_own_socket(const std::string& path);

// The 7 of "stats.7", if `prefix` is "stats."; nothing for "stats.07", "stats.7.csv" and numbers that are no
// slot.
std::optional<uint32_t> slot_in_name(const char* name, const char* prefix);

}  // namespace mrc
