// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/eal.h"

#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "dpdk_io/ethdev/new_descriptors.h"
#include "dpdk_io/host/debugging.h"
#include "dpdk_io/host/fork_guard.h"

namespace mrc {

namespace {

constexpr size_t kLogTextMax = 2048;

// What EAL says is an error while it starts; it becomes part of our error text instead of somebody's
// terminal.
std::string log_text;
std::atomic<bool> keep_log_text{true};

ssize_t swallow_log(void*, const char* text, size_t bytes) {
  if (keep_log_text.load(std::memory_order_relaxed) && log_text.size() + bytes < kLogTextMax)
    log_text.append(text, bytes);
  return static_cast<ssize_t>(bytes);
}

void silence_logs() {
  cookie_io_functions_t functions{};
  functions.write = swallow_log;
  FILE* sink = fopencookie(nullptr, "w", functions);
  if (sink == nullptr) return;
  setvbuf(sink, nullptr, _IOLBF, 0);
  rte_openlog_stream(sink);
  rte_log_set_global_level(RTE_LOG_ERR);
}

// The process's CPUs as EAL writes sets: "0,2-5". The main thread's mask, not the caller's: a thread that an
// application has pinned says nothing about where the helper threads belong.
std::string allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) return "0";
  std::string text;
  for (int first = 0; first < RTE_MAX_LCORE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < RTE_MAX_LCORE && CPU_ISSET(last + 1, &set)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text.empty() ? "0" : text;
}

// Some drivers set variables while EAL loads them; programs that the application starts would inherit those.
class KeptEnvironment {
 public:
  KeptEnvironment() {
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
      names_.insert(name_of(*variable));
  }
  ~KeptEnvironment() {
    std::vector<std::string> added;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
      if (!names_.contains(name_of(*variable))) added.push_back(name_of(*variable));
    for (const std::string& name : added) unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  static std::string name_of(const char* variable) { return {variable, std::strcspn(variable, "=")}; }
  std::set<std::string> names_;
};

struct Start {
  EalOptions options;
  std::string error;
};

std::string describe_failure(int code) {
  std::string text = "mrc: DPDK's EAL did not start: ";
  text += rte_strerror(code);
  std::string why = log_text;
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  for (char& c : why)
    if (c == '\n') c = ';';
  if (!why.empty()) text += " (" + why + ")";
  return text + "; set MRC_DEBUG=1 to see DPDK's own messages";
}

void* start_in_helper(void* argument) {
  auto* start = static_cast<Start*>(argument);
  // No hugepages, no files shared between processes, no PCI: works for any user and beside any other DPDK
  // program. The lcore floats over all of the process's CPUs, so nothing is pinned.
  std::vector<std::string> words = {"mrc",
                                    "--no-huge",
                                    "--no-shconf",
                                    "--no-telemetry",
                                    "--file-prefix=mrc",
                                    "-m",
                                    std::to_string(start->options.megabytes),
                                    "--lcores",
                                    "0@(" + allowed_cpus() + ")"};
  if (start->options.pci.empty()) words.emplace_back("--no-pci");
  for (const std::string& address : start->options.pci) words.insert(words.end(), {"-a", address});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (!debugging()) silence_logs();
  const NewDescriptors descriptors;
  const KeptEnvironment environment;
  const int result = rte_eal_init(static_cast<int>(words.size()), arguments.data());
  descriptors.close_on_exec();
  // EALREADY: the application itself runs DPDK, and we are its guests.
  if (result < 0 && rte_errno != EALREADY) start->error = describe_failure(rte_errno);
  keep_log_text = false;
  return nullptr;
}

std::string run_helper(const EalOptions& options) {
  Start start{options, {}};
  // Blocked before the thread exists: EAL's own threads inherit the mask and never run the program's
  // handlers.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t helper;
  const int result = pthread_create(&helper, nullptr, start_in_helper, &start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result != 0)
    return std::string("mrc: no thread to start DPDK in: ") + std::strerror(result) +
           "; raise the limit of processes (ulimit -u)";
  pthread_join(helper, nullptr);
  return start.error;
}

std::mutex start_mutex;
bool start_tried = false;
std::string start_error;

}  // namespace

bool start_eal(std::string* error, const EalOptions& options) {
  if (in_forked_child()) {
    *error =
        "mrc: this process was forked from one that uses the device, and DPDK cannot be used on both sides "
        "of a "
        "fork; call exec in the child, or open the device only after the fork";
    return false;
  }
  std::lock_guard lock(start_mutex);
  if (!start_tried) {
    start_tried = true;
    start_error = run_helper(options);
    // EAL never ends, and its memory is shared with children.
    if (start_error.empty()) [[maybe_unused]]
      static const auto* guard = new ForkGuard;
  }
  if (start_error.empty()) return true;
  *error = start_error;
  return false;
}

}  // namespace mrc
