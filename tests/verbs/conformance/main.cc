// SPDX-License-Identifier: BSD-2-Clause
// The verbs conformance program: runs cases in a worker process. The supervisor survives what a worker does
// not: a crash or a hang fails that case, shows what the worker was doing, and the next worker goes on.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "case.h"
#include "peer_process.h"

extern char** environ;

namespace conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kUsage[] =
    R"(usage: conformance [--list] [--except WORD]... [--deadline SECONDS] [--dump COMMAND] [WORD...]

Runs the conformance cases whose name contains one of the words (all without words) on mrc0. With MRC_TRANSPORT=mrc-strict cases
about what MRC 1.0 does not have see to it that this is refused, and are counted as not applicable.
  --list              only names them
  --except WORD       not those whose name begins with the word
  --deadline SECONDS  of each case (60)
  --dump COMMAND      is run by the shell when a case hangs, to show the state of the device
The last line says how many passed and failed; the status is 0 only if none failed.
)";

struct Options {
  bool list = false;
  int deadline_s = 60;
  std::string dump;
  std::vector<std::string> words;
  std::vector<std::string> except;
};

struct Tally {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  int not_applicable = 0;
};

bool contains_one(const std::string& name, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return name.find(word) != std::string::npos; });
}

bool begins_with_one(const std::string& name, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return name.compare(0, word.size(), word) == 0; });
}

std::vector<const Case*> select(const Options& options) {
  std::vector<const Case*> chosen;
  for (const Case& one : all_cases()) {
    if (!options.words.empty() && !contains_one(one.name, options.words)) continue;
    if (!begins_with_one(one.name, options.except)) chosen.push_back(&one);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const Case* a, const Case* b) { return a->name < b->name; });
  return chosen;
}

// --- the worker ---

