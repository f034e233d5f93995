// SPDX-License-Identifier: BSD-2-Clause
// mrcd: gives command files to programs that may not mount FUSE themselves. It hands a mount over and only
// counts it: the program opens and serves the file, and it ends with the program. And it shares the ports of
// which the settings say so between the programs of the host.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dpdk_io/host/run_directory.h"
#include "dpdk_io/port_sharer.h"
#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/share/share_message.h"
#include "dpdk_io/wire/interface_mtu.h"
#include "examples/mrcd/daemon_socket.h"
#include "examples/mrcd/metrics_server.h"
#include "examples/mrcd/mount_quota.h"
#include "examples/terminal/program_words.h"
#include "providers/mrc/presence/fuse_broker.h"

namespace {

constexpr char kUsage[] =
    "usage: mrcd [--limit N] [SOCKET]\n"
    "       mrcd --help | --version\n"
    "Runs as root and gives FUSE files to verbs programs on mrc0, through SOCKET (MRC_BROKER, else\n"
    "/run/mrcd/broker), a path with a / in it. Where the settings (MRC_CONFIG) have a [[port]] with\n"
    "share = \"mrcd\" it opens that and shares it between programs, through MRC_PORTS (/run/mrcd/ports).\n"
    "No user has more than N (256) files, nor programs that share, at a time. It stays in the foreground\n"
    "and ends with SIGTERM or SIGINT. Where the settings have metrics_port = N in [mrcd] it serves the\n"
    "metrics of the run directory (MRC_RUNDIR, else root's own) at http://127.0.0.1:N/metrics.\n";

constexpr size_t kPerUser = 256;

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // it is set by a signal

int fail(std::string error) {
  if (error.starts_with("mrc: ")) error.erase(0, 5);
  std::fprintf(stderr, "mrcd: %s\n", error.c_str());
  return 1;
}

// The mount is for the user that asks, as the kernel names him.
void serve(int client, uint64_t pid_namespace, mrc::MountQuota* quota) {
  using namespace mrc::provider;
  FuseMount mount;
  BrokerAnswer answer;
  answer.pid_namespace = pid_namespace;
  ucred who{};
  socklen_t bytes = sizeof who;
  std::string error;
  errno = 0;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
    answer.error = errno;
  } else if (!quota->admits(who.uid)) {
    answer.error = EDQUOT;
  } else if (!make_fuse_mount(who.uid, who.gid, &mount, &error)) {
    answer.error = errno != 0 ? errno : EIO;
    std::fprintf(stderr, "mrcd: %s\n", error.c_str());
  } else {
    quota->add(who.uid, mount.mount_fd);
  }
  send_fuse_mount(client, answer, mount);
  close_fuse_mount(&mount);
  close(client);
}

void give_files(int socket, size_t limit) {
  const uint64_t pid_namespace = mrc::provider::own_pid_namespace();
  mrc::MountQuota quota(limit);
  while (!g_stop) {
    const int client = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0)
      serve(client, pid_namespace, &quota);
    else if (errno != EINTR && errno != ECONNABORTED)
      usleep(10000);  // out of files or memory: others may give some back
  }
}

// Better to say it now than to every client.
bool can_mount(std::string* error) {
  mrc::provider::FuseMount trial;
  if (!mrc::provider::make_fuse_mount(geteuid(), getegid(), &trial, error)) return false;
  mrc::provider::close_fuse_mount(&trial);
  return true;
}

