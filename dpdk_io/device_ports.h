// SPDX-License-Identifier: BSD-2-Clause
// The ports of one device in this process: all that the provider sees of dpdk_io. Opening claims a process
// slot in the run directory (which fixes the range of QP numbers) and makes one port per plane. DPDK's EAL is
// started only for ports on DPDK devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dpdk_io/settings/device_config.h"
#include "libmrc/path/path_source.h"
#include "libmrc/port/port.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// Threads: the ports belong to one thread at a time (the provider's lock of the engine). service() may run at
// the same time on another thread, but on one only; open and the destructor run while neither is in use.
class DevicePorts {
 public:
  // Null: `error` says what, why and what to do. Several devices may be open in one process.
  static std::unique_ptr<DevicePorts> open(const DeviceConfig& config, std::string* error);
  ~DevicePorts();
  DevicePorts(const DevicePorts&) = delete;
  DevicePorts& operator=(const DevicePorts&) = delete;

  std::span<Port* const> ports() const;  // index is the plane

  // How other hosts are reached, for the engine; null: nothing is known beyond the ports.
  PathSource* paths() const;

  // The QP numbers of this process: no other process of this user on this host has them.
  Qpn first_qpn() const;
  uint32_t qpn_count() const;

  // What is sent to the group, by processes of this host or other hosts, comes to this process from now on.
  // Any thread, but one at a time. 0 or an errno; joining twice is joining once.
  int join(const IpAddress& group);
  void leave(const IpAddress& group);
  // Whole Ethernet frames of other processes' applications come here, and what else comes by ports of our own
  // and is none of RoCE; or do not any more. 0 or an errno.
  int hear_raw_frames(bool wanted);

  uint32_t slot() const;
  // Whether this process answers what comes from the network for no process in particular. Any thread.
  bool speaks_for_host() const;
  const std::string& run_directory() const;

  // Makes and removes links. Call it often (every millisecond or so while something is going on, at least
  // every 100 ms otherwise); cheap when there is nothing to do. Never blocks for long, never called by the
  // data path.
  void service();
  // Readable when service() has something to do at once; for poll() only.
  int event_fd() const;

  // For a process that ends without closing: waits until the others have taken what was sent to them, for a
  // moment at most. While neither the ports nor service() are in use; nothing is to be sent behind it.
  void say_good_bye();

 private:
  class Impl;
  explicit DevicePorts(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc
