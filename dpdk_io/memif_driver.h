// SPDX-License-Identifier: BSD-2-Clause
// DPDK's memif driver made fit for a process that is not ours: what it unmaps, leaks or leaves open on a
// link's way up and down is put right by redirecting a few of its imports.
#pragma once

#include <rte_interrupts.h>

#include <string>
#include <vector>

namespace mrc {

// Once per process, after EAL has started and before the first link. False: `error` says why.
bool repair_memif_driver(std::string* error);

// What the driver takes while a link is made and does not give back by itself. All of this happens in the
// interrupt thread (interrupt_thread.h).
class DriverRecord {
 public:
  DriverRecord() = default;
  DriverRecord(const DriverRecord&) = delete;
  DriverRecord& operator=(const DriverRecord&) = delete;

  void begin();  // from here on what the driver takes belongs to this record...
  void end();    // ...up to here

  // Closes the listening socket of a server: one link is one connection.
  void stop_listening();
  // Frees what is left; after the link's device is gone.
  void release();

  void note_handle(rte_intr_handle* handle) { handles_.push_back(handle); }
  void note_listener(int fd, rte_intr_callback_fn callback, void* argument);
  bool forget_handle(rte_intr_handle* handle);

 private:
  std::vector<rte_intr_handle*> handles_;
  int listener_fd_ = -1;
  rte_intr_callback_fn listener_callback_ = nullptr;
  void* listener_argument_ = nullptr;
};

}  // namespace mrc
