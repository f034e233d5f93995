// SPDX-License-Identifier: BSD-2-Clause
// Starting a lab. Two processes stay: the holder, first in its PID namespace, and its parent, which waits for
// the holder's end and removes the files. Each ends with the other.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "examples/lab/holder.h"
#include "examples/lab/lifetime.h"
#include "examples/lab/rpc.h"

namespace mrc::lab {
namespace {

constexpr const char* kReady = "ready";

bool write_text(const char* path, const std::string& text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Namespaces for the processes and mounts of the lab. Who may not make them as they are gets a user
// namespace, in which they may.
bool enter_new_namespaces(bool* rootless, std::string* error) {
  *rootless = false;
  if (::unshare(CLONE_NEWNS | CLONE_NEWPID) == 0) return true;
  if (errno != EPERM) {
    *error = std::string("cannot make namespaces: ") + std::strerror(errno);
    return false;
  }
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) {
    *error = std::string("cannot make namespaces, neither as root nor in a user namespace: ") +
             std::strerror(errno);
    return false;
  }
  *rootless = true;
  if (write_text("/proc/self/setgroups", "deny") &&
      write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") &&
      write_text("/proc/self/gid_map", "0 " + std::to_string(group) + " 1"))
    return true;
  *error = std::string("cannot set up the user namespace: ") + std::strerror(errno);
  return false;
}

void say(int pipe, const std::string& text) {
  // Nobody listens any more: the next step notices.
  if (::write(pipe, text.data(), text.size()) < 0) return;
}

int hold(const State& state, const Shape& shape, bool rootless, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "mrc_lab_holder");
  Holder holder(state, shape, rootless);
  std::string error;
  if (!holder.build(&error)) {
    say(report, error);
    return 1;
  }
  // Whoever asked for the lab may have been interrupted meanwhile.
  if (::write(report, kReady, std::strlen(kReady)) < 0) return 1;
  ::close(report);
  holder.serve();
  return 0;
}

// Ends with the holder, or ends it.
void watch(pid_t holder) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  for (;;) {
    int number = 0;
    ::sigwait(&signals, &number);
    if (number != SIGCHLD) ::kill(holder, SIGKILL);
    if (::waitpid(holder, nullptr, number == SIGCHLD ? WNOHANG : 0) == holder) return;
  }
}

void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The whole life of a lab. What it says goes to `report`, a pipe.
int live(const State& state, const Shape& shape, Fd report, bool detach) {
  block_signals();
  raise_file_limit();
  std::string error;
  Fd lock = state.claim(&error);
  if (!lock) {
    say(report.get(), error);
    return 1;
  }
  if (detach) {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Fd log(::open(state.log_file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ::dup2(null.get(), 0);
    ::dup2(null.get(), 1);
    ::dup2(log.get(), 2);
  }
  bool rootless = false;
  int status = kNoNamespaces;
  if (enter_new_namespaces(&rootless, &error)) {
    const pid_t holder = ::fork();
    if (holder == 0) ::_exit(hold(state, shape, rootless, report.get()));
    report = Fd();
    if (holder > 0) watch(holder);
    status = 0;
  } else {
    say(report.get(), error + "\n");
  }
  lock = Fd();
  state.remove();
  return status;
}

std::string read_report(int pipe) {
  std::string text;
  char buffer[1024];
  for (;;) {
    const ssize_t bytes = ::read(pipe, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer, static_cast<size_t>(bytes));
  }
}

void say_ready(const State& state) {
  nlohmann::json status;
  std::string error;
  if (!ask(state, {{"command", "status"}}, &status, nullptr, &error)) return;
  std::printf("lab %s: %u hosts, %u planes of %u leaves and %u spines, up in %.2f s\n", state.lab().c_str(),
              status.value("hosts", 0U), status.value("planes", 0U), status.value("leaves", 0U),
              status.value("spines", 0U), status.value("up_seconds", 0.0));
  if (status.value("rootless", false))
    std::printf("rootless (in a user namespace): forwarding, link and switch faults and rates work.\n");
  if (!status.value("bpf", false))
    std::printf("missing: loss, ECN marks, trimming, black holes and delays, because %s\n",
                status.value("bpf_why_not", "").c_str());
  std::fflush(stdout);
}

int end_of_start(const State& state, const std::string& report) {
  if (report == kReady) {
    say_ready(state);
    return 0;
  }
  const bool namespaces = report.empty() || report.back() != '\n';
  std::fprintf(stderr, "mrc_lab: %s%s", report.empty() ? "the lab ended while it was made" : report.c_str(),
               namespaces ? "\n" : "");
  return namespaces ? 1 : kNoNamespaces;
}

}  // namespace

int bring_up(const State& state, const Shape& shape, bool foreground) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    std::perror("mrc_lab: pipe");
    return 1;
  }
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("mrc_lab: fork");
    return 1;
  }
  if (child == 0) {
    reading = Fd();
    if (foreground)
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    else
      ::setsid();
    ::_exit(live(state, shape, std::move(writing), !foreground));
  }
  writing = Fd();
  const int status = end_of_start(state, read_report(reading.get()));
  if (foreground || status != 0) {
    ::signal(SIGINT, SIG_IGN);  // the child gets it too and ends
    int ended = 0;
    ::waitpid(child, &ended, 0);
  }
  return status;
}

int take_down(const State& state) {
  if (!state.is_running()) {
    const bool left = state.exists();
    state.remove();
    std::printf(left ? "lab %s had ended by itself; its files are removed\n" : "there is no lab %s\n",
                state.lab().c_str());
    return 0;
  }
  nlohmann::json answer;
  std::string error;
  if (!ask(state, {{"command", "down"}}, &answer, nullptr, &error)) {
    std::fprintf(stderr, "mrc_lab: %s\n", error.c_str());
    return 1;
  }
  for (int tries = 0; tries < 1000 && state.exists(); ++tries) ::usleep(10'000);
  if (!state.exists()) return 0;
  std::fprintf(stderr, "mrc_lab: lab %s does not end\n", state.lab().c_str());
  return 1;
}

}  // namespace mrc::lab
