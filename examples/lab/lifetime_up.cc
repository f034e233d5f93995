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
#include <utility>

#include "examples/lab/holder.h"
#include "examples/lab/leash.h"
#include "examples/lab/lifetime.h"
#include "examples/lab/rpc.h"

namespace mrc::lab {
namespace {

constexpr const char* kReady = "ready";
constexpr int kEndTries = 6000;  // a minute
constexpr int kEndWaitUs = 10'000;

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

int hold(const State& state, const Shape& shape, bool rootless, int report, Leash* leash) {
  if (!leash->take(SIGTERM)) return 1;
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
  // Its parent does this, unless that was killed.
  if (leash->parent_has_ended()) state.remove_own();
  return 0;
}

sigset_t signals_to_wait_for() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

void block_signals() {
  const sigset_t signals = signals_to_wait_for();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

// Ends with the child, or ends it.
void watch(pid_t child, int signal_to_end_it) {
  const sigset_t signals = signals_to_wait_for();
  for (;;) {
    int number = 0;
    ::sigwait(&signals, &number);
    if (number != SIGCHLD) ::kill(child, signal_to_end_it);
    if (::waitpid(child, nullptr, number == SIGCHLD ? WNOHANG : 0) == child) return;
  }
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
  const Fd lock = state.claim(&error);
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
    Leash leash;
    const pid_t holder = ::fork();
    if (holder == 0) ::_exit(hold(state, shape, rootless, report.get(), &leash));
    report = Fd();
    if (holder > 0) watch(holder, SIGKILL);
    status = 0;
  } else {
    say(report.get(), error + "\n");
  }
  state.remove_own();
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
  // In the foreground signals wait until the lab can be ended in good order, from its first moment on.
  if (foreground) block_signals();
  Leash leash;
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("mrc_lab: fork");
    return 1;
  }
  if (child == 0) {
    reading = Fd();
    if (!foreground)
      ::setsid();
    else if (!leash.take(SIGTERM))
      ::_exit(1);
    ::_exit(live(state, shape, std::move(writing), !foreground));
  }
  writing = Fd();
  const int status = end_of_start(state, read_report(reading.get()));
  if (foreground)
    watch(child, SIGTERM);
  else if (status != 0)
    ::waitpid(child, nullptr, 0);
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
  // It may be just being made, or just ending.
  nlohmann::json answer;
  std::string error;
  bool asked = false;
  for (int tries = 0; tries < kEndTries && state.is_running(); ++tries) {
    asked = asked || ask(state, {{"command", "down"}}, &answer, nullptr, &error);
    ::usleep(kEndWaitUs);
  }
  if (state.is_running()) {
    std::fprintf(stderr, "mrc_lab: lab %s does not end%s\n", state.lab().c_str(),
                 asked ? "" : (": " + error).c_str());
    return 1;
  }
  state.remove();
  return 0;
}

}  // namespace mrc::lab
