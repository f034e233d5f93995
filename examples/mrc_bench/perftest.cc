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

unsigned next_port() {
  static unsigned count = 0;
  return 20000 + (static_cast<unsigned>(getpid()) * 8 + count++) % 10000;
}

double find_number(const std::string& output, const std::string& size, size_t column) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> words;
    for (std::string word; fields >> word;) words.push_back(word);
    if (words.size() > column && words[0] == size) return std::atof(words[column].c_str());
  }
  return 0;
}

}  // namespace

double run_perftest(const PerftestRun& run) {
  const unsigned port = next_port();
  std::vector<std::string> words = {run.mrcrun};
  words.insert(words.end(), run.words.begin(), run.words.end());
  words.insert(words.end(), {"-d", "mrc0", "-s", run.size, "-F", "-p", std::to_string(port)});
  Process server(words, run.cpu, run.seconds_max);
  for (const double until = seconds_now() + 5; !somebody_listens(port) && seconds_now() < until;)
    usleep(5000);
  words.push_back("127.0.0.1");
  Process client(words, run.cpu, run.seconds_max);
  const std::string output = client.read_all();
  const int code = client.wait();
  const double number = find_number(output, run.size, run.column);
  if (code == 0 && number > 0) {
    server.wait();
    return number;
  }
  std::fprintf(stderr, "mrc_bench: %s failed (code %d):\n%s\n", run.words[0].c_str(), code, output.c_str());
  return 0;
}

}  // namespace mrc::bench
