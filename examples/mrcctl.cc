// SPDX-License-Identifier: BSD-2-Clause
// mrcctl: breaks and heals planes of this user's same-host links under running programs and shows their
// state and that of the programs; finds out how programs reach the device on this machine, and sets it up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "dpdk_io/fault_page.h"
#include "dpdk_io/run_directory.h"
#include "examples/mrc_top_pages.h"
#include "examples/mrcctl_doctor.h"
#include "examples/mrcctl_install.h"
#include "examples/mrcctl_state.h"

namespace {

constexpr char kUsage[] =
    "usage: mrcctl planes                       show the planes\n"
    "       mrcctl plane N black-hole           plane N loses every frame, its link still says up\n"
    "       mrcctl plane N down                 plane N loses every frame and its link says down\n"
    "       mrcctl plane N heal                 plane N works again\n"
    "       mrcctl heal                         all planes work again\n"
    "       mrcctl state                        tell what every running program does: queue pairs, timers,\n"
    "                                           counters, and events if it was started with MRC_TRACE\n"
    "       mrcctl doctor                       say how programs find the device on this machine; status 0: "
    "they can\n"
    "       mrcctl tree DIRECTORY               make a tree for SYSFS_PATH that shows the device\n"
    "       mrcctl install [ROOT]               write the files of a permanent installation, below ROOT\n"
    "Planes are numbered from 0. It acts on the programs of this user that share the run directory\n"
    "(MRC_RUNDIR, else the user's own), running now or started later.\n";

int usage() {
  std::fputs(kUsage, stderr);
  return 2;
}

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

int set_plane(const std::string& run_directory, mrc::FaultPage& page, const char* number,
              std::string_view action) {
  char* end = nullptr;
  const unsigned long plane = std::strtoul(number, &end, 10);
  if (end == number || *end != '\0' || plane >= mrc::kPlanesMax) {
    std::fprintf(stderr, "mrcctl: plane '%s': planes are numbered 0 to %u\n", number, mrc::kPlanesMax - 1u);
    return 2;
  }
  mrc::PlaneFault fault{};
  if (action == "black-hole")
    fault = mrc::PlaneFault::kBlackHole;
  else if (action == "down")
    fault = mrc::PlaneFault::kLinkDown;
  else if (action == "heal")
    fault = mrc::PlaneFault::kNone;
  else
    return usage();
  if (const uint32_t planes = planes_in_use(run_directory); planes > 0 && plane >= planes)
    std::fprintf(stderr, "mrcctl: note: the running programs have only planes 0 to %u\n", planes - 1);
  page.planes[plane].store(fault);
  return 0;
}

int heal_all(mrc::FaultPage& page) {
  for (auto& plane : page.planes) plane.store(mrc::PlaneFault::kNone);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (command == "doctor" && argc == 2) return mrc::doctor();
  if (command == "tree" && argc == 3) return mrc::make_tree(argv[2]);
  if (command == "install" && argc <= 3) return mrc::install_files(argc == 3 ? argv[2] : "/");
  const bool valid = ((command == "planes" || command == "state") && argc == 2) ||
                     (command == "heal" && argc == 2) || (command == "plane" && argc == 4);
  if (!valid) return usage();

  std::string run_directory;
  std::string error;
  mrc::FaultPage* page = nullptr;
  if (mrc::open_run_directory(&run_directory, &error)) page = mrc::map_fault_page(run_directory, &error);
  if (page == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  int status = 0;
  if (command == "state")
    status = mrc::show_state(run_directory);
  else if (command == "planes")
    status = show_planes(run_directory, *page);
  else if (command == "heal")
    status = heal_all(*page);
  else
    status = set_plane(run_directory, *page, argv[2], argv[3]);
  mrc::unmap_fault_page(page);
  return status;
}
