// SPDX-License-Identifier: BSD-2-Clause
// mrc_perf: how much a device moves, by OCP's interface or by verbs, between two processes or two hosts.
#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "examples/mrc_perf/run.h"
#include "examples/mrc_perf/side.h"
#include "examples/terminal/program_words.h"

namespace {

const char* const kUsage =
    "usage: mrc_perf [OPTIONS] [HOST]\n"
    "  Without HOST it is the server, which does what the client asks for; start both by mrcrun.\n"
    "  --api mrc|verbs      OCP's interface (default), or libibverbs'\n"
    "  --op OPERATION       write (default), write_imm; of verbs also send, read, atomic\n"
    "  -s, --size BYTES     of a message (65536)\n"
    "  -a, --all            all sizes from 2 to 8388608\n"
    "  --min-size BYTES, --max-size BYTES, --step-factor N\n"
    "  -n, --iterations N   messages per queue pair and size (1000); -w, --warm-up N before these\n"
    "  --duration SECONDS   instead of -n\n"
    "  -q, --qps N          queue pairs (1); -t, --depth N messages under way on each (128)\n"
    "  -b, --both           both directions at a time\n"
    "  -d, --device NAME, -g, --gid-index N, -p, --port N (18515)\n"
    "  --ev-profile N       paths of this side; by OCP's interface only\n"
    "  --srv6 N             paths of this side: N on each port, with SRv6 headers that are made up, which "
    "is\n"
    "                       for seeing their cost on one host; by OCP's interface only\n"
    "  --ocp                sizes from 1 to 67108864 and columns as OCP's benchmark has them\n"
    "  --json               the result as JSON\n";

struct Options {
  perf::Plan plan;
  perf::SideConfig side;
  std::string host;
  uint16_t port = 18515;
  bool ocp = false;
  bool json = false;
};

[[noreturn]] void refuse(const char* word) {
  std::exit(mrc::refuse_word("mrc_perf", word));
}

uint64_t number(const char* text, uint64_t least, uint64_t most) {
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || *text == '-' || value < least || value > most)
    refuse(text);
  return value;
}

perf::Operation operation(const char* text) {
  static constexpr const char* kNames[] = {"write", "write_imm", "send", "read", "atomic"};
  for (uint32_t i = 0; i < 5; ++i)
    if (std::strcmp(text, kNames[i]) == 0) return static_cast<perf::Operation>(i);
  refuse(text);
}

perf::Api api(const char* text) {
  if (std::strcmp(text, "mrc") == 0) return perf::Api::kMrc;
  if (std::strcmp(text, "verbs") == 0) return perf::Api::kVerbs;
  refuse(text);
}

enum Long { kApi = 256, kOp, kMinSize, kMaxSize, kStep, kDuration, kProfile, kSrv6, kOcp, kJson };

const option kOptions[] = {{"api", 1, nullptr, kApi},
                           {"op", 1, nullptr, kOp},
                           {"size", 1, nullptr, 's'},
                           {"all", 0, nullptr, 'a'},
                           {"min-size", 1, nullptr, kMinSize},
                           {"max-size", 1, nullptr, kMaxSize},
                           {"step-factor", 1, nullptr, kStep},
                           {"iterations", 1, nullptr, 'n'},
                           {"warm-up", 1, nullptr, 'w'},
                           {"duration", 1, nullptr, kDuration},
                           {"qps", 1, nullptr, 'q'},
                           {"depth", 1, nullptr, 't'},
                           {"both", 0, nullptr, 'b'},
                           {"device", 1, nullptr, 'd'},
                           {"gid-index", 1, nullptr, 'g'},
                           {"port", 1, nullptr, 'p'},
                           {"ev-profile", 1, nullptr, kProfile},
                           {"srv6", 1, nullptr, kSrv6},
                           {"ocp", 0, nullptr, kOcp},
                           {"json", 0, nullptr, kJson},
                           {nullptr, 0, nullptr, 0}};

constexpr uint64_t kBytesMax = uint64_t{1} << 30;

void take(int option, const char* value, Options* options) {
  perf::Plan& plan = options->plan;
  switch (option) {
    case kApi:
      plan.api = api(value);
      break;
    case kOp:
      plan.operation = operation(value);
      break;
    case 's':
      plan.size_min = plan.size_max = number(value, 1, kBytesMax);
      break;
    case 'a':
      plan.size_min = 2;
      plan.size_max = 8 << 20;
      break;
    case kMinSize:
      plan.size_min = number(value, 1, kBytesMax);
      break;
    case kMaxSize:
      plan.size_max = number(value, 1, kBytesMax);
      break;
    case kStep:
      plan.step = number(value, 2, 1024);
      break;
    case 'n':
      plan.iterations = number(value, 1, uint64_t{1} << 40);
      break;
    case 'w':
      plan.warm_up = static_cast<uint32_t>(number(value, 0, 1 << 30));
      break;
    case kDuration:
      plan.duration_ms = static_cast<uint32_t>(1000 * number(value, 1, 86400));
      break;
    case 'q':
      plan.queue_pairs = static_cast<uint32_t>(number(value, 1, 4096));
      break;
    case 't':
      plan.depth = static_cast<uint32_t>(number(value, 1, 4096));
      break;
    case 'b':
      plan.both = 1;
      break;
    case 'd':
      options->side.device = value;
      break;
    case 'g':
      options->side.gid_index = static_cast<int>(number(value, 0, 127));
      break;
    case 'p':
      options->port = static_cast<uint16_t>(number(value, 1, 65535));
      break;
    case kProfile:
      options->side.ev_profile = number(value, 0, UINT64_MAX - 1);
      break;
    case kSrv6:
      options->side.srv6_paths = static_cast<uint32_t>(number(value, 1, 256));
      break;
    case kOcp:
      options->ocp = true;
      plan.size_min = 1;
      plan.size_max = 64 << 20;
      break;
    case kJson:
      options->json = true;
      break;
    default:
      break;
  }
}

