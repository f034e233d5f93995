// SPDX-License-Identifier: BSD-2-Clause
// The device as a controller has it (mrc_ctl.h), for the commands that ask and change it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/settings/device_config.h"
#include "include/mrc/mrc_ctl.h"
#include "include/mrc/mrcdv.h"

namespace mrc {

class OpenDevice {
 public:
  // The device of this name, or the first of the settings. Where libibverbs does not show it, mrcctl is
  // started again by mrcrun, with `words`, and this does not return. Null: standard error was told why.
  static std::unique_ptr<OpenDevice> open(const std::string& name, const std::vector<std::string>& words);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  ibv_context* verbs() const { return verbs_; }
  mrc_context* control() const { return control_; }
  const DeviceConfig& settings() const { return settings_; }

 private:
  OpenDevice() = default;

  DeviceConfig settings_;
  ibv_context* verbs_ = nullptr;
  mrc_context* control_ = nullptr;
};

// Says on standard error what was not possible and why, by errno. Returns 1, a program's status.
int device_failed(const std::string& what, int why);

}  // namespace mrc
