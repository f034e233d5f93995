// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/process_slot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/private_file.h"

namespace mrc {
namespace {

constexpr uint32_t kMagic = 0x4D524350;  // "MRCP"

struct Record {
  uint32_t magic;
  uint32_t reserved;
  SlotInfo info;
};

// The slots of this very process. POSIX locks do not keep a process from itself, and closing a second
// descriptor of a locked file drops the lock; so the files of these slots must not be opened again.
struct Owned {
  std::mutex mutex;
  std::map<std::string, std::map<uint32_t, SlotInfo>> by_directory;
};

Owned& owned() {
  static auto* instance = new Owned;  // outlives everything: used in destructors at exit
  return *instance;
}

std::string slot_file(const std::string& directory, uint32_t slot) {
  return directory + "/proc." + std::to_string(slot);
}

bool lock_whole_file(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

// The locked file must still be the one that the name means: its last owner may have removed it meanwhile.
bool still_named(int fd, const std::string& path) {
  struct stat by_fd, by_name;
  return fstat(fd, &by_fd) == 0 && stat(path.c_str(), &by_name) == 0 && by_fd.st_ino == by_name.st_ino &&
         by_fd.st_dev == by_name.st_dev;
}

// What is in a slot's file.
enum class Content { kNothing, kRecord, kForeign };

Content content_of(int fd, Record* record) {
  char more;
  const ssize_t bytes = pread(fd, record, sizeof *record, 0);
  if (bytes == 0) return Content::kNothing;  // its maker was killed, or the disk was full
  const bool whole = bytes == sizeof *record && pread(fd, &more, 1, sizeof *record) == 0;
  return whole && record->magic == kMagic ? Content::kRecord : Content::kForeign;
}

enum class Take { kTaken, kBusy, kError };

// `flags`: O_CREAT to take one that nobody has ever had.
Take take_slot(const std::string& directory, uint32_t slot, int flags, int* fd, Content* content,
               std::string* why) {
  const std::string path = slot_file(directory, slot);
  for (;;) {
    *fd = open_private_file(path, O_RDWR | flags, why);
    // A user's own thing of that name is left alone; there are other numbers.
    if (*fd < 0) return errno == EPERM || errno == ELOOP || errno == EISDIR ? Take::kBusy : Take::kError;
    if (!lock_whole_file(*fd)) {
      const int error = errno;
      close(*fd);
      *why = std::strerror(error);
      return error == EACCES || error == EAGAIN ? Take::kBusy : Take::kError;
    }
    if (still_named(*fd, path)) break;
    close(*fd);
  }
  Record record{};
  *content = content_of(*fd, &record);
  if (*content != Content::kForeign) return Take::kTaken;
  close(*fd);
  return Take::kBusy;
}

// The slot of "link.7-12" is 7: the lower one serves the link.
std::optional<uint32_t> server_of_link(const std::string& name) {
  const size_t dash = name.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto server = slot_in_name(name.substr(0, dash).c_str(), "link.");
  const auto client = slot_in_name(name.c_str() + dash, "-");
  return server && client && *server < *client ? server : std::nullopt;
}

struct SlotFiles {
  std::vector<std::string> files, sockets;
};

std::map<uint32_t, SlotFiles> list_files(const std::string& directory) {
  std::map<uint32_t, SlotFiles> all;
  DIR* listing = opendir(directory.c_str());
  if (listing == nullptr) return all;
  while (const dirent* entry = readdir(listing)) {
    const char* name = entry->d_name;
    const std::string path = directory + "/" + name;
    if (const auto slot = slot_in_name(name, "proc.")) all[*slot];
    for (const char* prefix : {"stats.", "state.", "detail."})
      if (const auto slot = slot_in_name(name, prefix)) all[*slot].files.push_back(path);
    if (const auto slot = slot_in_name(name, "ctl.")) all[*slot].sockets.push_back(path);
    if (const auto slot = server_of_link(name)) all[*slot].sockets.push_back(path);
  }
  closedir(listing);
  return all;
}

// Holding the slot's lock while its files are removed keeps a new owner from losing his. A slot's file is
// made before and removed after all others: without a record in it they are not ours. Which there are is
// looked up only now: who was alive a moment ago may have made some, and nobody would know whose they are.
void remove_files_of_the_dead(const std::string& directory, uint32_t slot) {
  int fd;
  Content content;
  std::string why;
  if (take_slot(directory, slot, 0, &fd, &content, &why) != Take::kTaken) return;
  if (content == Content::kRecord) {
    const SlotFiles all = list_files(directory)[slot];
    for (const std::string& file : all.files) remove_private_file(file);
    for (const std::string& socket : all.sockets) remove_own_socket(socket);
  }
  unlink(slot_file(directory, slot).c_str());
  close(fd);
}

// The number that was given last: only a hint, so that one comes back as late as possible. Whatever is wrong
// with the file, one can do without.
class Counter {
 public:
  explicit Counter(const std::string& directory)
      : fd_(open_private_file(directory + "/last_slot", O_RDWR | O_CREAT)) {
    if (fd_ < 0) return;
    char text[kBytes + 2] = {};
    char* end = text;
    if (pread(fd_, text, sizeof text - 1, 0) < 0) return;
    const unsigned long slot = std::strtoul(text, &end, 10);
    const char* rest = end + std::strspn(end, " ");
    ours_ = text[0] == '\0' || (text[0] >= '0' && text[0] <= '9' && std::strcmp(rest, "\n") == 0);
    if (ours_ && slot <= kSlotMax) last_ = static_cast<uint32_t>(slot);
  }
  ~Counter() {
    if (fd_ >= 0) close(fd_);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  uint32_t last() const { return last_; }
  void set(uint32_t slot) const {
    if (!ours_) return;  // nobody's text is written over
    char text[16];
    std::snprintf(text, sizeof text, "%-8u\n", slot);
    static_cast<void>(!pwrite(fd_, text, kBytes, 0));
  }

 private:
  static constexpr size_t kBytes = 9;
  const int fd_;
  bool ours_ = false;
  uint32_t last_ = 0;
};

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint64_t>(getpid()) << 32 ^ reinterpret_cast<uintptr_t>(&number);
  return number;
}

void give_back(const std::string& directory, uint32_t slot, int fd, int host_fd) {
  unlink(slot_file(directory, slot).c_str());
  close(fd);
  if (host_fd >= 0) close(host_fd);
}

// Takes the slot and says in it whose it is.
Take take_for_good(const std::string& directory, uint32_t slot, const SlotInfo& info,
                   const ClaimOnHost& on_host, int* fd, int* host_fd, std::string* error) {
  Content content;
  std::string why;
  const Take result = take_slot(directory, slot, O_CREAT, fd, &content, &why);
  if (result == Take::kError)
    *error = "mrc: " + slot_file(directory, slot) + ": " + why +
             "; set MRC_RUNDIR to a directory of your own with room, on a file system with POSIX locks";
  if (result != Take::kTaken) return result;
  const HostClaim claim = on_host ? on_host(slot, host_fd, error) : HostClaim::kNoRight;
  if (claim == HostClaim::kBusy || claim == HostClaim::kError) {
    give_back(directory, slot, *fd, *host_fd);
    return claim == HostClaim::kBusy ? Take::kBusy : Take::kError;
  }
  const Record record{kMagic, 0, info};
  errno = ENOSPC;  // what a short write means
  if (pwrite(*fd, &record, sizeof record, 0) == sizeof record) return Take::kTaken;
  *error = "mrc: " + slot_file(directory, slot) + ": " + std::strerror(errno) +
           "; make room, or set MRC_RUNDIR to a directory of your own on another disk";
  give_back(directory, slot, *fd, *host_fd);
  return Take::kError;
}

}  // namespace

std::unique_ptr<ProcessSlot> ProcessSlot::claim(const std::string& run_directory, uint32_t planes,
                                                const ClaimOnHost& on_host, std::string* error) {
  std::lock_guard lock(owned().mutex);
  auto& ours = owned().by_directory[run_directory];
  for (const auto& [number, files] : list_files(run_directory))
    if (!ours.contains(number)) remove_files_of_the_dead(run_directory, number);
  const Counter counter(run_directory);
  for (uint32_t i = 0; i < kSlotMax; ++i) {
    const uint32_t number = (counter.last() + i) % kSlotMax + 1;
    if (ours.contains(number)) continue;
    const SlotInfo info{static_cast<uint32_t>(getpid()), planes, random_number()};
    int fd = -1;
    int host_fd = -1;
    const Take result = take_for_good(run_directory, number, info, on_host, &fd, &host_fd, error);
    if (result == Take::kError) return nullptr;
    if (result == Take::kBusy) continue;
    ours[number] = info;
    counter.set(number);
    return std::unique_ptr<ProcessSlot>(new ProcessSlot(run_directory, number, info, fd, host_fd));
  }
  *error = "mrc: all " + std::to_string(kSlotMax) + " process slots in " + run_directory +
           " are taken; end some processes that use the device, or set MRC_RUNDIR to another directory of "
           "your own";
  return nullptr;
}

ProcessSlot::ProcessSlot(const std::string& run_directory, uint32_t number, const SlotInfo& info, int fd,
                         int host_fd)
    : run_directory_(run_directory), number_(number), info_(info), fd_(fd), host_fd_(host_fd) {}

ProcessSlot::~ProcessSlot() {
  if (!in_forked_child()) {
    std::lock_guard lock(owned().mutex);
    unlink(slot_file(run_directory_, number_).c_str());
    owned().by_directory[run_directory_].erase(number_);
  }
  close(fd_);
  if (host_fd_ >= 0) close(host_fd_);
}

namespace {

// Under the mutex, and it is kept while a slot's file is open: the slot must not become ours meanwhile.
bool is_ours(const std::string& run_directory, uint32_t slot, SlotInfo* info) {
  const auto directory = owned().by_directory.find(run_directory);
  if (directory == owned().by_directory.end()) return false;
  const auto found = directory->second.find(slot);
  if (found == directory->second.end()) return false;
  *info = found->second;
  return true;
}

bool is_locked(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

bool slot_alive(const std::string& run_directory, uint32_t slot) {
  SlotInfo info;
  std::lock_guard lock(owned().mutex);
  if (is_ours(run_directory, slot, &info)) return true;
  const int fd = open_private_file(slot_file(run_directory, slot), O_RDONLY);
  if (fd < 0) return false;
  const bool alive = is_locked(fd);
  close(fd);
  return alive;
}

bool read_slot(const std::string& run_directory, uint32_t slot, SlotInfo* info) {
  std::lock_guard lock(owned().mutex);
  if (is_ours(run_directory, slot, info)) return true;
  const int fd = open_private_file(slot_file(run_directory, slot), O_RDONLY);
  if (fd < 0) return false;
  Record record{};
  const bool whole = is_locked(fd) && content_of(fd, &record) == Content::kRecord;
  close(fd);
  *info = record.info;
  return whole && info->planes >= 1 && info->planes <= kPlanesMax;
}

bool slot_gone(const std::string& run_directory, uint32_t slot, uint64_t incarnation) {
  std::lock_guard lock(owned().mutex);
  SlotInfo info;
  if (is_ours(run_directory, slot, &info)) return info.incarnation != incarnation;
  const int fd = open_private_file(slot_file(run_directory, slot), O_RDONLY);
  if (fd < 0) return errno == ENOENT;
  Record record{};
  const bool another = content_of(fd, &record) == Content::kRecord && record.info.incarnation != incarnation;
  const bool gone = another || !is_locked(fd);
  close(fd);
  return gone;
}

void clear_after_the_dead(const std::string& run_directory, uint32_t slot) {
  if (in_forked_child()) return;
  std::lock_guard lock(owned().mutex);
  SlotInfo info;
  if (is_ours(run_directory, slot, &info)) return;
  remove_files_of_the_dead(run_directory, slot);
}

}  // namespace mrc
