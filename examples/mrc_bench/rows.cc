// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/rows.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "examples/mrc_bench/bare.h"
#include "examples/mrc_bench/idle.h"
#include "examples/mrc_bench/perftest.h"
#include "examples/mrc_bench/tcp.h"
#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

// Columns of perftest's tables.
constexpr size_t kAverage = 3;
constexpr size_t kMessageRate = 4;
constexpr size_t kTypicalLatency = 4;
// Of ucx_perftest's last line.
constexpr size_t kUcxLatency = 4;
constexpr size_t kUcxBandwidth = 6;
// Of mrc_perf's table.
constexpr size_t kGigabits = 3;

constexpr char kTarget[] = "what is wanted";

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<size_t>(bytes)) : "mrc_bench";
}

// As short as it can be said: it is shown in the table.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// The CPUs that this process may use; at least one.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

class Maker {
 public:
  explicit Maker(const Scale& scale)
      : scale_(scale),
        program_(own_path()),
        mrcrun_(program_.substr(0, program_.rfind('/') + 1) + "mrcrun"),
        cpus_(allowed_cpus()),
        limit_(scale.seconds * 20 + 40) {}

  std::vector<Row> make() {
    add_bare();
    if (scale_.bare_only) return std::move(rows_);
    add_streams();
    add_small_messages();
    add_threads();
    add_counts();
    add_idle();
    add_paths();
    add_ucx();
    return std::move(rows_);
  }

 private:
  NumberPointer number(const std::string& command, std::function<double()> take) {
    NumberPointer& known = numbers_[command];
    if (known == nullptr) known = std::make_shared<Number>(Number{command, std::move(take), {}});
    return known;
  }
  void row(Row row) { rows_.push_back(std::move(row)); }

  std::string without_folder(std::string text) const {
    if (const size_t at = text.find(scale_.scratch + "/"); at != std::string::npos)
      text.erase(at, scale_.scratch.size() + 1);
    return text;
  }
  // A multiple of what perftest posts at once.
  std::string times(double per_second) const {
    constexpr long kPosted = 32;
    return std::to_string(
        std::max(1024L, static_cast<long>(scale_.seconds * per_second) / kPosted * kPosted));
  }

