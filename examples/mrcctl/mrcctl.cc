// SPDX-License-Identifier: BSD-2-Clause
// mrcctl: breaks and heals planes of this user's same-host links under running programs and shows their
// state and that of the programs; finds out how programs reach the device on this machine. On request, and
// only when told --yes, it writes the files of a permanent installation, or takes them back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/run_directory.h"
#include "dpdk_io/settings/device_config.h"
#include "examples/mrcctl/capture.h"
#include "examples/mrcctl/doctor.h"
#include "examples/mrcctl/ev.h"
#include "examples/mrcctl/fault.h"
#include "examples/mrcctl/install.h"
#include "examples/mrcctl/map.h"
#include "examples/mrcctl/probe.h"
#include "examples/mrcctl/state.h"
#include "examples/shared/metrics_text.h"
#include "examples/shared/stats_pages.h"
#include "examples/terminal/program_words.h"

namespace {

constexpr char kUsage[] =
    "usage: mrcctl planes                       show the planes\n"
    "       mrcctl plane N black-hole           plane N loses every frame, its link still says up\n"
    "       mrcctl plane N down                 plane N loses every frame and its link says down\n"
    "       mrcctl plane N heal                 plane N works again\n"
    "       mrcctl heal                         all planes work again\n"
    "       mrcctl fault add KIND [FIELD=VALUE]...\n"
    "                                           make something go wrong on purpose: drop, corrupt, "
    "duplicate,\n"
    "                                           delay, reorder, trim, mark or black-hole frames; fail a "
    "request\n"
    "                                           or a call; raise an event; slow or overrun completion "
    "queues;\n"
    "                                           disorder: orders that are legal but unusual.\n"
    "                                           Fields: rate, nth, skip, count, seed, delay_us, "
    "direction,\n"
    "                                           plane, ev, opcode, psn, qpn, status, call, errno, event\n"
    "       mrcctl fault list [--json]          what goes wrong on purpose, and how often it has\n"
    "       mrcctl fault remove ID              one of them not any more\n"
    "       mrcctl fault clear                  none any more\n"
    "       mrcctl state [--json]               tell what every running program does: queue pairs, timers,\n"
    "                                           counters, and events if it was started with MRC_TRACE\n"
    "       mrcctl paths [--json]               tell of every path of MRC queue pairs: plane, EV, state, "
    "sent, lost\n"
    "       mrcctl ev [--json]                  EV profiles, the states of their EVs, denied links\n"
    "       mrcctl ev deny|allow WHAT...        WHAT: a link of an SRv6 fabric (2000-1002, by uSIDs or "
    "names), "
    "a\n"
    "                                           switch, or an EV of a profile (PROFILE/PORT/EV)\n"
    "       mrcctl ev load FILE                 the links of FILE, one in a line, are denied now and no "
    "others; "
    "its\n"
    "                                           EVs are denied, too\n"
    "       mrcctl ev clear                     nothing is denied any more\n"
    "       mrcctl cc [--json]                  CC profiles\n"
    "       mrcctl port [--json]                which ports may be used\n"
    "       mrcctl port N up|down               port N, counted from 1, may be used or not\n"
    "       mrcctl probe PEER [--plane N] [--spine N] [--route USID:USID:...] [--ev 0xN] [--count N]\n"
    "                    [--interval MS] [--timeout MS] [--json]\n"
    "                                           ask PEER by every path, or by a given one: round trips and "
    "losses\n"
    "       mrcctl probe --answer               answer the probes of other hosts, where no program runs that "
    "does\n"
    "       mrcctl map [--seconds S] [--count N] [--tolerate PERCENT] [--denylist FILE] [--apply] [--json]\n"
    "                  [--daemon [--interval S]]\n"
    "                                           which links and switches of an SRv6 fabric are bad; "
    "--denylist: "
    "a\n"
    "                                           file for mrcctl ev load; --apply: deny them at once; "
    "--daemon: "
    "again\n"
    "                                           and again. Status 3: something is bad\n"
    "       mrcctl map --join FILE...           the same of what several hosts have found (mrcctl map "
    "--json)\n"
    "       mrcctl capture FILE [--whole] [--device NAME] [--plane N] [--qpn N] [--direction in|out]\n"
    "                      [--class CLASS] [--count N] [--duration SECONDS] [--files N --bytes M]\n"
    "                                           packets of all programs to a pcapng file, '-' is standard\n"
    "                                           output; their first 256 bytes, or --whole; --files: NAME.1 "
    "to\n"
    "                                           NAME.N in turn, M bytes each. CLASS: write send read atomic\n"
    "                                           flush ack sack nack probe endpoint plain\n"
    "       mrcctl export                       what the devices have counted, as OpenMetrics text\n"
    "       mrcctl doctor                       say how programs find the device on this machine; status 0: "
    "they can\n"
    "       mrcctl tree DIRECTORY               make a tree for SYSFS_PATH that shows the device\n"
    "       mrcctl install [--root DIR] [--blacklist-ib-core] [--yes]\n"
    "                                           say which files would make the device permanent: driver "
    "file\n"
    "                                           and device file, and with --blacklist-ib-core one that "
    "keeps\n"
    "                                           the kernel's RDMA from loading; --yes: write them\n"
    "       mrcctl uninstall [--root DIR] [--yes]\n"
    "                                           say which of them would be removed; --yes: remove them. "
    "Those\n"
    "                                           that somebody has changed stay\n"
    "       mrcctl --device NAME COMMAND ...    the commands about planes, ports, EVs and faults, of another "
    "device\n"
    "                                           than the first of the settings\n"
    "       mrcctl --help | --version\n"
    "Planes are numbered from 0. It acts on the programs of this user that share the run directory\n"
    "(MRC_RUNDIR, else the user's own), running now or started later.\n";

const char* describe(mrc::PlaneFault fault) {
  switch (fault) {
    case mrc::PlaneFault::kNone:
      return "ok";
    case mrc::PlaneFault::kBlackHole:
      return "black hole (link up, frames vanish)";
    case mrc::PlaneFault::kLinkDown:
      return "down";
  }
  return "unknown";
}

// Of the running processes; 0 when there is none.
uint32_t planes_in_use(const std::string& run_directory) {
  uint32_t planes = 0;
  for (const mrc::ProcessStats& process : mrc::StatsPages(run_directory).read())
    planes = std::max(planes, process.planes);
  return planes;
}

int show_planes(const std::string& run_directory, const mrc::FaultPage& page) {
  const uint32_t planes = planes_in_use(run_directory);
  bool any = false;
  for (uint32_t plane = 0; plane < mrc::kPlanesMax; ++plane) {
    const mrc::PlaneFault fault = page.planes[plane].load();
    if (plane >= planes && fault == mrc::PlaneFault::kNone) continue;
    std::printf("plane %u: %s\n", plane, describe(fault));
    any = true;
  }
  if (!any) std::printf("no plane has a fault, and no program uses the device now\n");
  return 0;
}

struct PlaneOrder {
  unsigned long plane = 0;
  mrc::PlaneFault fault = mrc::PlaneFault::kNone;
};

// The status if the words are wrong, else 0.
int parse_plane(const char* number, std::string_view action, PlaneOrder* order) {
  char* end = nullptr;
  order->plane = std::strtoul(number, &end, 10);
  if (end == number || *end != '\0' || order->plane >= mrc::kPlanesMax) {
    std::fprintf(stderr, "mrcctl: plane '%s': planes are numbered 0 to %u\n", number, mrc::kPlanesMax - 1u);
    return mrc::kCalledWrongly;
  }
  if (action == "black-hole")
    order->fault = mrc::PlaneFault::kBlackHole;
  else if (action == "down")
    order->fault = mrc::PlaneFault::kLinkDown;
  else if (action != "heal")
    return mrc::refuse_word("mrcctl", action);
  return 0;
}

int set_plane(const std::string& run_directory, mrc::FaultPage& page, const PlaneOrder& order) {
  if (const uint32_t planes = planes_in_use(run_directory); planes > 0 && order.plane >= planes)
    std::fprintf(stderr, "mrcctl: note: the running programs have only planes 0 to %u\n", planes - 1);
  page.planes[order.plane].store(order.fault);
  return 0;
}

int heal_all(mrc::FaultPage& page) {
  for (auto& plane : page.planes) plane.store(mrc::PlaneFault::kNone);
  return 0;
}

int export_metrics(const std::string& run_directory) {
  std::string text;
  const bool there = mrc::metrics_text(run_directory, &text);
  std::fprintf(there ? stdout : stderr, there ? "%s" : "%s\n", text.c_str());
  return there && std::fflush(stdout) == 0 ? 0 : 1;
}

// How many words a command has, the program's name and its own among them; 0: there is no such command.
int words_of(std::string_view command) {
  if (command == "plane") return 4;
  if (command == "tree") return 3;
  for (const std::string_view alone : {"planes", "heal", "state", "paths", "export", "doctor"})
    if (command == alone) return 2;
  return 0;
}

// Takes "--device NAME" from before the command. The status if it is wrong, else 0.
int take_device(int* argc, char*** argv, std::string* name, std::string* suffix) {
  if (*argc < 2 || std::string_view((*argv)[1]) != "--device") return 0;
  if (*argc < 3) {
    std::fputs(kUsage, stderr);
    return mrc::kCalledWrongly;
  }
  std::vector<mrc::DeviceConfig> devices;
  std::string error;
  if (!mrc::load_device_configs(&devices, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  *name = (*argv)[2];
  for (const mrc::DeviceConfig& device : devices) {
    if (device.name != *name) continue;
    *suffix = page_suffix(device);
    (*argv)[2] = (*argv)[0];
    *argv += 2;
    *argc -= 2;
    return 0;
  }
  std::fprintf(stderr, "mrcctl: there is no device %s in the settings\n", name->c_str());
  return mrc::kCalledWrongly;
}

// Commands that need the device itself, as a controller has it.
struct DeviceCommand {
  std::string_view name;
  int (*check)(const std::vector<std::string>& words);
  int (*run)(mrc::OpenDevice& device, const std::vector<std::string>& words);
};
constexpr DeviceCommand kDeviceCommands[] = {{"ev", mrc::check_ev_words, mrc::ev_command},
                                             {"cc", mrc::check_cc_words, mrc::cc_command},
                                             {"port", mrc::check_port_words, mrc::port_command},
                                             {"probe", mrc::check_probe_words, mrc::probe_command},
                                             {"map", mrc::check_map_words, mrc::map_command}};

// `all`: the words that this program was started with.
int run_on_device(const DeviceCommand& command, const std::string& device_name,
                  const std::vector<std::string>& words, const std::vector<std::string>& all) {
  if (const int status = command.check(words); status != 0) return status;
  if (command.run == mrc::map_command && mrc::joins_maps(words)) return mrc::join_maps(device_name, words);
  const auto device = mrc::OpenDevice::open(device_name, all);
  return device != nullptr ? command.run(*device, words) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("mrcctl", kUsage, argc, argv)) return 0;
  const std::vector<std::string> all(argv, argv + argc);
  std::string device;
  std::string suffix;
  if (const int status = take_device(&argc, &argv, &device, &suffix); status != 0) return status;
  const std::string_view command = argc > 1 ? argv[1] : "";
  for (const DeviceCommand& known : kDeviceCommands)
    if (known.name == command) return run_on_device(known, device, {argv + 2, argv + argc}, all);
  if (command == "install") return mrc::install_files(argc - 2, argv + 2);
  if (command == "uninstall") return mrc::uninstall_files(argc - 2, argv + 2);
  if (command == "capture") return mrc::capture_frames(argc - 2, argv + 2);
  const bool fault = command == "fault";
  const bool json =
      (command == "state" || command == "paths") && argc == 3 && argv[2] == std::string_view("--json");
  const int words = fault || json ? argc : words_of(command);
  if (argc > 1 && words == 0) return mrc::refuse_word("mrcctl", command);
  if (argc > 1 && argc > words) return mrc::refuse_word("mrcctl", argv[words]);
  if (argc < words || argc < 2) {
    std::fputs(kUsage, stderr);
    return mrc::kCalledWrongly;
  }
  if (command == "doctor") return mrc::doctor();
  if (command == "tree") return mrc::make_tree(argv[2]);
  PlaneOrder order;
  if (command == "plane")
    if (const int status = parse_plane(argv[2], argv[3], &order); status != 0) return status;

  std::string run_directory;
  std::string error;
  mrc::FaultPage* page = nullptr;
  if (mrc::open_run_directory(&run_directory, &error))
    page = mrc::map_fault_page(run_directory, &error, suffix);
  if (page == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  int status = 0;
  if (fault)
    status = mrc::fault_command(*page, run_directory, argc - 2, argv + 2);
  else if (command == "state")
    status = mrc::show_state(run_directory, json);
  else if (command == "paths")
    status = mrc::show_paths(run_directory, json);
  else if (command == "export")
    status = export_metrics(run_directory);
  else if (command == "planes")
    status = show_planes(run_directory, *page);
  else if (command == "heal")
    status = heal_all(*page);
  else
    status = set_plane(run_directory, *page, order);
  mrc::unmap_fault_page(page);
  return status;
}
