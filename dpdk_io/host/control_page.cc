// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/control_page.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/host/run_directory.h"

namespace mrc {
namespace {

constexpr char kMakeRoom[] = "make room, or set MRC_RUNDIR to a directory of your own on another disk";

bool has_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_NET_ADMIN & 1) != 0;
}

// The file in another user's directory, which it shall belong to as well. -1: errno.
int open_in_directory_of(uid_t owner, gid_t group, const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0) return -1;
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    if (status.st_uid == owner) return fd;
    if (status.st_size == 0 && fchown(fd, owner, group) == 0) return fd;
  }
  close(fd);
  errno = EPERM;
  return -1;
}

// The directory that is meant and a descriptor of the file. 0 or an errno.
int find_page(const std::string& name, std::string* directory, int* fd, std::string* error) {
  if (open_run_directory(directory, error)) {
    std::string wrong;
    const std::string path = *directory + "/" + name;
    *fd = open_private_file(path, O_RDWR | O_CREAT, &wrong);
    if (*fd >= 0) return 0;
    const int why = errno;
    *error = "mrc: " + path + ": " + wrong + "; remove the file and try again";
    return why;
  }
  *directory = chosen_run_directory();
  struct stat status;
  if (stat(directory->c_str(), &status) != 0) return errno == EACCES ? EPERM : errno;
  if (!S_ISDIR(status.st_mode) || status.st_uid == geteuid()) return EINVAL;  // the reason is told
  if (!has_net_admin()) return EPERM;
  *fd = open_in_directory_of(status.st_uid, status.st_gid, *directory + "/" + name);
  return *fd >= 0 ? 0 : errno == EACCES ? EPERM : errno;
}

class PageLock {
 public:
  PageLock(std::mutex& mutex, int fd) : lock_(mutex), fd_(fd) {
    while (flock(fd_, LOCK_EX) != 0)
      if (errno != EINTR) {
        error_ = errno;
        break;
      }
  }
  ~PageLock() {
    if (error_ == 0) flock(fd_, LOCK_UN);
  }
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;
  int error() const { return error_; }

 private:
  std::lock_guard<std::mutex> lock_;
  const int fd_;
  int error_ = 0;
};

// All that is used of it: what is behind is nobody's.
void copy_state(const ControlState& from, ControlState* to) {
  std::memcpy(to, &from, offsetof(ControlState, evs));
  to->ev_count = std::min(to->ev_count, kControlEvs);
  std::memcpy(to->evs, from.evs, to->ev_count * sizeof(ControlEv));
}

}  // namespace

int ControlPage::open(std::unique_ptr<ControlPage>* page, std::string* error, const std::string& suffix) {
  const std::string name = kFileName + suffix;
  std::string directory;
  int fd = -1;
  if (const int why = find_page(name, &directory, &fd, error); why != 0) return why;
  const auto fail = [&](int why, const char* cure) {
    *error = "mrc: " + directory + "/" + name + ": " + std::strerror(why) + "; " + cure;
    close(fd);
    return why;
  };
  // As with the page of faults: zeros are an empty page, and what is in the file stays.
  if (!allocate_file(fd, sizeof(Page))) return fail(errno, kMakeRoom);
  void* mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return fail(errno, "try again");
  auto* memory = static_cast<Page*>(mapped);
  uint32_t magic = 0;
  uint32_t layout = 0;
  const bool known =
      (memory->magic.compare_exchange_strong(magic, Page::kMagic) || magic == Page::kMagic) &&
      (memory->layout.compare_exchange_strong(layout, Page::kLayout) || layout == Page::kLayout);
  if (!known) {
    munmap(mapped, sizeof(Page));
    *error = "mrc: " + directory + "/" + name + ": is not a page of profiles; remove the file and try again";
    close(fd);
    return EIO;
  }
  page->reset(new ControlPage(std::move(directory), fd, memory));
  return 0;
}

ControlPage::~ControlPage() {
  munmap(page_, sizeof(Page));
  close(fd_);
}

// --- state ---

