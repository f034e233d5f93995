// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/process_slot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "dpdk_io/eal.h"

namespace mrc {
namespace {

constexpr uint32_t kMagic = 0x4D524350;  // "MRCP"
constexpr const char* kCounterFile = "last_slot";

struct Record {
  uint32_t magic;
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

enum class Take { kTaken, kBusy, kError };

Take take_slot(const std::string& directory, uint32_t slot, int* fd) {
  const std::string path = slot_file(directory, slot);
  for (;;) {
    *fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0) return Take::kError;
    if (!lock_whole_file(*fd)) {
      const int why = errno;
      close(*fd);
      errno = why;
      return why == EACCES || why == EAGAIN ? Take::kBusy : Take::kError;
    }
    if (still_named(*fd, path)) return Take::kTaken;
    close(*fd);
  }
}

// Abstract names live in the network namespace, belong to no user and die with the process. -1: taken.
int claim_on_host(uint32_t slot) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "soft-mrc/slot.%u", slot);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return fd;
  close(fd);
  return -1;
}

// "proc.7", "ctl.7", "stats.7" and "link.7-12" belong to slot 7: the lower slot serves the link.
bool owner_of(const char* name, uint32_t* slot) {
  for (const char* pattern : {"proc.%u", "ctl.%u", "stats.%u", "link.%u-"}) {
    if (std::sscanf(name, pattern, slot) == 1) return *slot >= 1 && *slot <= kSlotMax;
  }
  return false;
}

std::map<uint32_t, std::vector<std::string>> list_files(const std::string& directory) {
  std::map<uint32_t, std::vector<std::string>> files;
  DIR* listing = opendir(directory.c_str());
  if (listing == nullptr) return files;
  while (const dirent* entry = readdir(listing)) {
    uint32_t slot;
    if (owner_of(entry->d_name, &slot)) files[slot].push_back(directory + "/" + entry->d_name);
  }
  closedir(listing);
  return files;
}

// Holding the slot's lock while its files are removed keeps a new owner from losing his.
void remove_files_of_the_dead(const std::string& directory, const std::map<uint32_t, SlotInfo>& ours) {
  for (const auto& [slot, files] : list_files(directory)) {
    int fd;
    if (ours.contains(slot) || take_slot(directory, slot, &fd) != Take::kTaken) continue;
    for (const std::string& file : files) unlink(file.c_str());
    unlink(slot_file(directory, slot).c_str());
    close(fd);
  }
}

// Only a hint: where to begin, so that a number comes back as late as possible.
uint32_t read_counter(const std::string& directory) {
  char text[16] = {};
  const int fd = open((directory + "/" + kCounterFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  return bytes > 0 ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) % (kSlotMax + 1) : 0;
}

void write_counter(const std::string& directory, uint32_t slot) {
  const int fd =
      open((directory + "/" + kCounterFile).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  char text[16];
  const int bytes = std::snprintf(text, sizeof text, "%-8u\n", slot);
  if (pwrite(fd, text, static_cast<size_t>(bytes), 0) < 0) unlink((directory + "/" + kCounterFile).c_str());
  close(fd);
}

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint64_t>(getpid()) << 32 ^ reinterpret_cast<uintptr_t>(&number);
  return number;
}

}  // namespace

std::unique_ptr<ProcessSlot> ProcessSlot::claim(const std::string& run_directory, uint32_t planes,
                                                bool host_wide, std::string* error) {
  std::lock_guard lock(owned().mutex);
  auto& ours = owned().by_directory[run_directory];
  remove_files_of_the_dead(run_directory, ours);
  const uint32_t last = read_counter(run_directory);
  for (uint32_t i = 0; i < kSlotMax; ++i) {
    const uint32_t number = (last + i) % kSlotMax + 1;
    if (ours.contains(number)) continue;
    int fd;
    const Take result = take_slot(run_directory, number, &fd);
    if (result == Take::kBusy) continue;
    if (result == Take::kError) {
      *error = "mrc: " + slot_file(run_directory, number) + ": " + std::strerror(errno) +
               "; set MRC_RUNDIR to a directory of your own on a file system with POSIX locks";
      return nullptr;
    }
    const int host_fd = host_wide ? claim_on_host(number) : -1;
    if (host_wide && host_fd < 0) {  // another user's
      unlink(slot_file(run_directory, number).c_str());
      close(fd);
      continue;
    }
    std::unique_ptr<ProcessSlot> slot(new ProcessSlot(run_directory, number, fd, host_fd));
    slot->info_ = {static_cast<uint32_t>(getpid()), planes, random_number()};
    ours[number] = slot->info_;
    write_counter(run_directory, number);
    const Record record{kMagic, slot->info_};
    if (pwrite(fd, &record, sizeof record, 0) == sizeof record) return slot;
    *error = "mrc: " + slot_file(run_directory, number) + ": " + std::strerror(errno) + "; is the disk full?";
    ours.erase(number);
    return nullptr;
  }
  *error = "mrc: all " + std::to_string(kSlotMax) + " process slots in " + run_directory +
           " are taken; end some processes that use the device, or set MRC_RUNDIR to another directory of "
           "your own";
  return nullptr;
}

ProcessSlot::ProcessSlot(const std::string& run_directory, uint32_t number, int fd, int host_fd)
    : run_directory_(run_directory), number_(number), fd_(fd), host_fd_(host_fd) {}

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

bool is_ours(const std::string& run_directory, uint32_t slot, SlotInfo* info) {
  std::lock_guard lock(owned().mutex);
  const auto directory = owned().by_directory.find(run_directory);
  if (directory == owned().by_directory.end()) return false;
  const auto found = directory->second.find(slot);
  if (found == directory->second.end()) return false;
  *info = found->second;
  return true;
}

}  // namespace

bool slot_alive(const std::string& run_directory, uint32_t slot) {
  SlotInfo info;
  if (is_ours(run_directory, slot, &info)) return true;
  const int fd = open(slot_file(run_directory, slot).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool locked = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(fd);
  return locked;
}

bool read_slot(const std::string& run_directory, uint32_t slot, SlotInfo* info) {
  if (is_ours(run_directory, slot, info)) return true;
  if (!slot_alive(run_directory, slot)) return false;
  const int fd = open(slot_file(run_directory, slot).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  Record record{};
  const bool whole = pread(fd, &record, sizeof record, 0) == sizeof record && record.magic == kMagic;
  close(fd);
  *info = record.info;
  return whole && info->planes >= 1 && info->planes <= kPlanesMax;
}

}  // namespace mrc
