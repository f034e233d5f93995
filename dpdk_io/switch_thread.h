// SPDX-License-Identifier: BSD-2-Clause
// A thread of mrcd that turns a switch: it polls while frames come and naps otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "dpdk_io/share/frame_gate.h"
#include "dpdk_io/share/frame_switch.h"

namespace mrc {

class SwitchThread {
 public:
  using Change = std::function<void(FrameSwitch&)>;

  explicit SwitchThread(const FrameGate::Rules& rules) : gate_(rules) {}
  ~SwitchThread() { stop(); }
  SwitchThread(const SwitchThread&) = delete;
  SwitchThread& operator=(const SwitchThread&) = delete;

  // Makes a change to the switch between two of its turns, and waits for that. One thread at a time.
  void change(const Change& change);
  // Signals are not for it.
  void start();
  void stop();
  // While it does not run.
  const FrameSwitch::Counters& counters() const { return switch_.counters(); }

 private:
  void turn();
  void make_change();
  void wait_for_change();

  FrameGate gate_;
  FrameSwitch switch_{gate_};
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> change_waits_{false};
  std::mutex mutex_;
  std::condition_variable made_;
  std::condition_variable asked_;
  const Change* change_ = nullptr;
};

}  // namespace mrc
