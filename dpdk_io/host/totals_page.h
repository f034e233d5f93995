// SPDX-License-Identifier: BSD-2-Clause
// What the devices of a run directory have counted since it was made: all processes together, those that have
// ended too. A file there, mapped by every process, which adds to it; read by mrcctl, by mrcd, and by whoever
// looks at the device's class tree, for which it is also written as small files of text.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc {

// In the order of kTotals.
enum class Total : uint8_t {
  kFramesSent,
  kFramesReceived,
  kPayloadBytesSent,
  kPayloadBytesPlaced,
  kDataPackets,
  kMessagesCompleted,
  kDatagramsReceived,
  kMulticastsReceived,
  kRetransmitsSamePath,
  kRetransmitsReordering,
  kRetransmitsOutOfOrder,
  kRetransmitsTimeout,
  kRetransmitsNack,
  kRetransmitsTrimmed,
  kRetransmitsPortDown,
  kRetransmitsAckLost,
  kRetransmitsNotReady,
  kRetransmitsSequence,
  kRetransmissionsSent,
  kCopiesSent,
  kRetryExceeded,
  kNotReadySent,
  kNotReadyReceived,
  kSacksSent,
  kSacksReceived,
  kAcksSent,
  kAcksReceived,
  kNaksSent,
  kNaksReceived,
  kNacksSent,
  kNacksReceived,
  kTrimmedReceived,
  kProbesSent,
  kProbesAnswered,
  kReadsServed,
  kAtomicsServed,
  kPathsSkipped,
  kPathsDemoted,
  kPathsRestored,
  kDuplicates,
  kOutOfWindow,
  kOutOfSequence,
  kDropsBadIcrc,
  kDropsUndecodable,
  kDropsOther,
  kTxNoBuffer,
  kCount,
};
inline constexpr size_t kTotalCount = static_cast<size_t>(Total::kCount);
using TotalValues = std::array<uint64_t, kTotalCount>;
constexpr size_t index_of(Total total) {
  return static_cast<size_t>(total);
}

struct TotalName {
  const char* name;  // as in MRC's own metrics
  const char* help;
};
extern const std::array<TotalName, kTotalCount> kTotals;

struct DeviceTotals {
  std::string device;
  TotalValues values{};
};

// Names of the file system's counters of a port, as stock tools know them.
struct CounterFile {
  std::string path;  // "counters/port_xmit_data", "hw_counters/retrans_pkts"
  uint64_t value = 0;
};
std::vector<CounterFile> counter_files(const TotalValues& values);

class TotalsPage {
 public:
  static constexpr const char* kFileName = "totals";
  static constexpr const char* kFolderPrefix = "counters.";  // + device: the files of text
  static constexpr uint32_t kDevices = 64;

  // A page that cannot be made is done without: all else does nothing then.
  explicit TotalsPage(const std::string& run_directory);
  ~TotalsPage();
  TotalsPage(const TotalsPage&) = delete;
  TotalsPage& operator=(const TotalsPage&) = delete;

  bool usable() const { return page_ != nullptr; }
  std::vector<DeviceTotals> read() const;

  // --- of a process that counts ---
  // The place of a device. Nothing: there is no room for one more.
  std::optional<uint32_t> place_of(const std::string& device);
  void add(uint32_t place, const TotalValues& more);
  // Writes the files of text if somebody has made the folder for them; at most every `interval_ns`, whoever
  // of the processes comes first.
  void write_files(uint32_t place, uint64_t now_ns, uint64_t interval_ns);
  void write_files(uint32_t place);

 private:
  struct Device {
    std::atomic<uint32_t> taken;  // 1: it has a name
    char name[16];
    std::atomic<uint64_t> files_written_ns;
    std::array<std::atomic<uint64_t>, kTotalCount> values;
  };
  struct Page {
    static constexpr uint32_t kMagic = 0x4D524355;  // "MRCU"
    std::atomic<uint32_t> magic;
    std::atomic<uint32_t> counters;  // kTotalCount: another version has another list
    std::array<Device, kDevices> devices;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  const std::string run_directory_;
  Page* page_ = nullptr;
};

// Where the class tree's counters of a device are: makes the folder and its files, with what was counted
// until now. Empty: it could not be made.
std::string make_counter_folder(const std::string& run_directory, const std::string& device);

}  // namespace mrc
