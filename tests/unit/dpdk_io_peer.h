// SPDX-License-Identifier: BSD-2-Clause
// What the tests of dpdk_io share: a run directory of their own, other processes (this program started again,
// since a device does not survive a fork), and a device with its background thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dpdk_io/device_ports.h"

namespace mrc::test {

// Sets MRC_RUNDIR to a new directory below the current one; removes it at the end.
class RunDirectory {
 public:
  RunDirectory();
  ~RunDirectory();
  const std::string& path() const { return path_; }
  std::vector<std::string> all() const;
  // What is in it beyond what is meant to stay: nothing, when all devices are closed.
  std::vector<std::string> leftovers() const;
  // The next process takes the slot after this one.
  void set_last_slot(uint32_t slot) const;

 private:
  std::string path_;
};

// Another process in a role of dpdk_io_peer_test.cc. Its standard output comes here, line by line.
class Peer {
 public:
  explicit Peer(const std::vector<std::string>& role_and_arguments,
                const std::map<std::string, std::string>& environment = {});
  ~Peer();  // kills it if it still runs
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::string read_line();  // empty: it has closed its output, or 20 s have passed
  uint32_t read_number();   // a line that is a number
  void write_line(const std::string& line);
  void close_input();  // tells it to end
  void kill_now();
  void kill_without_waiting();
  int wait_for_exit();  // its exit code; -1: killed by a signal

 private:
  int pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

// A device with a thread that calls service().
class Device {
 public:
  explicit Device(uint32_t planes = 4);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DevicePorts& ports() { return *ports_; }
  Port& port(size_t plane) { return *ports_->ports()[plane]; }
  Carrier& link() { return *port(0).same_host(); }  // of all planes
  size_t planes() const { return ports_->ports().size(); }
  uint32_t slot() const { return ports_->slot(); }

  // Resolves the slot on every plane and polls until there is room or `seconds` are over.
  bool link_to(uint32_t slot, double seconds = 10);

 private:
  std::unique_ptr<DevicePorts> ports_;
  std::atomic<bool> stop_{false};
  std::thread service_;
};

double seconds_now();

// A frame to `slot` by a plane whose content follows from `seed`.
bool send_pattern(Device& device, size_t plane, uint32_t slot, uint32_t seed, uint32_t length);
// Checks the content of a frame made by send_pattern (addresses aside); gives its seed.
bool check_pattern(const RxFrame& frame, uint32_t* seed);
inline constexpr uint32_t kPatternBytesMin = 60;

// Runs a role; see dpdk_io_peer_test.cc.
int run_role(const std::vector<std::string>& arguments);

}  // namespace mrc::test
