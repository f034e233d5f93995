// SPDX-License-Identifier: BSD-2-Clause
// mrcrun COMMAND...: runs any verbs program with mrc0 visible, as root or not. It
// prepares what the program will see and then executes it, so status and signals are the program's own.
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "dpdk_io/host/run_directory.h"
#include "examples/mrcrun/view.h"
#include "examples/shared/provider_place.h"
#include "examples/terminal/program_words.h"
#include "providers/mrc/presence/class_tree.h"
#include "providers/mrc/presence/device_settings.h"

namespace mrc {
namespace {

constexpr const char* kUsage =
    R"(usage: mrcrun [--view] [--capture] [--] COMMAND [ARGUMENT...]
       mrcrun --help | --version

Runs COMMAND and everything it starts with the RDMA device mrc0 visible to libibverbs, for example
  mrcrun ibv_devinfo -v
  mrcrun ib_write_bw -d mrc0                   and in another terminal
  mrcrun ib_write_bw -d mrc0 127.0.0.1
  --view    shows the device in /sys/class itself and the provider in /etc/libibverbs.d, for programs that
            look there (UCX does), instead of setting SYSFS_PATH and IBV_DRIVERS
  --capture for programs that capture packets: mrc0 (and every other device) is a network interface, too, and
            there are no others; the packets of all programs of the run directory are seen there:
            mrcrun --capture tcpdump -i mrc0
No privilege is needed. COMMAND is executed in the place of mrcrun: pid, signals and exit status are its own.
If COMMAND cannot be executed the status is 127 or 126; if mrcrun cannot prepare for it, 125.

Settings are read from the environment by the device itself: MRC_CONFIG, MRC_PLANES, MRC_RUNDIR, ...
)";

constexpr int kCannotPrepare = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

void prepend(const char* variable, const std::string& value) {
  const char* before = getenv(variable);
  const std::string all = before != nullptr && *before != '\0' ? value + ":" + before : value;
  setenv(variable, all.c_str(), 1);
}

bool prepare(bool view, bool capture, std::string* error) {
  const std::string provider = find_provider_place(error);
  if (provider.empty()) return false;
  // Broken settings are for the program to report: it may not even use the device.
  std::vector<std::string> files;
  std::vector<std::string> names;
  for (const DeviceConfig& device : provider::all_device_settings()) {
    files.push_back(provider::device_file_name(device.name));
    names.push_back(device.name);
    if (device.name.compare(0, 3, "mrc") == 0) continue;
    *error = "the device is called " + device.name +
             "; its name must begin with mrc; change it in the configuration";
    return false;
  }
  std::string run_directory;
  std::string sysfs;
  if (!open_run_directory(&run_directory, error)) return false;
  if (view && !show_in_place(run_directory, provider, error)) return false;
  if (!view && !make_sysfs_view(run_directory, &sysfs, error)) return false;
  if (!provide_device_files(run_directory, files, error)) return false;
  if (capture && !show_interfaces(run_directory, names, error)) return false;
  if (!hide_rdma_netlink(error)) return false;
  if (view) {
    unsetenv("SYSFS_PATH");
    return true;
  }
  setenv("SYSFS_PATH", sysfs.c_str(), 1);
  // libibverbs reads the first of the two that is set.
  prepend(getenv("RDMAV_DRIVERS") != nullptr ? "RDMAV_DRIVERS" : "IBV_DRIVERS", provider);
  return true;
}

int run(int count, char** arguments) {
  // Only words before COMMAND are ours.
  if (count > 1 && answer_word("mrcrun", kUsage, arguments[1])) return 0;
  int at = 1;
  bool view = false;
  bool capture = false;
  for (; count > at; ++at) {
    bool* const option = std::strcmp(arguments[at], "--view") == 0      ? &view
                         : std::strcmp(arguments[at], "--capture") == 0 ? &capture
                                                                        : nullptr;
    if (option == nullptr || *option) break;
    *option = true;
  }
  const bool ended = count > at && std::strcmp(arguments[at], "--") == 0;
  if (ended) ++at;
  if (at >= count) {
    std::fputs(kUsage, stderr);
    return kCalledWrongly;
  }
  if (!ended && arguments[at][0] == '-') return refuse_word("mrcrun", arguments[at]);
  std::string error;
  if (!prepare(view, capture, &error)) {
    const bool named = error.compare(0, 5, "mrc: ") == 0;
    std::fprintf(stderr, "%s%s\n", named ? "" : "mrcrun: ", error.c_str());
    return kCannotPrepare;
  }
  execvp(arguments[at], arguments + at);
  const int why = errno;
  std::fprintf(stderr, "mrcrun: %s: %s\n", arguments[at], std::strerror(why));
  return why == ENOENT ? kNotFound : kCannotExecute;
}

}  // namespace
}  // namespace mrc

int main(int count, char** arguments) {
  return mrc::run(count, arguments);
}
