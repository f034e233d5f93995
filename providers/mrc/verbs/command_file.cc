// SPDX-License-Identifier: BSD-2-Clause
// Which back end a command file gets.
#include "providers/mrc/verbs/command_file.h"

#include <stdlib.h>

#include <cstring>

#include "providers/mrc/presence/fuse_broker.h"

namespace mrc::provider {
namespace {

using Opener = std::unique_ptr<CommandFile> (*)(int, CommandHandler*, std::string*);

struct Backend {
  const char* name;
  Opener open;
};
// In the order in which they are tried. Whoever runs mrcd wants it used. Redirection costs nothing and nearly
// always works; FUSE is for those where it does not, such as a libibverbs that cannot be written to.
constexpr Backend kBackends[] = {
    {"broker", open_brokered_file},
    {"got", open_redirected_file},
    {"fuse", open_fuse_file},
};

}  // namespace

std::unique_ptr<CommandFile> CommandFile::open(int placeholder, CommandHandler* handler, std::string* error) {
  const char* forced = secure_getenv("MRC_CMDFD");
  if (forced != nullptr && *forced != '\0' && std::strcmp(forced, "auto") != 0) {
    for (const Backend& backend : kBackends)
      if (std::strcmp(backend.name, forced) == 0) return backend.open(placeholder, handler, error);
    *error = std::string("MRC_CMDFD=") + forced + " is none of broker, fuse, got and auto; correct it";
    return nullptr;
  }
  std::string reasons;
  for (const Backend& backend : kBackends) {
    if (backend.open == open_brokered_file && !broker_is_there()) continue;
    if (auto file = backend.open(placeholder, handler, error)) return file;
    reasons += (reasons.empty() ? "" : "; and ") + *error;
  }
  *error = reasons;
  return nullptr;
}

}  // namespace mrc::provider
