// SPDX-License-Identifier: BSD-2-Clause
// The survivor forks while data flow: nothing of that may be seen on the link, whatever the child does with
// its copy of the memory. The child is refused, or becomes another program.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/verbs/process_faults_faults.h"
#include "tests/verbs/process_faults_footprint.h"

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr unsigned kChildAlarmSeconds = 20;
constexpr useconds_t kChildLifeMaxUs = 5000;

// In the child.
bool refused(Session& session, const verbs_test::Device& device) {
  ibv_wc completion;
  std::memset(session.link()->arena().at(Part::kTarget), 0xEE, kAreaBytes);
  std::memset(session.link()->arena().at(Part::kLanding), 0xEE, kAreaBytes);
  if (session.link()->poll_in_child(&completion) >= 0) return false;
  errno = 0;
  return ibv_alloc_pd(device.context) == nullptr && errno == EPERM;
}

pid_t start_child(Cycle& cycle, Session& session, bool executes) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const char* const arguments[] = {program.c_str(), "--executed", nullptr};
  const auto life = static_cast<useconds_t>(cycle.random.between(0, kChildLifeMaxUs));
  const pid_t child = ::fork();
  if (child < 0) fail("fork: %s", std::strerror(errno));
  if (child > 0) return child;
  ::alarm(kChildAlarmSeconds);
  if (executes) ::execv(arguments[0], const_cast<char**>(arguments));
  const bool well = !executes && refused(session, cycle.survivor.device);
  ::usleep(life);
  ::_exit(well ? 0 : 1);
}

}  // namespace

// Only what the shell has given to the first of us: no descriptor of the device comes through exec().
int executed_child_main() {
  const char* expected = std::getenv("PROCESS_FAULTS_DESCRIPTORS");
  return expected != nullptr && inheritable_descriptors() == std::strtoul(expected, nullptr, 10) ? 0 : 1;
}

void attempt_fork(Cycle& cycle) {
  Session session(cycle);
  session.connect(patient_terms(cycle));
  for (uint64_t forks = cycle.random.between(1, 4); forks > 0; --forks) {
    session.run(cycle.random_time(microseconds(5000)));
    const bool executes = cycle.chance(50);
    const pid_t child = start_child(cycle, session, executes);
    int status = 0;
    session.run_until("the child's end", 2 * kSlack,
                      [&] { return ::waitpid(child, &status, WNOHANG) == child; });
    if (status != 0)
      fail("a child that %s ended with status 0x%x", executes ? "executes another program" : "was forked",
           static_cast<unsigned>(status));
  }
  session.run(cycle.random_time(microseconds(5000)));
  session.end();
  session.dismiss(true);
}

}  // namespace process_faults
