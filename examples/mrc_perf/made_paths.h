// SPDX-License-Identifier: BSD-2-Clause
// SRv6 paths that are made up, so that one can see on one host what their headers cost: a profile of EVs that
// is online while this exists. Between processes of one host nothing routes by them.
#pragma once

#include <cstdint>

#include "include/mrc/mrc_ctl.h"

namespace perf {

class MadePaths {
 public:
  MadePaths(ibv_context* verbs, mrc_context* context, uint32_t per_port);
  ~MadePaths();
  MadePaths(const MadePaths&) = delete;
  MadePaths& operator=(const MadePaths&) = delete;

  uint64_t profile() const { return id_; }

 private:
  mrc_context* const context_;
  const uint64_t id_;
};

}  // namespace perf
