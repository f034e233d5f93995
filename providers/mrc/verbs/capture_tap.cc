// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/capture_tap.h"

#include <unistd.h>

#include <cstdint>

namespace mrc::provider {
namespace {

// At a time: others want the lock, too.
constexpr unsigned kFramesAtOnce = 64;

}  // namespace

CaptureTap::CaptureTap(const std::string& run_directory, const std::string& device, Hears hears)
    : run_directory_(run_directory),
      device_(device),
      hears_(hears),
      feed_(run_directory, static_cast<uint32_t>(getpid()), device) {}

void CaptureTap::follow(Engine& engine, Nanoseconds now) {
  const bool sniffs = hears_ == Hears::kOthers && engine.has_sniffers();
  std::string why;  // nobody to tell: the sniffer hears its own process alone
  if (!sniffs)
    listener_.reset();
  else if (listener_ == nullptr)
    listener_ = CaptureListener::open(run_directory_, true, &why);
  else
    listener_->renew(now);
  listens_.store(listener_ != nullptr, std::memory_order_relaxed);
  engine.set_capture(feed_.follow(now) ? this : nullptr);
}

void CaptureTap::hear(Engine& engine) {
  if (listener_ == nullptr) return;
  const auto self = static_cast<uint32_t>(getpid());
  for (unsigned i = 0; i < kFramesAtOnce && listener_->take(&heard_); ++i)
    if (heard_.note.process != self && heard_.device == device_ && heard_.length == heard_.bytes.size())
      engine.sniff(heard_.bytes, heard_.note.intact);
}

void CaptureTap::look(const CaptureView& view) {
  feed_.put({view.now, 0, view.plane, view.leaves, view.intact}, view.frame);
}

}  // namespace mrc::provider
