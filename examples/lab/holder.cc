// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/holder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "examples/lab/host_config.h"
#include "examples/lab/rpc.h"
#include "examples/shared/own_mounts.h"

namespace mrc::lab {
namespace {

uint64_t now_us() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

Fd open_own_namespace(const char* kind) {
  return Fd(::open((std::string("/proc/self/ns/") + kind).c_str(), O_RDONLY | O_CLOEXEC));
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return !file.fail();
}

}  // namespace

bool Holder::build(std::string* error) {
  started_us_ = now_us();
  prepare_mounts();
  if (!fabric_.build(error) || !write_host_files(error)) return false;
  if (!impairments_.load(&fabric_)) std::fprintf(stderr, "%s\n", impairments_.why_not().c_str());
  faults_.start();
  // After the mounts: programs of the lab shall see them.
  user_namespace_ = open_own_namespace("user");
  mount_namespace_ = open_own_namespace("mnt");
  process_namespace_ = open_own_namespace("pid");
  listening_ = listen_for_questions(state_, error);
  return static_cast<bool>(listening_);
}

// Programs in the lab see their own processes in /proc, and the hosts by name.
void Holder::prepare_mounts() {
  if (!keep_mounts_here()) std::perror("mounts of the lab's own");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    std::perror("mount /proc");
}

bool Holder::write_host_files(std::string* error) {
  if (!write_file(state_.fabric_names_file(), fabric_names(fabric_.topology()))) {
    *error = state_.fabric_names_file() + ": " + std::strerror(errno);
    return false;
  }
  std::string names = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  for (const Node& node : fabric_.topology().nodes()) {
    if (node.kind != Kind::kHost) continue;
    names += management_address(node.index) + " " + node.name + "\n";
    if (::mkdir(state_.host_directory(node.name).c_str(), 0700) != 0 ||
        ::mkdir(state_.run_directory(node.name).c_str(), 0700) != 0 ||
        !write_file(state_.config_file(node.name),
                    host_config(fabric_.topology(), node.index, state_.fabric_names_file()))) {
      *error = state_.host_directory(node.name) + ": " + std::strerror(errno);
      return false;
    }
  }
  if (!write_file(state_.host_list_file(), hosts_config(fabric_.topology()))) {
    *error = state_.host_list_file() + ": " + std::strerror(errno);
    return false;
  }
  if (!write_file(state_.hosts_file(), names) ||
      ::mount(state_.hosts_file().c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
    std::perror("hosts by name: /etc/hosts");
  return true;
}

int Holder::run_due_faults() {
  while (!pending_.empty()) {
    const uint64_t now = now_us();
    if (pending_.front().due_us > now) return static_cast<int>((pending_.front().due_us - now + 999) / 1000);
    const Fault fault = std::move(pending_.front().fault);
    pending_.pop_front();
    if (std::string error; !faults_.apply(fault, &error)) failed_.push_back(error);
  }
  return -1;
}

void Holder::serve() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const Fd signal_file(::signalfd(-1, &signals, SFD_CLOEXEC));
  while (!ending_) {
    pollfd events[] = {{listening_.get(), POLLIN, 0}, {signal_file.get(), POLLIN, 0}};
    const int wait_ms = run_due_faults();
    if (::poll(events, 2, wait_ms) < 0 && errno != EINTR) return;
    if ((events[1].revents & POLLIN) != 0) {
      signalfd_siginfo info{};
      if (::read(signal_file.get(), &info, sizeof info) == sizeof info && info.ssi_signo != SIGCHLD) return;
      // As the first process here it inherits everybody's orphans.
      while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    }
    if ((events[0].revents & POLLIN) == 0) continue;
    const Fd client(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) answer(client.get());
  }
}

void Holder::answer(int socket) {
  std::string line;
  if (!read_line(socket, &line)) return;
  const nlohmann::json question = nlohmann::json::parse(line, nullptr, false);
  std::vector<int> files;
  nlohmann::json reply = {{"error", "the question is not understood"}};
  try {
    if (!question.is_discarded()) reply = handle(question, &files);
  } catch (const nlohmann::json::exception& problem) {
    reply = {{"error", std::string("the question is not understood: ") + problem.what()}};
  }
  write_line(socket, reply.dump(), files);
}

nlohmann::json Holder::handle(const nlohmann::json& question, std::vector<int>* files) {
  const std::string command = question.value("command", "");
  if (command == "status") return describe();
  if (command == "enter") return handle_enter(question, files);
  if (command == "fault") return handle_fault(question);
  if (command == "down") {
    ending_ = true;
    return nlohmann::json::object();
  }
  return {{"error", "unknown command " + command}};
}

nlohmann::json Holder::handle_fault(const nlohmann::json& question) {
  std::vector<Fault> faults;
  std::string error;
  if (!parse_faults(question.at("words").get<std::vector<std::string>>(), &faults, &error))
    return {{"error", error}};
  // A wrong name shall not be found out in the middle of a sequence.
  for (const Fault& fault : faults) {
    std::vector<Direction> ignored;
    if (!find_target(fabric_.topology(), fault.target, &ignored, &error)) return {{"error", error}};
  }
  const uint64_t now = now_us();
  for (Fault& fault : faults) {
    if (fault.at_us == 0) {
      if (!faults_.apply(fault, &error)) return {{"error", error}};
    } else {
      pending_.push_back({now + fault.at_us, std::move(fault)});
    }
  }
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const Pending& one, const Pending& other) { return one.due_us < other.due_us; });
  return {{"pending", pending_.size()}};
}

nlohmann::json Holder::handle_enter(const nlohmann::json& question, std::vector<int>* files) {
  const std::string name = question.at("node");
  const int node = fabric_.topology().find_node(name);
  if (node < 0) return {{"error", "there is no host or switch \"" + name + "\" in this lab"}};
  *files = {mount_namespace_.get(), process_namespace_.get(),
            fabric_.namespace_fd(static_cast<uint32_t>(node))};
  if (rootless_) files->push_back(user_namespace_.get());
  const Node& plan = fabric_.topology().nodes()[static_cast<size_t>(node)];
  return {{"host", plan.kind == Kind::kHost}, {"index", plan.index}};
}

nlohmann::json Holder::describe() const {
  const Topology& topology = fabric_.topology();
  const Shape& shape = topology.shape();
  nlohmann::json nodes = nlohmann::json::array();
  for (const Node& node : topology.nodes())
    if (node.kind != Kind::kManagement) nodes.push_back(node.name);
  nlohmann::json reply = {{"lab", state_.lab()},
                          {"directory", state_.directory()},
                          {"hosts", shape.hosts},
                          {"planes", shape.planes},
                          {"leaves", shape.leaves},
                          {"spines", shape.spines},
                          {"mtu", shape.mtu},
                          {"up_seconds", static_cast<double>(now_us() - started_us_) / 1e6},
                          {"rootless", rootless_},
                          {"bpf", impairments_.available()},
                          {"pending", pending_.size()},
                          {"failed", failed_},
                          {"nodes", nodes},
                          {"links", faults_.describe()}};
  if (!impairments_.available()) reply["bpf_why_not"] = impairments_.why_not();
  return reply;
}

}  // namespace mrc::lab
