// SPDX-License-Identifier: BSD-2-Clause
// Running a program inside a lab. It becomes a process of the lab's PID namespace, so it cannot outlive the
// lab; and it ends with the mrc_lab that started it.
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "examples/lab/leash.h"
#include "examples/lab/lifetime.h"
#include "examples/lab/rpc.h"

namespace mrc::lab {
namespace {

constexpr int kCannotEnter = 125;

pid_t running = 0;

// From a terminal the program has got the signal itself.
void pass_on(int number, siginfo_t* info, void*) {
  if (running > 0 && info->si_code != SI_KERNEL) ::kill(running, number);
}

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void pass_signals_on() {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int number : kPassedOn) ::sigaction(number, &action, nullptr);
}

std::string program_beside_this(const char* name) {
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return name;
  std::string path(self, static_cast<size_t>(length));
  return path.substr(0, path.rfind('/') + 1) + name;
}

bool join(const std::vector<Fd>& files, std::string* error) {
  // Mounts, processes, network; a user namespace, if there is one, has to be first.
  if (files.size() < 3) {
    *error = "the lab did not hand over its namespaces";
    return false;
  }
  char directory[PATH_MAX];
  const bool has_directory = ::getcwd(directory, sizeof directory) != nullptr;
  if ((files.size() > 3 && ::setns(files[3].get(), CLONE_NEWUSER) != 0) ||
      ::setns(files[2].get(), CLONE_NEWNET) != 0 || ::setns(files[1].get(), CLONE_NEWPID) != 0 ||
      ::setns(files[0].get(), CLONE_NEWNS) != 0 || ::unshare(CLONE_NEWNS) != 0) {
    *error = std::string("cannot enter the lab's namespaces: ") + std::strerror(errno);
    return false;
  }
  ::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr);
  // /sys shows the interfaces of who mounted it. It is read-only in some containers: then so be it.
  ::mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  return !has_directory || ::chdir(directory) == 0 || ::chdir("/") == 0;
}

[[noreturn]] void execute(const State& state, const std::string& node, bool is_host, char** command) {
  std::vector<char*> words;
  std::string launcher = program_beside_this("mrcrun");
  std::string end_of_options = "--";
  if (is_host) {
    ::setenv("MRC_CONFIG", state.config_file(node).c_str(), 1);
    ::setenv("MRC_RUNDIR", state.run_directory(node).c_str(), 1);
    words = {launcher.data(), end_of_options.data()};
  }
  ::setenv("MRC_LAB_NODE", node.c_str(), 1);
  for (char** word = command; *word != nullptr; ++word) words.push_back(*word);
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int why = errno;
  std::fprintf(stderr, "mrc_lab: %s: %s\n", words[0], std::strerror(why));
  ::_exit(why == ENOENT ? 127 : 126);
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Signals wait until there is somebody to pass them on to: the program may speak before fork() has returned
// here.
void start(const State& state, const std::string& node, bool is_host, char** command, Leash* leash) {
  sigset_t waiting;
  sigset_t before;
  sigemptyset(&waiting);
  for (const int number : kPassedOn) sigaddset(&waiting, number);
  ::sigprocmask(SIG_BLOCK, &waiting, &before);
  running = ::fork();
  if (running == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (!leash->take(SIGKILL)) ::_exit(kCannotEnter);
    execute(state, node, is_host, command);
  }
  pass_signals_on();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

int run_inside(const State& state, const std::string& node, char** command) {
  nlohmann::json answer;
  std::vector<Fd> files;
  std::string error;
  if (!ask(state, {{"command", "enter"}, {"node", node}}, &answer, &files, &error) || !join(files, &error)) {
    std::fprintf(stderr, "mrc_lab: %s\n", error.c_str());
    return kCannotEnter;
  }
  files.clear();
  Leash leash;
  start(state, node, answer.value("host", false), command, &leash);
  if (running < 0) {
    std::fprintf(stderr, "mrc_lab: cannot start a process in the lab: %s\n", std::strerror(errno));
    return kCannotEnter;
  }
  int status = 0;
  while (::waitpid(running, &status, 0) < 0 && errno == EINTR) continue;
  return exit_status(status);
}

}  // namespace mrc::lab
