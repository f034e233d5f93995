// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/perftest.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

// Asking the kernel, because a probing connection would be taken for the client.
bool somebody_listens(unsigned port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state;
      fields >> number >> local >> remote >> state;
      const size_t colon = local.rfind(':');
      if (state == "0A" && colon != std::string::npos &&
          std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port)
        return true;
    }
  }
  return false;
}

// The word at `column` of the line that begins with `first`.
double find_number(const std::string& output, const std::string& first, size_t column) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> words;
    for (std::string word; fields >> word;) words.push_back(word);
    if (words.size() > column && words[0] == first) return std::atof(words[column].c_str());
  }
  return 0;
}

struct TwoEnds {
  Words server;
  Words client;
  unsigned port;
  int cpu;
  double seconds_max;
};

double run_both(const TwoEnds& ends, const std::string& first, size_t column) {
  Process server(ends.server, ends.cpu, ends.seconds_max);
  for (const double until = seconds_now() + 5; !somebody_listens(ends.port) && seconds_now() < until;)
    usleep(5000);
  Process client(ends.client, ends.cpu, ends.seconds_max);
  const std::string output = client.read_all();
  const int code = client.wait();
  const double number = find_number(output, first, column);
  if (code == 0 && number > 0) {
    server.wait();
    return number;
  }
  std::string command;
  for (const std::string& word : ends.client) command += word + " ";
  std::fprintf(stderr, "mrc_bench: %sfailed (code %d):\n%s\n", command.c_str(), code, output.c_str());
  return 0;
}

}  // namespace

unsigned next_port() {
  static unsigned count = 0;
  return 20000 + (static_cast<unsigned>(getpid()) * 8 + count++) % 10000;
}

double run_perftest(const PerftestRun& run) {
  const unsigned port = next_port();
  Words words = run.command;
  words.insert(words.end(), {"-d", "mrc0", "-s", run.size, "-F", "-p", std::to_string(port)});
  Words client = words;
  client.push_back("127.0.0.1");
  return run_both({words, client, port, run.cpu, run.seconds_max}, run.size, run.column);
}

double run_ucx(const UcxRun& run) {
  const unsigned port = next_port();
  Words words = run.command;
  words.insert(words.end(), {"-p", std::to_string(port)});
  Words client = words;
  client.push_back("127.0.0.1");
  client.insert(client.end(), run.client_options.begin(), run.client_options.end());
  return run_both({words, client, port, -1, run.seconds_max}, "Final:", run.column);
}

double run_mrc_perf(const MrcPerfRun& run) {
  const unsigned port = next_port();
  Words words = run.command;
  words.insert(words.end(), {"-p", std::to_string(port)});
  Words client = words;
  client.insert(client.end(), {"-s", run.size});
  client.insert(client.end(), run.client_options.begin(), run.client_options.end());
  client.push_back("127.0.0.1");
  return run_both({words, client, port, -1, run.seconds_max}, run.size, run.column);
}

}  // namespace mrc::bench