// The ports of one device that it shares.
class Ports {
 public:
  ~Ports() {
    if (thread_.joinable()) thread_.join();
  }
  bool open(const mrc::DeviceConfig& config, size_t limit, std::string* error) {
    const std::string path = mrc::share_socket_path(mrc::page_suffix(config));
    if (path.find('/') == std::string::npos) {
      *error = "MRC_PORTS=" + path + " must be a path with a / in it";
      return false;
    }
    if (!socket_.listen_at(path, SOCK_NONBLOCK, error)) return false;
    sharer_ = mrc::PortSharer::open(config, {socket_.fd(), path + ".slots", limit}, error);
    if (sharer_ == nullptr) return false;
    std::printf("mrcd: sharing ports of %s at %s\n", config.name.c_str(), path.c_str());
    std::fflush(stdout);
    return true;
  }
  void run() { sharer_->run(g_stop); }
  void run_beside() {
    // Signals are for the thread that waits for clients.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  mrc::DaemonSocket socket_;
  std::unique_ptr<mrc::PortSharer> sharer_;
  std::thread thread_;
};

// Of all devices whose settings say so. False: `error` says why.
bool share_ports(std::vector<mrc::DeviceConfig>& devices, size_t limit, std::list<Ports>* all,
                 std::string* error) {
  // Every program takes some descriptors.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (!mrc::PortSharer::start_drivers(devices, error)) return false;
  for (mrc::DeviceConfig& device : devices) {
    if (device.network.shared_planes() == 0) continue;
    mrc::choose_mtu(&device);
    if (!all->emplace_back().open(device, limit, error)) return false;
  }
  return true;
}

bool serve_metrics(const mrc::DeviceConfig& config, mrc::MetricsServer* server, std::string* error) {
  std::string run_directory;
  if (!mrc::open_run_directory(&run_directory, error) ||
      !server->open(static_cast<uint16_t>(config.metrics_port), error))
    return false;
  server->run_beside(run_directory);
  std::printf("mrcd: metrics of %s at http://127.0.0.1:%u/metrics\n", run_directory.c_str(),
              config.metrics_port);
  std::fflush(stdout);
  return true;
}

// Whole numbers from 1 on; 0: it is none.
size_t number_in(const char* word) {
  char* end = nullptr;
  errno = 0;
  const unsigned long number = std::strtoul(word, &end, 10);
  return word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0 ? number : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("mrcd", kUsage, argc, argv)) return 0;
  size_t limit = kPerUser;
  if (argc > 1 && std::strcmp(argv[1], "--limit") == 0) {
    limit = argc > 2 ? number_in(argv[2]) : 0;
    if (limit == 0) return mrc::refuse_word("mrcd", argc > 2 ? argv[2] : argv[1]);
    argc -= 2;
    argv += 2;
  }
  // A word that is no path is rather a mistake than a socket's name.
  if (argc > 1 && (argv[1][0] == '-' || std::strchr(argv[1], '/') == nullptr))
    return mrc::refuse_word("mrcd", argv[1]);
  if (argc > 2) return mrc::refuse_word("mrcd", argv[2]);
  const std::string path = argc == 2 ? argv[1] : mrc::provider::broker_path();
  std::vector<mrc::DeviceConfig> devices;
  std::string error;
  if (!mrc::load_device_configs(&devices, &error)) return fail(error);
  const mrc::DeviceConfig& first = devices.front();
  const bool has_ports = std::any_of(devices.begin(), devices.end(), [](const mrc::DeviceConfig& device) {
    return device.network.shared_planes() != 0;
  });
  const bool has_fuse = can_mount(&error);
  if (!has_fuse && !has_ports) return fail(error + "; run it as root, on a kernel with FUSE");
  struct sigaction stop {};
  stop.sa_handler = [](int) { g_stop.store(true); };
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGINT, &stop, nullptr);
  mrc::DaemonSocket socket;
  if (has_fuse && !socket.listen_at(path, 0, &error)) return fail(error);
  if (!has_fuse) std::fprintf(stderr, "mrcd: no FUSE files for programs: %s\n", error.c_str());
  mrc::MetricsServer metrics;
  if (first.metrics_port != 0 && !serve_metrics(first, &metrics, &error)) return fail(error);
  std::list<Ports> ports;
  if (has_ports && !share_ports(devices, limit, &ports, &error)) return fail(error);
  // Without files to give this thread has time for ports.
  const auto beside = has_fuse ? ports.begin() : std::next(ports.begin());
  for (auto each = beside; each != ports.end(); ++each) each->run_beside();
  if (!has_fuse) {
    ports.front().run();
    return 0;
  }
  std::printf("mrcd: listening at %s\n", path.c_str());
  std::fflush(stdout);
  give_files(socket.fd(), limit);
  return 0;
}
