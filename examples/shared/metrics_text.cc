// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/metrics_text.h"

#include <cstdint>
#include <map>

#include "dpdk_io/host/totals_page.h"
#include "examples/shared/stats_pages.h"

namespace mrc {
namespace {

// What the running processes of a device have now.
struct Present {
  uint64_t processes = 0;
  uint64_t queue_pairs = 0;
  uint64_t paths_active = 0;
  uint64_t paths_all = 0;
};

// Of a label: names come from settings and need no more than this.
std::string quoted_label(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\\' || c == '"') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted;
}

void add_head(const std::string& name, const char* type, const char* help, std::string* text) {
  *text += "# TYPE " + name + " " + type + "\n# HELP " + name + " " + help + "\n";
}

void add_sample(const std::string& name, const std::string& device, uint64_t value, std::string* text) {
  *text += name + "{device=\"" + quoted_label(device) + "\"} " + std::to_string(value) + "\n";
}

void add_gauge(const char* name, const char* help, const std::map<std::string, Present>& devices,
               uint64_t Present::*member, std::string* text) {
  add_head(name, "gauge", help, text);
  for (const auto& [device, present] : devices) add_sample(name, device, present.*member, text);
}

}  // namespace

bool metrics_text(const std::string& run_directory, std::string* text) {
  text->clear();
  const TotalsPage page(run_directory);
  if (!page.usable()) {
    *text = "mrc: " + run_directory + "/" + TotalsPage::kFileName +
            ": cannot be read, or is of another version; end all programs of the device and remove it";
    return false;
  }
  const std::vector<DeviceTotals> totals = page.read();
  std::map<std::string, Present> devices;
  for (const DeviceTotals& device : totals) devices[device.device];
  std::map<uint32_t, bool> pids;
  for (const ProcessStats& process : StatsPages(run_directory).read()) {
    Present& present = devices[process.device];
    // A process has a page for each of its engines.
    if (!pids[process.pid]) ++present.processes;
    pids[process.pid] = true;
    present.queue_pairs += process.connected_qps;
    present.paths_active += process.paths_active;
    present.paths_all += process.paths_all;
  }
  add_gauge("mrc_processes", "Running processes that use the device.", devices, &Present::processes, text);
  add_gauge("mrc_queue_pairs", "Connected queue pairs.", devices, &Present::queue_pairs, text);
  add_gauge("mrc_paths_active", "Paths in use to the peers of connected queue pairs.", devices,
            &Present::paths_active, text);
  add_gauge("mrc_paths", "Paths to the peers of connected queue pairs.", devices, &Present::paths_all, text);
  for (size_t i = 0; i < kTotalCount; ++i) {
    const std::string name = std::string("mrc_") + kTotals[i].name;
    add_head(name, "counter", kTotals[i].help, text);
    for (const DeviceTotals& device : totals)
      add_sample(name + "_total", device.device, device.values[i], text);
  }
  *text += "# EOF\n";
  return true;
}

}  // namespace mrc
