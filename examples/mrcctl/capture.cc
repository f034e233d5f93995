// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/capture.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "dpdk_io/host/capture_page.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/host/run_directory.h"
#include "examples/mrcctl/packet_glance.h"
#include "examples/mrcctl/pcapng_writer.h"
#include "examples/terminal/program_words.h"

namespace mrc {
namespace {

struct CaptureOptions {
  std::string file;
  std::string device;  // empty: all
  std::optional<uint64_t> plane;
  std::optional<uint64_t> qpn;
  std::optional<bool> leaves;
  std::string packet_class;  // empty: all
  uint64_t files = 1;
  uint64_t bytes = 0;    // of each file
  uint64_t count = 0;    // 0: no limit
  uint64_t seconds = 0;  // 0: no limit
  bool whole = false;
};

int refuse_capture(const std::string& why) {
  std::fprintf(stderr, "mrcctl: %s\n", why.c_str());
  return kCalledWrongly;
}

bool to_number(const char* word, uint64_t* number) {
  char* end = nullptr;
  errno = 0;
  *number = std::strtoull(word, &end, 0);
  return errno == 0 && end != word && *end == '\0' && word[0] != '-';
}

// The status if the value is wrong, else 0.
int take_number(std::string_view option, const char* value, uint64_t least, uint64_t most, uint64_t* to) {
  if (to_number(value, to) && *to >= least && *to <= most) return 0;
  return refuse_capture("capture " + std::string(option) + " '" + value + "': not a number from " +
                        std::to_string(least) + " to " + std::to_string(most));
}

int take_value(std::string_view option, const char* value, CaptureOptions* options) {
  static constexpr uint64_t kMany = UINT64_MAX;
  if (option == "--plane") return take_number(option, value, 0, kPlanesMax - 1, &options->plane.emplace());
  if (option == "--qpn") return take_number(option, value, 0, 0xFFFFFF, &options->qpn.emplace());
  if (option == "--files") return take_number(option, value, 1, 1000, &options->files);
  if (option == "--bytes") return take_number(option, value, 1, kMany, &options->bytes);
  if (option == "--count") return take_number(option, value, 1, kMany, &options->count);
  if (option == "--duration") return take_number(option, value, 1, 1'000'000, &options->seconds);
  const std::string_view word = value;
  if (option == "--device") {
    options->device = word;
  } else if (option == "--direction") {
    if (word != "in" && word != "out")
      return refuse_capture("capture --direction '" + std::string(word) + "': in or out");
    options->leaves = word == "out";
  } else if (option == "--class") {
    if (!is_class(word))
      return refuse_capture("capture --class '" + std::string(word) +
                            "': write, send, read, atomic, flush, ack, sack, nack, probe, endpoint or plain");
    options->packet_class = word;
  } else {
    return refuse_word("mrcctl", option);
  }
  return 0;
}

int parse_capture(int count, char** words, CaptureOptions* options) {
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--whole") {
      options->whole = true;
    } else if (word.starts_with("--")) {
      // A word that is not known is refused as such, value or not.
      if (const int status = take_value(word, i + 1 < count ? words[i + 1] : "", options); status != 0)
        return status;
      ++i;
    } else if (options->file.empty()) {
      options->file = word;
    } else {
      return refuse_word("mrcctl", word);
    }
  }
  if (options->file.empty()) return refuse_capture("capture: to which file? '-' is standard output");
  if ((options->files > 1) != (options->bytes > 0))
    return refuse_capture("capture: --files and --bytes belong together");
  if (options->files > 1 && options->file == "-")
    return refuse_capture("capture: there is one standard output, not --files");
  return 0;
}

bool matches(const CaptureOptions& options, const CapturedFrame& frame,
             const std::optional<PacketGlance>& packet) {
  if (!options.device.empty() && frame.device != options.device) return false;
  if (options.plane && frame.note.plane != *options.plane) return false;
  if (options.leaves && frame.note.leaves != *options.leaves) return false;
  if (options.qpn && (!packet || packet->qpn != *options.qpn)) return false;
  return options.packet_class.empty() || (packet && class_of(packet->opcode) == options.packet_class);
}