  // `with`: of the environment. Shown as people would type it.
  NumberPointer perftest(Words program, const std::string& size, size_t column, double per_second,
                         const Words& with = {}, int cpu = -1) {
    const std::string shown = without_folder(with.empty() ? "" : joined(with) + " ") + "mrcrun " +
                              joined(program) + " -s " + size + (cpu >= 0 ? " (both ends on one CPU)" : "");
    if (column == kAverage) program.push_back("--report_gbits");
    program.insert(program.end(), {"-n", times(per_second)});
    Words command;
    if (!with.empty()) {
      command = {"env"};
      command.insert(command.end(), with.begin(), with.end());
    }
    command.push_back(mrcrun_);
    command.insert(command.end(), program.begin(), program.end());
    const PerftestRun run{command, size, column, cpu, limit_};
    return number(shown, [run] { return run_perftest(run); });
  }
  // A role of this program, under mrcrun. `with`: of the environment.
  NumberPointer role(const Words& words, const Words& with = {}) {
    Words command = {"env"};
    command.insert(command.end(), with.begin(), with.end());
    command.insert(command.end(), {mrcrun_, program_, "--role"});
    command.insert(command.end(), words.begin(), words.end());
    const std::string shown =
        without_folder(with.empty() ? "" : joined(with) + " ") + "mrcrun mrc_bench --role " + joined(words);
    return number(shown, [command, limit = limit_ + 60] {
      Process process(command, -1, limit);
      const std::string output = process.read_all();
      return process.wait() == 0 ? std::atof(output.c_str()) : 0;
    });
  }
  // What should be reached is what the row is compared with, where there is nothing else.
  NumberPointer target(double value) {
    return std::make_shared<Number>(Number{"", [value] { return value; }, {}});
  }
  NumberPointer write_bw() { return perftest({"ib_write_bw"}, "65536", kAverage, 100'000); }
  // perftest, too, writes the same 64 KiB again and again, and each of its queue pairs others.
  NumberPointer bare_stream(size_t kilobytes = 64) {
    const BareRun run{program_, scale_.seconds, kilobytes << 10};
    const std::string shown =
        "mrc_bench --bare (frames of 4 KiB, out of and into " + std::to_string(kilobytes) + " KiB)";
    return number(shown, [run] { return bare_gigabits(run); });
  }
  NumberPointer bare_ping(int other_cpu, const char* shown) {
    const BareRun run{program_, scale_.seconds, 0, cpus_.front(), other_cpu};
    return number(shown, [run] { return bare_half_round_trip_us(run); });
  }

  // DPDK's own link between two processes of a host.
  NumberPointer memif_ping() {
    const BareRun run{program_, scale_.seconds, 0, cpus_.front(), cpus_.back()};
    return number(
        "mrc_bench --role memif-pong / memif-ping (64 B, there and back, half)",
        [run, socket = scale_.scratch + "/memif"] { return memif_half_round_trip_us(run, socket); });
  }

  void add_bare() {
    if (!scale_.bare_only) return;
    row({"bare_bw", "Gb/s", bare_stream(), nullptr, "", {}, {}});
    row({"bare_bw_64m", "Gb/s", bare_stream(64 << 10), nullptr, "", {}, {}});
    row({"bare_lat",
         "us",
         bare_ping(cpus_.back(), "mrc_bench --bare (64 B, there and back, half)"),
         nullptr,
         "",
         {},
         {}});
  }

  void add_streams() {
    const NumberPointer tcp =
        number("mrc_bench --role tcp-receive / tcp-send PORT SECONDS",
               [program = program_, seconds = scale_.seconds] { return tcp_gigabits(program, seconds); });
    row({"write_bw_64k", "Gb/s", write_bw(), bare_stream(), "bare link", 0.7, {}});
    row({"write_bw_64k_tcp", "Gb/s", write_bw(), tcp, "TCP over lo", 2.0, {}});
    row({"write_bw_64k_veth",
         "Gb/s",
         write_bw(),
         number(
             "mrc_bench --role veth SECONDS (in a network namespace of its own)",
             [program = program_, seconds = scale_.seconds] { return tcp_veth_gigabits(program, seconds); }),
         "TCP over veth, TSO",
         2.0,
         {}});
    row({"read_bw_64k",
         "Gb/s",
         perftest({"ib_read_bw"}, "65536", kAverage, 100'000),
         write_bw(),
         "write_bw_64k",
         0.9,
         {}});
    row({"send_bw_64k",
         "Gb/s",
         perftest({"ib_send_bw"}, "65536", kAverage, 100'000),
         write_bw(),
         "write_bw_64k",
         0.9,
         {}});
    row({"write_bw_1m",
         "Gb/s",
         perftest({"ib_write_bw"}, "1048576", kAverage, 6'000),
         write_bw(),
         "write_bw_64k",
         1.0,
         {}});
    row({"write_bw_1m_bare",
         "Gb/s",
         perftest({"ib_write_bw"}, "1048576", kAverage, 6'000),
         bare_stream(1024),
         "bare link, 1 MiB",
         0.7,
         {}});
    row({"write_bw_8_qps",
         "Gb/s",
         perftest({"ib_write_bw", "-q", "8"}, "65536", kAverage, 12'000),
         write_bw(),
         "write_bw_64k",
         1.0,
         {}});
    row({"write_bw_8_qps_bare",
         "Gb/s",
         perftest({"ib_write_bw", "-q", "8"}, "65536", kAverage, 12'000),
         bare_stream(512),
         "bare link, 512 KiB",
         0.7,
         {}});
  }

  void add_small_messages() {
    row({"write_64",
         "M/s",
         perftest({"ib_write_bw"}, "64", kMessageRate, 3'000'000),
         target(3),
         kTarget,
         1.0,
         {}});
    row({"write_64_lists",
         "M/s",
         perftest({"ib_write_bw", "-l", "32"}, "64", kMessageRate, 3'000'000),
         target(6),
         kTarget,
         1.0,
         {}});
    const NumberPointer latency = perftest({"ib_write_lat"}, "8", kTypicalLatency, 50'000);
    row({"write_lat_8",
         "us",
         latency,
         bare_ping(cpus_.back(), "mrc_bench --bare (64 B, there and back, half)"),
         "bare link",
         {},
         2.0});
    row({"write_lat_8_memif", "us", latency, memif_ping(), "bare memif", {}, 2.0});
    row({"write_lat_8_tcp",
         "us",
         latency,
         number("mrc_bench --role tcp-pong / tcp-ping PORT SECONDS",
                [program = program_, seconds = scale_.seconds] {
                  return tcp_half_round_trip_us(program, seconds);
                }),
         "TCP that spins",
         {},
         0.35});
    row({"write_lat_8_one_cpu",
         "us",
         perftest({"ib_write_lat"}, "8", kTypicalLatency, 20'000, {}, cpus_.front()),
         bare_ping(cpus_.front(), "mrc_bench --bare (on one CPU)"),
         "bare link",
         {},
         4.0});
  }

  NumberPointer threads(const char* count, const char* pairs, const char* bytes) {
    return role({"threads", count, pairs, bytes, short_number(scale_.seconds)});
  }
  void add_threads() {
    row({"threads_2_64k",
         "msg/s",
         threads("2", "1", "65536"),
         threads("1", "1", "65536"),
         "one thread",
         1.7,
         {}});
    row({"threads_2_64", "msg/s", threads("2", "1", "64"), threads("1", "1", "64"), "one thread", 1.7, {}});
    row({"threads_16_qps_64",
         "msg/s",
         threads("16", "64", "65536"),
         threads("1", "1", "65536"),
         "one thread",
         1.0,
         {}});
  }

  void add_counts() {
    row({"setups", "1/s", role({"setups", short_number(scale_.seconds)}), target(5000), kTarget, 1.0, {}});
    row({"qps_4096_64k",
         "msg/s",
         threads("1", "4096", "65536"),
         threads("1", "1", "65536"),
         "one queue pair",
         0.7,
         {}});
    row({"qps_16384_each",
         "bytes",
         role({"pairs", "16384"}, paths(8, 32)),
         target(9 << 10),
         kTarget,
         {},
         1.0});
    row({"regions_million",
         "1/s",
         role({"regions", "1000000"}),
         role({"regions", "1000"}),
         "1,000 regions",
         0.9,
         {}});
    const std::string seconds = short_number(scale_.seconds);
    row({"lookups_million",
         "msg/s",
         role({"lookups", "1000000", seconds}),
         role({"lookups", "1000", seconds}),
         "1,000 regions",
         0.9,
         {}});
  }

  // Debian's pingpong has the device open, memory registered and a queue pair made, so that the provider's
  // thread runs, and waits for its client over TCP.
  void add_idle() {
    const Words command = {mrcrun_, "stdbuf", "-oL", "ibv_rc_pingpong", "-d", "mrc0", "-g", "0", "-p"};
    const NumberPointer idle = number("mrcrun ibv_rc_pingpong -d mrc0 -g 0 (until its client comes)",
                                      [command, seconds = std::max(1.0, scale_.seconds)] {
                                        Words words = command;
                                        words.push_back(std::to_string(next_port()));
                                        return idle_percent(words, seconds);
                                      });
    row({"device_idle", "% CPU", idle, target(1), kTarget, {}, 1.0});
  }

  // Settings with so many planes and paths, as a word of the environment.
  Words paths(int planes, int per_plane) {
    const std::string file =
        scale_.scratch + "/" + std::to_string(planes) + "x" + std::to_string(per_plane) + ".toml";
    std::ofstream(file) << "[device]\nplanes = " << planes << "\n[transport]\npaths_per_plane = " << per_plane
                        << "\n";
    return {"MRC_CONFIG=" + file};
  }
  void add_paths() {
    row({"paths_8_planes_256",
         "Gb/s",
         perftest({"ib_write_bw"}, "65536", kAverage, 100'000, paths(8, 32)),
         perftest({"ib_write_bw"}, "65536", kAverage, 100'000, paths(1, 1)),
         "1 plane, 1 path",
         0.95,
         {}});
    row({"paths_srv6", "Gb/s", mrc_perf({"--srv6", "32"}), mrc_perf({}), "without SRv6", 0.95, {}});
  }

  NumberPointer mrc_perf(const Words& options) {
    Words all = options;
    all.insert(all.end(), {"-n", times(100'000)});
    const MrcPerfRun run{
        {mrcrun_, program_.substr(0, program_.rfind('/') + 1) + "mrc_perf"}, all, "65536", kGigabits, limit_};
    const std::string shown = "mrcrun mrc_perf -s 65536" + (options.empty() ? "" : " " + joined(options));
    return number(shown, [run] { return run_mrc_perf(run); });
  }

  NumberPointer ucx(const Words& with, const char* test, const char* size, double per_second, size_t column) {
    const bool ours = with.front() != "UCX_TLS=tcp";
    Words command = {"env", "UCX_WARN_UNUSED_ENV_VARS=n"};
    command.insert(command.end(), with.begin(), with.end());
    if (ours) command.push_back(mrcrun_);
    command.insert(command.end(), {"ucx_perftest"});
    const UcxRun run{command, {"-t", test, "-s", size, "-n", times(per_second)}, column, limit_};
    const std::string shown =
        joined(with) + (ours ? " mrcrun" : "") + " ucx_perftest -t " + test + " -s " + size;
    return number(shown, [run] { return run_ucx(run); });
  }
  void add_ucx() {
    const Words ours = {"UCX_TLS=rc_v,self", "UCX_NET_DEVICES=mrc0:1"};
    const Words tcp = {"UCX_TLS=tcp", "UCX_NET_DEVICES=lo"};
    for (const char* test : {"ucp_put_bw", "tag_bw"})
      row({std::string("ucx_") + test,
           "MB/s",
           ucx(ours, test, "65536", 10'000, kUcxBandwidth),
           ucx(tcp, test, "65536", 10'000, kUcxBandwidth),
           "UCX over tcp",
           1.3,
           {}});
    row({"ucx_tag_lat",
         "us",
         ucx(ours, "tag_lat", "8", 20'000, kUcxLatency),
         ucx(tcp, "tag_lat", "8", 20'000, kUcxLatency),
         "UCX over tcp",
         {},
         0.5});
  }

  const Scale scale_;
  const std::string program_;
  const std::string mrcrun_;
  const std::vector<int> cpus_;
  const double limit_;
  std::map<std::string, NumberPointer> numbers_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> make_rows(const Scale& scale) {
  return Maker(scale).make();
}

}  // namespace mrc::bench
