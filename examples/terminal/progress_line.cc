// SPDX-License-Identifier: BSD-2-Clause
#include "examples/terminal/progress_line.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace mrc {
namespace {

constexpr std::chrono::milliseconds kInterval{250};

// A command in the background must not write over the shell's line.
bool in_foreground() {
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);
  return group < 0 || group == ::getpgrp();
}

size_t terminal_width() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// By one call, so that what other processes write is before or behind it. A terminal that is gone is no
// trouble.
void write_line(const std::string& text) {
  const std::string line = "\r" + text + "\033[K";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

ProgressLine::ProgressLine(std::string noun, uint64_t parts)
    : noun_(std::move(noun)), parts_(parts), start_(std::chrono::steady_clock::now()) {
  if (::isatty(STDERR_FILENO) == 0) return;
  // Signals are for the thread that works.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  drawer_ = std::thread([this] { draw_now_and_then(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressLine::~ProgressLine() {
  if (!drawer_.joinable()) return;
  hide();
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  drawer_.join();
}

void ProgressLine::begin(uint64_t part, std::string what) {
  const std::lock_guard lock(mutex_);
  part_ = part;
  what_ = std::move(what);
}

void ProgressLine::follow(const std::atomic<uint64_t>* finished) {
  const std::lock_guard lock(mutex_);
  finished_ = finished;
  part_ = 1;
}

void ProgressLine::hide() {
  const std::lock_guard lock(mutex_);
  part_ = 0;
  give_way();
}

void ProgressLine::give_way() {
  if (::isatty(STDERR_FILENO) != 0 && in_foreground()) write_line("");
}

void ProgressLine::draw_now_and_then() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kInterval, [this] { return end_; }))
    if (part_ > 0 && in_foreground()) write_line(text().substr(0, terminal_width() - 1));
}

std::string ProgressLine::text() const {
  const uint64_t part = finished_ != nullptr ? std::min(finished_->load() + 1, parts_) : part_;
  std::string text = noun_;
  if (parts_ > 1) text += " " + std::to_string(part) + " of " + std::to_string(parts_);
  if (!what_.empty()) text += (parts_ > 1 ? ": " : " ") + what_;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_).count();
  char elapsed[40];
  std::snprintf(elapsed, sizeof elapsed, ", %lld:%02lld", static_cast<long long>(seconds / 60),
                static_cast<long long>(seconds % 60));
  return text + elapsed;
}

}  // namespace mrc