Options parse(int count, char** words) {
  Options options;
  opterr = 0;
  for (int option; (option = getopt_long(count, words, ":s:an:w:q:t:bd:g:p:", kOptions, nullptr)) != -1;) {
    if (option == '?' || option == ':') refuse(words[optind - 1]);
    take(option, optarg, &options);
  }
  if (optind < count) options.host = words[optind++];
  if (optind < count) refuse(words[optind]);
  perf::Plan& plan = options.plan;
  if (plan.operation == perf::Operation::kAtomic) plan.size_min = plan.size_max = 8;
  plan.size_max = std::max(plan.size_min, plan.size_max);
  if (plan.api == perf::Api::kMrc && plan.operation > perf::Operation::kWriteImm) {
    std::fprintf(stderr, "mrc_perf: MRC has WRITEs only; --api verbs has all operations\n");
    std::exit(mrc::kCalledWrongly);
  }
  return options;
}

void print_head(const Options& options) {
  if (options.json)
    std::printf("[");
  else if (options.ocp)
    std::printf("%-12s %-12s %-16s %s\n", "MsgSize", "TotalOps", "BW_avg(Gbps)", "MsgRate(Mpps)");
  else
    std::printf(" #bytes     #iterations    BW average[MB/sec]   BW average[Gb/sec]   MsgRate[Mpps]\n");
}

void print_row(const Options& options, const perf::Row& row, bool first) {
  const double rate = row.seconds > 0 ? static_cast<double>(row.operations) / row.seconds : 0;
  const double bytes = rate * static_cast<double>(row.bytes);
  const auto size = static_cast<unsigned long long>(row.bytes);
  const auto operations = static_cast<unsigned long long>(row.operations);
  if (options.json)
    std::printf(
        "%s\n  {\"bytes\": %llu, \"operations\": %llu, \"seconds\": %.6f, \"gbps\": %.6f, \"mpps\": %.6f}",
        first ? "" : ",", size, operations, row.seconds, bytes * 8 / 1e9, rate / 1e6);
  else if (options.ocp)
    std::printf("%-12llu %-12llu %-16.4f %.6f\n", size, operations, bytes * 8 / 1e9, rate / 1e6);
  else
    std::printf(" %-10llu %-14llu %-20.2f %-20.3f %.6f\n", size, operations, bytes / (1 << 20),
                bytes * 8 / 1e9, rate / 1e6);
  std::fflush(stdout);
}

// The server learns what to do, and both what the other's queue pairs are.
void agree(const perf::Line& line, Options* options, bool is_client) {
  if (is_client) {
    line.send(&options->plan, sizeof options->plan);
    return;
  }
  line.receive(&options->plan, sizeof options->plan);
  const perf::Plan& plan = options->plan;
  errno = 0;
  if (plan.magic != perf::Plan::kMagic) perf::give_up("the client is another program, or another version");
  if (plan.queue_pairs < 1 || plan.queue_pairs > 4096 || plan.depth < 1 || plan.depth > 4096 ||
      plan.size_min < 1 || plan.size_max > kBytesMax || plan.size_max < plan.size_min || plan.step < 2 ||
      plan.api > perf::Api::kVerbs || plan.operation > perf::Operation::kAtomic)
    perf::give_up("the client asks for something that there is not");
}

}  // namespace

int main(int count, char** words) {
  if (mrc::answer_words("mrc_perf", kUsage, count, words)) return 0;
  Options options = parse(count, words);
  const bool is_client = !options.host.empty();
  const perf::Line line =
      is_client ? perf::Line::connect(options.host, options.port) : perf::Line::listen(options.port);
  agree(line, &options, is_client);
  const perf::Plan& plan = options.plan;
  options.side.api = plan.api;
  options.side.queue_pairs = plan.queue_pairs;
  options.side.depth = plan.depth;
  options.side.bytes_max = std::max<uint64_t>(plan.size_max, 8);
  const auto side = perf::Side::open(options.side);
  std::vector<perf::QueuePairInfo> own = side->infos();
  std::vector<perf::QueuePairInfo> peers(own.size());
  line.send(own.data(), own.size() * sizeof own[0]);
  line.receive(peers.data(), peers.size() * sizeof peers[0]);
  side->connect(peers);
  char word = 'c';  // nobody sends before the other is connected
  line.send(&word, 1);
  line.receive(&word, 1);
  perf::Totals totals = perf::begin(plan, *side);
  print_head(options);
  for (uint64_t bytes = plan.size_min;; bytes *= plan.step) {
    print_row(options, perf::measure(line, *side, plan, bytes, is_client || plan.both != 0, &totals),
              bytes == plan.size_min);
    if (bytes > plan.size_max / plan.step) break;
  }
  if (options.json) std::printf("\n]\n");
  return 0;
}
