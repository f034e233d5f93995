// SPDX-License-Identifier: BSD-2-Clause
// The devices as network interfaces, for programs that capture packets: a tap of each device's name in a
// network namespace of this process's own, into which a child writes the packets that all programs of the run
// directory have on that device. There is nobody in that namespace, so nothing answers them.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "dpdk_io/host/capture_page.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "examples/mrcrun/view.h"

namespace mrc {
namespace {

volatile sig_atomic_t g_feeder_ends = 0;

// By the name of its device.
using Taps = std::map<std::string, int>;

// False: errno is set.
bool enter_network_namespace() {
  if (unshare(CLONE_NEWNET) == 0) return true;
  return enter_mount_namespace(true) && unshare(CLONE_NEWNET) == 0;
}

// Else the kernel would send something of its own to it. There may be no IPv6 to switch off.
void be_silent(const std::string& name) {
  const int fd = open(("/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "1", 1) != 1)
    std::fprintf(stderr, "mrcrun: %s: the kernel may add packets of its own\n", name.c_str());
  close(fd);
}

// Its descriptor; -1: errno is set.
int make_tap(const std::string& name) {
  const int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name.c_str());
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  bool made = tap >= 0 && any >= 0 && ioctl(tap, TUNSETIFF, &request) == 0;
  if (made) {
    be_silent(name);
    request.ifr_flags = IFF_UP;
    made = ioctl(any, SIOCSIFFLAGS, &request) == 0;
  }
  const int why = errno;
  if (any >= 0) close(any);
  if (made) return tap;
  if (tap >= 0) close(tap);
  errno = why;
  return -1;
}

// Until the program has ended.
void feed(const Taps& taps, CaptureListener& listener, pid_t program) {
  constexpr uint64_t kLookNs = 100'000'000;
  const timespec pause{0, 200'000};
  CapturedFrame frame;
  for (uint64_t next = 0; g_feeder_ends == 0;) {
    if (const uint64_t now = monotonic_now(); now >= next) {
      if (getppid() != program) return;
      listener.renew(now);
      next = now + kLookNs;
    }
    if (!listener.take(&frame)) {
      nanosleep(&pause, nullptr);
      continue;
    }
    const auto tap = taps.find(frame.device);
    if (tap == taps.end()) continue;  // a program with other settings
    if (write(tap->second, frame.bytes.data(), frame.bytes.size()) < 0 && errno != EIO && errno != EINVAL)
      return;  // EIO: somebody has taken the interface down
  }
}

[[noreturn]] void be_feeder(const Taps& taps, const std::string& run_directory, pid_t program) {
  // A terminal's ^C is for the program, which may have something to say yet.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, [](int) { g_feeder_ends = 1; });
  // It may fail to come, if the program becomes another user: feed() looks, too.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // Who reads what the program says shall see its end.
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; nothing >= 0 && fd < 3; ++fd) dup2(nothing, fd);
  CaptureListener::give_way();
  std::string error;
  if (const auto listener = CaptureListener::open(run_directory, true, &error))
    feed(taps, *listener, program);
  _exit(0);
}

}  // namespace

bool show_interfaces(const std::string& run_directory, const std::vector<std::string>& devices,
                     std::string* error) {
  if (!enter_network_namespace()) {
    *error = std::string("a network of its own cannot be made for the program: ") + std::strerror(errno) +
             "; allow unprivileged user namespaces, run it as root, or use 'mrcctl capture'";
    return false;
  }
  Taps taps;
  for (const std::string& device : devices) {
    const int tap = make_tap(device);
    if (tap < 0) {
      *error = "the interface " + device + " cannot be made: " + std::strerror(errno) +
               "; /dev/net/tun must be there, or use 'mrcctl capture'";
      return false;
    }
    taps[device] = tap;
  }
  const pid_t program = getpid();
  const pid_t child = fork();
  if (child == 0) be_feeder(taps, run_directory, program);
  if (child < 0) *error = std::string("no process for its packets: ") + std::strerror(errno);
  // The interfaces live as long as the child.
  for (const auto& [device, tap] : taps) close(tap);
  return child > 0;
}

}  // namespace mrc
