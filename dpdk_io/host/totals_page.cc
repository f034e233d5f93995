// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/totals_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "dpdk_io/host/file_lock.h"
#include "dpdk_io/host/private_file.h"

namespace mrc {
namespace {

// One file of the folder. Counters only grow, so a new number always covers the old one.
bool write_number(int folder, const CounterFile& file) {
  const int fd = openat(folder, file.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return false;
  const std::string line = std::to_string(file.value) + "\n";
  const bool written = pwrite(fd, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size());
  close(fd);
  return written;
}

std::string folder_of(const std::string& run_directory, const std::string& device) {
  return run_directory + "/" + TotalsPage::kFolderPrefix + device;
}

int open_folder(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

}  // namespace

const std::array<TotalName, kTotalCount> kTotals = {{
    {"frames_sent", "Frames sent."},
    {"frames_received", "Frames received."},
    {"payload_bytes_sent", "Bytes of payload sent for the first time."},
    {"payload_bytes_placed", "Bytes of new payload written to memory."},
    {"data_packets_sent", "Packets with data sent for the first time."},
    {"messages_completed", "Messages completed at their sender."},
    {"datagrams_received", "Datagrams delivered."},
    {"multicasts_received", "Datagrams to groups."},
    {"retransmits_same_path", "Packets lost: a later one of the same path arrived."},
    {"retransmits_reordering", "Packets lost: overtaken for too long."},
    {"retransmits_out_of_order", "Packets lost: more than a window arrived behind them."},
    {"retransmits_timeout", "Packets lost: nothing was heard of them in time."},
    {"retransmits_nack", "Packets that the receiver asked for again."},
    {"retransmits_trimmed", "Of these, packets that a switch had trimmed."},
    {"retransmits_port_down", "Packets under way when their port went down."},
    {"retransmits_ack_lost", "Packets sent again because an acknowledgement was lost."},
    {"retransmits_not_ready", "Packets sent again because the receiver was not ready."},
    {"retransmits_sequence", "Packets of plain RC sent again after a sequence error."},
    {"retransmissions_sent", "Frames of MRC that carried data once more."},
    {"copies_sent", "Frames of MRC that went twice before anything was known of them."},
    {"retry_exceeded", "Connections given up after too many retries."},
    {"not_ready_sent", "Requests refused because no receive was posted."},
    {"not_ready_received", "Refusals because the peer had no receive posted."},
    {"sacks_sent", "SACKs sent."},
    {"sacks_received", "SACKs received."},
    {"acks_sent", "Transport ACKs sent."},
    {"acks_received", "Transport ACKs received."},
    {"naks_sent", "Requests refused."},
    {"naks_received", "Refusals received."},
    {"nacks_sent", "NACKs sent."},
    {"nacks_received", "NACKs received."},
    {"trimmed_received", "Packets that came trimmed by a switch."},
    {"probes_sent", "Probes of paths sent."},
    {"probes_answered", "Probes of paths answered."},
    {"reads_served", "READs carried out for peers."},
    {"atomics_served", "Atomics carried out for peers."},
    {"paths_skipped", "Turns that marked paths missed."},
    {"paths_demoted", "Paths taken out of use."},
    {"paths_restored", "Paths taken into use again."},
    {"duplicates", "Packets received once more."},
    {"out_of_window", "Packets received out of the window."},
    {"out_of_sequence", "Packets of plain RC received out of sequence."},
    {"drops_bad_icrc", "Frames dropped for a bad ICRC."},
    {"drops_undecodable", "Frames dropped because they could not be decoded."},
    {"drops_other", "Frames dropped for other causes: no such queue pair, wrong peer, wrong state."},
    {"tx_no_buffer", "Frames not sent for want of a buffer."},
}};

std::vector<CounterFile> counter_files(const TotalValues& values) {
  const auto value = [&](Total total) { return values[index_of(total)]; };
  const uint64_t drops =
      value(Total::kDropsBadIcrc) + value(Total::kDropsUndecodable) + value(Total::kDropsOther);
  std::vector<CounterFile> files;
  const auto add = [&](const char* folder, const char* name, uint64_t number) {
    files.push_back({std::string(folder) + "/" + name, number});
  };
  // IBTA's; data is counted in words of four bytes.
  const char* port = "counters";
  add(port, "port_xmit_data", value(Total::kPayloadBytesSent) / 4);
  add(port, "port_rcv_data", value(Total::kPayloadBytesPlaced) / 4);
  add(port, "port_xmit_packets", value(Total::kFramesSent));
  add(port, "port_rcv_packets", value(Total::kFramesReceived));
  add(port, "unicast_xmit_packets", value(Total::kFramesSent));
  add(port, "unicast_rcv_packets", value(Total::kFramesReceived) - value(Total::kMulticastsReceived));
  add(port, "multicast_rcv_packets", value(Total::kMulticastsReceived));
  add(port, "port_rcv_errors", drops);
  add(port, "port_xmit_discards", value(Total::kTxNoBuffer));
  const char* own = "hw_counters";
  // soft-RoCE's.
  add(own, "sent_pkts", value(Total::kFramesSent));
  add(own, "rcvd_pkts", value(Total::kFramesReceived));
  add(own, "duplicate_request", value(Total::kDuplicates));
  add(own, "out_of_seq_request", value(Total::kOutOfSequence) + value(Total::kOutOfWindow));
  add(own, "rcvd_rnr_err", value(Total::kNotReadyReceived));
  add(own, "send_rnr_err", value(Total::kNotReadySent));
  add(own, "rcvd_seq_err", value(Total::kRetransmitsSequence));
  add(own, "retry_exceeded_err", value(Total::kRetryExceeded));
  add(own, "send_err", value(Total::kTxNoBuffer));
  // EFA's.
  add(own, "tx_bytes", value(Total::kPayloadBytesSent));
  add(own, "rx_bytes", value(Total::kPayloadBytesPlaced));
  add(own, "tx_pkts", value(Total::kFramesSent));
  add(own, "rx_pkts", value(Total::kFramesReceived));
  add(own, "rx_drops", drops);
  add(own, "retrans_pkts", value(Total::kRetransmissionsSent));
  add(own, "retrans_timeout_events", value(Total::kRetransmitsTimeout));
  add(own, "unresponsive_remote_events", value(Total::kRetryExceeded));
  add(own, "impaired_remote_conn_events", value(Total::kPathsDemoted));
  for (size_t i = 0; i < kTotalCount; ++i)
    add(own, (std::string("mrc_") + kTotals[i].name).c_str(), values[i]);
  return files;
}

TotalsPage::TotalsPage(const std::string& run_directory) : run_directory_(run_directory) {
  const int fd = open_private_file(run_directory + "/" + kFileName, O_RDWR | O_CREAT);
  if (fd < 0) return;
  void* mapped = MAP_FAILED;
  if (allocate_file(fd, sizeof(Page)))
    mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return;
  auto* page = static_cast<Page*>(mapped);
  uint32_t magic = 0;
  uint32_t counters = 0;
  if ((page->magic.compare_exchange_strong(magic, Page::kMagic) || magic == Page::kMagic) &&
      (page->counters.compare_exchange_strong(counters, kTotalCount) || counters == kTotalCount))
    page_ = page;
  else
    munmap(mapped, sizeof(Page));
}

TotalsPage::~TotalsPage() {
  if (page_ != nullptr) munmap(page_, sizeof *page_);
}

std::vector<DeviceTotals> TotalsPage::read() const {
  std::vector<DeviceTotals> all;
  if (page_ == nullptr) return all;
  for (const Device& device : page_->devices) {
    if (device.taken.load(std::memory_order_acquire) == 0) continue;
    DeviceTotals& totals = all.emplace_back();
    totals.device.assign(device.name, strnlen(device.name, sizeof device.name));
    for (size_t i = 0; i < kTotalCount; ++i)
      totals.values[i] = device.values[i].load(std::memory_order_relaxed);
  }
  return all;
}

std::optional<uint32_t> TotalsPage::place_of(const std::string& name) {
  const FileLock lock(run_directory_ + "/" + kFileName);
  if (page_ == nullptr || lock.error() != 0) return std::nullopt;
  for (uint32_t i = 0; i < kDevices; ++i) {
    Device& device = page_->devices[i];
    if (device.taken.load() == 0) {
      std::snprintf(device.name, sizeof device.name, "%s", name.c_str());
      device.taken.store(1, std::memory_order_release);
      return i;
    }
    if (name.compare(0, sizeof device.name - 1, device.name) == 0) return i;
  }
  return std::nullopt;
}

void TotalsPage::add(uint32_t place, const TotalValues& more) {
  Device& device = page_->devices[place];
  for (size_t i = 0; i < kTotalCount; ++i)
    if (more[i] != 0) device.values[i].fetch_add(more[i], std::memory_order_relaxed);
}

void TotalsPage::write_files(uint32_t place, uint64_t now_ns, uint64_t interval_ns) {
  Device& device = page_->devices[place];
  uint64_t last = device.files_written_ns.load(std::memory_order_relaxed);
  // A time that is still to come is of a machine that has been restarted.
  if ((now_ns >= last && now_ns < last + interval_ns) ||
      !device.files_written_ns.compare_exchange_strong(last, now_ns))
    return;
  write_files(place);
}

void TotalsPage::write_files(uint32_t place) {
  const Device& device = page_->devices[place];
  const int folder = open_folder(folder_of(run_directory_, device.name));
  if (folder < 0) return;  // nobody wants to see them
  TotalValues values;
  for (size_t i = 0; i < kTotalCount; ++i) values[i] = device.values[i].load(std::memory_order_relaxed);
  for (const CounterFile& file : counter_files(values))
    if (!write_number(folder, file)) break;
  close(folder);
}

std::string make_counter_folder(const std::string& run_directory, const std::string& device) {
  std::string path = folder_of(run_directory, device);
  for (const std::string& folder : {path, path + "/counters", path + "/hw_counters"})
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return {};
  TotalsPage page(run_directory);
  const auto place = page.place_of(device);
  if (!place) return {};
  page.write_files(*place);
  return path;
}

}  // namespace mrc
