// SPDX-License-Identifier: BSD-2-Clause
// Joins a shard to the captures of its run directory: its frames go to whoever listens in another process,
// and its sniffers hear the frames of all others of the device.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "dpdk_io/host/capture_page.h"
#include "libmrc/engine/engine.h"
#include "libmrc/engine/frame_capture.h"
#include "libmrc/wire/time.h"

namespace mrc::provider {

class CaptureTap final : private FrameCapture {
 public:
  // Of a device's shards one hears what others send.
  enum class Hears : bool { kNothing, kOthers };
  CaptureTap(const std::string& run_directory, const std::string& device, Hears hears);

  // Whether somebody listens may have changed. Under the shard's lock, every few milliseconds.
  void follow(Engine& engine, Nanoseconds now);
  // Whether hear() has something to do. Any thread.
  bool listens() const { return listens_.load(std::memory_order_relaxed); }
  // At exit(), when follow() is not called any more.
  void leave() {
    if (listener_ != nullptr) listener_->leave();
  }
  // Hands frames of other processes to the sniffers. Under the shard's lock.
  void hear(Engine& engine);

 private:
  void look(const CaptureView& view) override;

  const std::string run_directory_;
  const std::string device_;
  const Hears hears_;
  CaptureFeed feed_;
  std::unique_ptr<CaptureListener> listener_;
  CapturedFrame heard_;
  std::atomic<bool> listens_{false};
};

}  // namespace mrc::provider