uint64_t ControlPage::read(ControlState* state) const {
  for (;;) {
    const uint64_t before = generation();
    copy_state(page_->copies[before & 1], state);
    std::atomic_thread_fence(std::memory_order_acquire);
    // The copy may be written again only after it has been replaced.
    if (page_->generation.load(std::memory_order_relaxed) == before) return before;
  }
}

uint32_t ControlPage::ports_disabled() const {
  for (;;) {
    const uint64_t before = generation();
    const uint32_t disabled = page_->copies[before & 1].ports_disabled;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (page_->generation.load(std::memory_order_relaxed) == before) return disabled;
  }
}

int ControlPage::change(const std::function<bool(ControlState&)>& change) {
  const PageLock lock(mutex_, fd_);
  if (lock.error() != 0) return lock.error();
  const uint64_t before = generation();
  ControlState& next = page_->copies[(before + 1) & 1];
  copy_state(page_->copies[before & 1], &next);
  if (change(next)) page_->generation.store(before + 1, std::memory_order_release);
  return 0;
}

// --- users ---

int ControlPage::use(Kind kind, uint32_t place, uint32_t slot,
                     const std::function<bool(const ControlState&)>& still_there) {
  const PageLock lock(mutex_, fd_);
  if (lock.error() != 0) return lock.error();
  if (!still_there(page_->copies[generation() & 1])) return EINVAL;
  page_->users[static_cast<size_t>(kind)][place][slot / 64].fetch_or(uint64_t{1} << slot % 64);
  return 0;
}

void ControlPage::release(Kind kind, uint32_t place, uint32_t slot) {
  page_->users[static_cast<size_t>(kind)][place][slot / 64].fetch_and(~(uint64_t{1} << slot % 64));
}

bool ControlPage::in_use(Kind kind, uint32_t place) const {
  const auto& words = page_->users[static_cast<size_t>(kind)][place];
  for (uint32_t slot = 1; slot <= kSlotMax; ++slot)
    if ((words[slot / 64].load() >> slot % 64 & 1) != 0 && slot_alive(run_directory_, slot)) return true;
  return false;
}

void ControlPage::forget_slot(uint32_t slot) {
  for (auto& kind : page_->users)
    for (auto& words : kind) words[slot / 64].fetch_and(~(uint64_t{1} << slot % 64));
}

// --- what was heard of EVs ---

void ControlPage::note_ev(uint32_t place, uint32_t ev, uint8_t state) {
  if (ev < kControlEvsEach) page_->notes[place][ev].store(state, std::memory_order_relaxed);
}

uint8_t ControlPage::noted_ev(uint32_t place, uint32_t ev) const {
  return ev < kControlEvsEach ? page_->notes[place][ev].load(std::memory_order_relaxed) : 0;
}

void ControlPage::clear_notes(uint32_t place) {
  for (auto& note : page_->notes[place]) note.store(0, std::memory_order_relaxed);
}

// --- events ---

void ControlPage::push(const ControlEvent& event) {
  const uint64_t number = page_->events_head.fetch_add(1);
  Entry& entry = page_->events[number % kEvents];
  entry.turn.store(2 * number + 1);
  std::memcpy(&entry.event, &event, sizeof event);
  entry.turn.store(2 * number + 2, std::memory_order_release);
}

ControlPage::Taken ControlPage::take(uint64_t number, ControlEvent* event) const {
  const uint64_t head = pushed();
  if (number >= head) return Taken::kNothing;
  const Entry& entry = page_->events[number % kEvents];
  const uint64_t before = entry.turn.load(std::memory_order_acquire);
  if (head - number > kEvents || before > 2 * number + 2) return Taken::kLost;
  if (before < 2 * number + 2) return Taken::kNothing;
  std::memcpy(event, &entry.event, sizeof *event);
  std::atomic_thread_fence(std::memory_order_acquire);
  return entry.turn.load(std::memory_order_relaxed) == before ? Taken::kEvent : Taken::kLost;
}

}  // namespace mrc