// One line per event: "start INDEX", then "pass", "skip REASON", "none REASON" (not applicable) or "fail
// REASON".
void report(int fd, const std::string& line) {
  const std::string whole = line + "\n";
  if (write(fd, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) _exit(3);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string outcome_of(const Case& one) {
  std::string outcome = "pass";
  try {
    one.body();
  } catch (const Skip& reason) {
    outcome = std::string("skip ") + reason.what();
  } catch (const NotApplicable& reason) {
    outcome = std::string("none ") + reason.what();
  } catch (const std::exception& reason) {
    outcome = std::string("fail ") + reason.what();
  }
  const std::vector<std::string> complaints = take_complaints();
  if (!complaints.empty() && outcome.compare(0, 4, "fail") != 0) outcome = "fail";
  for (const std::string& complaint : complaints) outcome += " " + complaint + ";";
  return one_line(outcome);
}

int work(const std::vector<const Case*>& chosen, size_t first, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  for (size_t i = first; i < chosen.size(); ++i) {
    report(fd, "start " + std::to_string(i));
    report(fd, outcome_of(*chosen[i]));
  }
  return 0;
}

// --- the supervisor ---

class Worker {
 public:
  Worker(char** arguments, size_t first) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    std::vector<std::string> words{"/proc/self/exe", "--worker", std::to_string(first), "3"};
    for (char** argument = arguments + 1; *argument != nullptr; ++argument) words.push_back(*argument);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
    posix_spawnattr_t attributes;  // a group of its own, so that its children end with it
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error = posix_spawn(&pid_, words[0].c_str(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    fd_ = ends[0];
    if (error != 0) throw std::runtime_error(std::string("cannot start a worker: ") + std::strerror(error));
  }
  ~Worker() {
    end();
    close(fd_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  enum class Read { kLine, kEnd, kTimeout };
  Read read_line(std::string* line, Clock::time_point until) {
    for (;;) {
      if (const size_t newline = unread_.find('\n'); newline != std::string::npos) {
        *line = unread_.substr(0, newline);
        unread_.erase(0, newline + 1);
        return Read::kLine;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      pollfd ready{fd_, POLLIN, 0};
      const int result = poll(&ready, 1, static_cast<int>(std::max<long long>(left, 0)));
      if (result == 0) return Read::kTimeout;
      char part[4096];
      const ssize_t bytes = result < 0 ? -1 : read(fd_, part, sizeof part);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return Read::kEnd;
      unread_.append(part, static_cast<size_t>(bytes));
    }
  }

  // How it ended; it is killed if it has not.
  std::string end() {
    if (pid_ <= 0) return how_;
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    how_ = WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                               : "exit status " + std::to_string(WEXITSTATUS(status));
    return how_;
  }
  // Lets a worker that has closed its pipe finish by itself, so that end() tells the true reason.
  std::string await_end() {
    for (int i = 0; i < 100 && pid_ > 0; ++i) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        kill(-pid_, SIGKILL);
        pid_ = -1;
        how_ = WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                                   : "exit status " + std::to_string(WEXITSTATUS(status));
      } else {
        usleep(20000);
      }
    }
    return end();
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string unread_;
  std::string how_;
};

// What every thread of a hanging worker does, and whatever the dump command tells.
void dump_state(pid_t pid, const std::string& command) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    std::string comm, syscall, wchan;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    std::getline(std::ifstream(task.path() / "syscall"), syscall);
    std::getline(std::ifstream(task.path() / "wchan"), wchan);
    std::printf("    thread %s %s: syscall %s, waits in %s\n", task.path().filename().c_str(), comm.c_str(),
                syscall.c_str(), wchan.c_str());
  }
  std::fflush(stdout);
  if (command.empty()) return;
  std::printf("    state of the device, by '%s':\n", command.c_str());
  std::fflush(stdout);
  if (std::system(("timeout 10 " + command + " 2>&1 | sed 's/^/    /'").c_str()) != 0)
    std::printf("    (the command failed)\n");
}

void count(const std::string& name, const std::string& outcome, double seconds, Tally* tally) {
  const std::string kind = outcome.substr(0, 4);
  const std::string reason = outcome.size() > 5 ? ": " + outcome.substr(5) : "";
  const struct {
    const char* kind;
    const char* word;
    int* count;
  } kinds[] = {{"pass", "ok     ", &tally->passed},
               {"skip", "skipped", &tally->skipped},
               {"none", "refused", &tally->not_applicable},
               {"", "FAILED ", &tally->failed}};
  const auto* found = kinds;
  while (found->kind != kind && found->kind[0] != 0) ++found;
  const char* word = found->word;
  ++*found->count;
  std::printf("%s %s (%.2f s)%s\n", word, name.c_str(), seconds, reason.c_str());
  std::fflush(stdout);
}

// Runs cases from `first` on until the worker ends; returns the next case to run.
size_t supervise(const std::vector<const Case*>& chosen, size_t first, char** arguments,
                 const Options& options, Tally* tally) {
  Worker worker(arguments, first);
  for (size_t at = first; at < chosen.size(); ++at) {
    const auto began = Clock::now();
    const auto until = began + std::chrono::seconds(options.deadline_s);
    const auto took = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
    std::string line;
    auto read = worker.read_line(&line, until);                              // start
    if (read == Worker::Read::kLine) read = worker.read_line(&line, until);  // outcome
    if (read == Worker::Read::kLine) {
      count(chosen[at]->name, line, took(), tally);
      continue;
    }
    if (read == Worker::Read::kTimeout) {
      count(chosen[at]->name, "fail hangs; the threads of the worker:", took(), tally);
      dump_state(worker.pid(), options.dump);
    } else {
      count(chosen[at]->name, "fail the process ended with " + worker.await_end(), took(), tally);
    }
    return at + 1;
  }
  return chosen.size();
}

bool parse(char** arguments, Options* options) {
  for (char** at = arguments; *at != nullptr; ++at) {
    const std::string word = *at;
    if (word == "--list") {
      options->list = true;
    } else if (word == "--except" && at[1] != nullptr) {
      options->except.push_back(*++at);
    } else if (word == "--deadline" && at[1] != nullptr) {
      options->deadline_s = std::atoi(*++at);
      if (options->deadline_s <= 0) return false;
    } else if (word == "--dump" && at[1] != nullptr) {
      options->dump = *++at;
    } else if (word[0] == '-') {
      return false;
    } else {
      options->words.push_back(word);
    }
  }
  return true;
}

int run(char** arguments) {
  // Internal: a worker, or the other process of a case.
  if (arguments[1] != nullptr && std::strcmp(arguments[1], "--peer") == 0 && arguments[2] != nullptr)
    return peer_main(std::atoi(arguments[2]));
  if (arguments[1] != nullptr && std::strcmp(arguments[1], "--orphan") == 0 && arguments[2] != nullptr)
    return orphan_main(std::atoi(arguments[2]));
  if (arguments[1] != nullptr && std::strcmp(arguments[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const bool is_worker = arguments[1] != nullptr && std::strcmp(arguments[1], "--worker") == 0;
  Options options;
  if (!parse(arguments + (is_worker ? 4 : 1), &options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::vector<const Case*> chosen = select(options);
  if (is_worker) return work(chosen, std::strtoul(arguments[2], nullptr, 10), std::atoi(arguments[3]));
  if (options.list) {
    for (const Case* one : chosen) std::puts(one->name.c_str());
    return 0;
  }
  if (chosen.empty()) {
    std::fputs("conformance: no case has such a name\n", stderr);
    return 2;
  }
  Tally tally;
  for (size_t at = 0; at < chosen.size();) at = supervise(chosen, at, arguments, options, &tally);
  if (tally.skipped > 0) std::printf("%d skipped\n", tally.skipped);
  if (tally.not_applicable > 0)
    std::printf("%d not applicable: what they are about is refused as it should be\n", tally.not_applicable);
  std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace conformance

int main(int, char** arguments) {
  try {
    return conformance::run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return 1;
  }
}
