// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/open_device.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace mrc {
namespace {

constexpr char kStartedAgain[] = "MRCCTL_STARTED_AGAIN";

ibv_context* open_verbs(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr) return nullptr;
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i)
    if (mrcdv_is_supported(devices[i]) != 0 && name == ibv_get_device_name(devices[i]))
      context = ibv_open_device(devices[i]);
  ibv_free_device_list(devices);
  return context;
}

// Returns if it cannot be.
void start_again(const std::vector<std::string>& words) {
  std::error_code none;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none || std::getenv(kStartedAgain) != nullptr) return;
  setenv(kStartedAgain, "1", 1);
  const std::string runner = own.parent_path() / "mrcrun";
  const std::string program = own;
  std::vector<char*> arguments = {const_cast<char*>(runner.c_str()), const_cast<char*>(program.c_str())};
  for (size_t i = 1; i < words.size(); ++i) arguments.push_back(const_cast<char*>(words[i].c_str()));
  arguments.push_back(nullptr);
  execv(runner.c_str(), arguments.data());
}

}  // namespace

std::unique_ptr<OpenDevice> OpenDevice::open(const std::string& name, const std::vector<std::string>& words) {
  std::unique_ptr<OpenDevice> device(new OpenDevice);
  std::string error;
  if (!(name.empty() ? load_device_config(&device->settings_, &error)
                     : load_device_config(name, &device->settings_, &error))) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return nullptr;
  }
  const std::string& wanted = device->settings_.name;
  device->verbs_ = open_verbs(wanted);
  if (device->verbs_ == nullptr) {
    start_again(words);
    std::fprintf(stderr, "mrcctl: there is no %s here; mrcctl doctor says why\n", wanted.c_str());
    return nullptr;
  }
  device->control_ = mrc_create_context(device->verbs_, nullptr);
  if (device->control_ != nullptr) return device;
  device_failed(wanted, errno);
  return nullptr;
}

OpenDevice::~OpenDevice() {
  if (control_ != nullptr) mrc_destroy_context(control_);
  if (verbs_ != nullptr) ibv_close_device(verbs_);
}

int device_failed(const std::string& what, int why) {
  const char* cure =
      why == EPERM ? "; only the owner of the run directory may, and who has CAP_NET_ADMIN" : "";
  std::fprintf(stderr, "mrcctl: %s: %s%s\n", what.c_str(), std::strerror(why), cure);
  return 1;
}

}  // namespace mrc