volatile sig_atomic_t g_ended = 0;

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_ended = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  // Who reads standard output may go before us.
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

// From the clock of the frames to that of the world.
uint64_t wall_clock_offset() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec) - monotonic_now();
}

bool write_frame(PcapngWriter& writer, const CapturedFrame& frame, const std::optional<PacketGlance>& packet,
                 uint64_t offset) {
  char interface[40];
  std::snprintf(interface, sizeof interface, "%s plane %u", frame.device.c_str(), frame.note.plane);
  char comment[80];
  int length = std::snprintf(comment, sizeof comment, "plane %u %s", frame.note.plane,
                             frame.note.leaves ? "out" : "in");
  if (packet) length += std::snprintf(comment + length, sizeof comment - length, " EV 0x%08x", packet->ev);
  std::snprintf(comment + length, sizeof comment - length, " pid %u", frame.note.process);
  return writer.write(
      {interface, frame.note.time_ns + offset, frame.note.leaves, frame.length, frame.bytes, comment});
}

class Capture {
 public:
  Capture(const CaptureOptions& options, CaptureListener& listener)
      : options_(options),
        listener_(listener),
        writer_(options.file, static_cast<uint32_t>(options.files), options.bytes),
        offset_(wall_clock_offset()) {}

  // The exit status.
  int run() {
    if (!writer_.open()) return fails();
    std::fprintf(stderr, "mrcctl: captures to %s\n", options_.file.c_str());
    const uint64_t end = options_.seconds == 0 ? UINT64_MAX : monotonic_now() + options_.seconds * kSecond;
    uint64_t next_renewal = 0;
    while (g_ended == 0 && !enough_) {
      const uint64_t now = monotonic_now();
      if (now >= end) break;
      if (now >= next_renewal) {
        listener_.renew(now);
        next_renewal = now + CaptureListener::kRenewNs / 2;
      }
      if (!take_some()) return fails();
    }
    if (!writer_.close(listener_.lost())) return fails();
    std::fprintf(stderr, "mrcctl: %" PRIu64 " packets captured, %" PRIu64 " missed\n", written_,
                 listener_.lost());
    return 0;
  }

 private:
  // Then others may have the CPU. Who is captured and polls there waits for tens of microseconds, not for a
  // tick of the kernel's clock.
  static constexpr unsigned kAtOnce = 32;

  bool take_some() {
    CapturedFrame& frame = frame_;
    unsigned taken = 0;
    for (; taken < kAtOnce && !enough_ && listener_.take(&frame); ++taken) {
      const auto packet = glance_at(frame.bytes);
      if (!matches(options_, frame, packet)) continue;
      if (!write_frame(writer_, frame, packet, offset_)) return false;
      enough_ = ++written_ == options_.count;
    }
    if (taken > 0) {
      sched_yield();
      return true;
    }
    // So that who looks at the file sees what has come.
    if (!writer_.flush()) return false;
    // Who reads standard output may have seen enough although nothing comes.
    pollfd reader{options_.file == "-" ? STDOUT_FILENO : -1, 0, 0};
    const timespec pause{0, 200'000};
    ppoll(&reader, 1, &pause, nullptr);
    enough_ = (reader.revents & POLLERR) != 0;
    return true;
  }

  int fails() {
    if (errno == EPIPE && options_.file == "-") return 0;  // who read has seen enough
    std::fprintf(stderr, "mrcctl: %s: %s\n", options_.file.c_str(), std::strerror(errno));
    return 1;
  }

  const CaptureOptions& options_;
  CaptureListener& listener_;
  PcapngWriter writer_;
  const uint64_t offset_;
  CapturedFrame frame_;
  uint64_t written_ = 0;
  bool enough_ = false;
};

}  // namespace

int capture_frames(int count, char** words) {
  CaptureOptions options;
  if (const int status = parse_capture(count, words, &options); status != 0) return status;
  std::string run_directory;
  std::string error;
  std::unique_ptr<CaptureListener> listener;
  end_on_signals();
  CaptureListener::give_way();
  if (open_run_directory(&run_directory, &error))
    listener = CaptureListener::open(run_directory, options.whole, &error);
  if (listener == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  return Capture(options, *listener).run();
}

}  // namespace mrc
