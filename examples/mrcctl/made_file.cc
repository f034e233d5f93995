// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/made_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mrc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeginning = "# Made by 'mrcctl install' (folders ";

// FNV-1a: it has to notice a change, not an attack.
uint64_t sum_of(const std::string& text) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

std::string first_line(int folders, const std::string& text) {
  const std::string count = std::to_string(folders);
  char sum[17];
  std::snprintf(sum, sizeof sum, "%016" PRIx64, sum_of(count + text));
  return kBeginning + count + ", sum " + sum + "); 'mrcctl uninstall' removes it unless it is changed.\n";
}

// How many were made; -1: errno says why not.
int make_folders(const fs::path& folder) {
  std::error_code failure;
  if (fs::is_directory(folder, failure)) return 0;
  const int around = make_folders(folder.parent_path());
  if (around < 0) return -1;
  fs::create_directory(folder, failure);
  errno = failure.value();
  return failure ? -1 : around + 1;
}

void remove_folders(fs::path folder, int count) {
  for (; count > 0 && rmdir(folder.c_str()) == 0; --count) folder = folder.parent_path();
}

bool fail(const fs::path& path, std::string* error) {
  *error = path.string() + ": " + std::strerror(errno);
  return false;
}

}  // namespace

MadeFile read_made_file(const fs::path& path) {
  MadeFile file;
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(path, failure);
  if (!fs::exists(status)) return file;
  file.state = FileState::kForeign;
  std::ifstream stream(path);
  if (!fs::is_regular_file(status) || !stream) return file;
  file.text.assign(std::istreambuf_iterator<char>(stream), {});
  if (file.text.rfind(kBeginning, 0) != 0) return file;
  file.state = FileState::kChanged;
  const size_t end = std::min(file.text.find('\n'), file.text.size() - 1);
  const std::string line = file.text.substr(0, end + 1);
  file.folders = std::atoi(line.c_str() + std::strlen(kBeginning));
  file.text.erase(0, end + 1);
  if (line == first_line(file.folders, file.text)) file.state = FileState::kMade;
  return file;
}

bool write_made_file(const fs::path& path, const std::string& text, const MadeFile& before,
                     std::string* error) {
  const int folders = make_folders(path.parent_path());
  if (folders < 0) return fail(path.parent_path(), error);
  const fs::path unfinished = path.string() + ".mrcctl-new";
  std::ofstream stream(unfinished, std::ios::trunc);
  stream << first_line(before.folders + folders, text) << text;
  stream.close();
  std::error_code ignored;
  if (stream) fs::permissions(unfinished, fs::perms(0644), ignored);
  if (stream && rename(unfinished.c_str(), path.c_str()) == 0) return true;
  fail(path, error);
  unlink(unfinished.c_str());
  remove_folders(path.parent_path(), folders);
  return false;
}

bool remove_made_file(const fs::path& path, const MadeFile& file, std::string* error) {
  if (unlink(path.c_str()) != 0) return fail(path, error);
  remove_folders(path.parent_path(), file.folders);
  return true;
}

bool says_the_same(const std::string& a, const std::string& b) {
  const auto essence = [](const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    std::string kept;
    while (std::getline(lines, line))
      if (!line.empty() && line[0] != '#') kept += line + "\n";
    return kept;
  };
  return essence(a) == essence(b);
}

}  // namespace mrc
