// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/experiment_lab.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "examples/lab/fabric.h"
#include "examples/lab/lifetime.h"
#include "examples/lab/rpc.h"

namespace mrc::lab {
namespace {

constexpr double kStartSeconds = 20;
// Over links as slow as those of the experiments the usual window would wait in queues for longer than time
// stamps reach.
constexpr const char* kWindowBytes = "393216";

std::string own_path() {
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  return length <= 0 ? "mrc_lab" : std::string(self, static_cast<size_t>(length));
}

[[noreturn]] void live_in_child(const State& state, const Shape& shape) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // What it says is of no interest, and the output may have to be JSON.
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), 1);
  ::_exit(bring_up(state, shape, true));
}

}  // namespace

ExperimentLab::ExperimentLab(const Shape& shape) : state_("x" + std::to_string(::getpid())) {
  process_ = ::fork();
  if (process_ == 0) live_in_child(state_, shape);
  nlohmann::json answer;
  std::string error;
  for (const double end = bench::seconds_now() + kStartSeconds; bench::seconds_now() < end;) {
    if (state_.exists() && ask(state_, {{"command", "status"}}, &answer, nullptr, &error)) {
      for (uint32_t host = 1; host <= shape.hosts; ++host)
        change_setting("h" + std::to_string(host), "transport", "window_bytes", kWindowBytes);
      return;
    }
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      trouble_ = WEXITSTATUS(status) == kNoNamespaces ? "this system lets nobody make namespaces"
                                                      : "the lab cannot be made";
      return;
    }
    ::usleep(10'000);
  }
  trouble_ = "the lab does not come up: " + error;
}

ExperimentLab::~ExperimentLab() {
  if (process_ <= 0) return;
  nlohmann::json answer;
  std::string error;
  if (!ask(state_, {{"command", "down"}}, &answer, nullptr, &error)) ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

void ExperimentLab::fault(const std::string& steps) {
  nlohmann::json answer;
  std::string error;
  const nlohmann::json question = {{"command", "fault"}, {"words", {steps}}};
  if (!ask(state_, question, &answer, nullptr, &error) && trouble_.empty()) trouble_ = error;
}

std::unique_ptr<bench::Process> ExperimentLab::start(const std::string& node,
                                                     const std::vector<std::string>& words,
                                                     double seconds_max) const {
  std::vector<std::string> all = {own_path(), "--lab", state_.lab(), "exec", node, "--"};
  all.insert(all.end(), words.begin(), words.end());
  return std::make_unique<bench::Process>(all, -1, seconds_max);
}

uint64_t ExperimentLab::frames(const std::string& direction) {
  nlohmann::json answer;
  std::string error;
  if (!ask(state_, {{"command", "status"}}, &answer, nullptr, &error)) return 0;
  for (const auto& link : answer.at("links"))
    if (link.contains(direction)) return link.at(direction).value("frames", uint64_t{0});
  return 0;
}

bool ExperimentLab::somebody_listens(const std::string& host, unsigned port) const {
  nlohmann::json answer;
  std::vector<Fd> files;
  std::string error;
  if (!ask(state_, {{"command", "enter"}, {"node", host}}, &answer, &files, &error) || files.size() < 3)
    return false;
  const InNamespace inside(files[2].get());
  for (const char* table : {"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      std::string number, local, remote, condition;
      fields >> number >> local >> remote >> condition;
      const size_t colon = local.rfind(':');
      if (condition == "0A" && colon != std::string::npos &&
          std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port)
        return true;
    }
  }
  return false;
}

void ExperimentLab::change_setting(const std::string& host, const std::string& section,
                                   const std::string& key, const std::string& value) const {
  const std::string head = "[" + section + "]";
  std::ifstream before(state_.config_file(host));
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(before, line);) {
    if (!line.empty() && line[0] == '[') inside = line == head;
    if (inside && line.rfind(key + " = ", 0) == 0) continue;
    text.append(line).append("\n");
    if (line == head) text.append(key).append(" = ").append(value).append("\n");
  }
  std::ofstream(state_.config_file(host)) << text;
}

Flow::Flow(ExperimentLab* lab, std::string from, std::string to, const Options& options)
    : from_(std::move(from)), to_(std::move(to)) {
  const unsigned port = lab->next_port();
  std::vector<std::string> words;
  if (!options.environment.empty()) {
    words.emplace_back("env");
    words.insert(words.end(), options.environment.begin(), options.environment.end());
  }
  words.insert(words.end(), options.words.begin(), options.words.end());
  words.insert(words.end(), {options.port_option, std::to_string(port)});
  std::vector<std::string> server = words;
  server.insert(server.end(), options.server_words.begin(), options.server_words.end());
  server_ = lab->start(to_, server, options.seconds_max);
  for (const double end = bench::seconds_now() + 10;
       !lab->somebody_listens(to_, port) && bench::seconds_now() < end;)
    ::usleep(20'000);
  std::vector<std::string> client = words;
  client.insert(client.end(), options.client_words.begin(), options.client_words.end());
  client.push_back(to_);
  client_ = lab->start(from_, client, options.seconds_max);
}

std::string Flow::finish() {
  std::string client_said = client_->read_all();
  const int client = client_->wait();
  // Without its client it may wait for ever.
  if (client != 0) server_->stop_after(2);
  std::string server_said = server_->read_all();
  const int server = server_->wait();
  if (client == 0 && server == 0) return {};
  return from_ + ": exit status " + std::to_string(client) + "\n" + client_said + to_ + ": exit status " +
         std::to_string(server) + "\n" + server_said;
}

Flow::Options write_flow(double seconds) {
  Flow::Options options;
  options.words = {"ib_write_bw", "-d", "mrc0", "-s",
                   "65536",       "-F", "-D",   std::to_string(static_cast<int>(seconds))};
  options.seconds_max = seconds + 30;
  return options;
}

Flow::Options checked_flow(double seconds) {
  const std::string self = own_path();
  Flow::Options options;
  options.words = {self.substr(0, self.rfind('/') + 1) + "write_check",
                   "--quiet",
                   "--seed",
                   "7",
                   "--sizes",
                   "1,4097,65536,1048576",
                   "--seconds",
                   std::to_string(seconds)};
  options.port_option = "--port";
  options.server_words = {"--server"};
  options.client_words = {"--client"};
  options.seconds_max = seconds + 60;
  return options;
}

}  // namespace mrc::lab
