// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/slot_ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dpdk_io/host/private_file.h"
#include "dpdk_io/link/link_number.h"

namespace mrc {

namespace {

// Nobody's text is written over.
bool is_new_or_ours(int fd, uint64_t magic, size_t bytes) {
  struct stat status {};
  uint64_t found = 0;
  if (fstat(fd, &status) != 0) return false;
  if (status.st_size == 0) return true;
  return status.st_size == static_cast<off_t>(bytes) && pread(fd, &found, sizeof found, 0) == sizeof found &&
         (found == magic || found == 0);
}

}  // namespace

std::unique_ptr<SlotLedger> SlotLedger::open(const std::string& path, Nanoseconds now, std::string* error) {
  std::string why;
  const int fd = open_private_file(path, O_RDWR | O_CREAT, &why);
  void* memory = MAP_FAILED;
  if (fd >= 0) {
    errno = EEXIST;
    if (is_new_or_ours(fd, File::kMagic, sizeof(File)) && allocate_file(fd, sizeof(File)))
      memory = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) why = std::strerror(errno);
    close(fd);
  }
  if (memory == MAP_FAILED) {
    *error = path + ": " + why + "; remove what is there, or make room";
    return nullptr;
  }
  auto* file = static_cast<File*>(memory);
  file->magic = File::kMagic;
  std::unique_ptr<SlotLedger> ledger(new SlotLedger(path, file));
  for (uint32_t slot = 0; slot <= kSlotMax; ++slot)
    if (file->records[slot].used != 0) ledger->rests_until_[slot] = now + kRest;
  return ledger;
}

SlotLedger::~SlotLedger() {
  munmap(file_, sizeof(File));
}

bool SlotLedger::admits(uint32_t slot, uid_t user, uint64_t token, Nanoseconds now) const {
  if (slot < 1 || slot > kSlotMax) return false;
  const Record& record = file_->records[slot];
  if (record.used == 0 || now >= rests_until_[slot]) return true;
  // Of a restart: whose it was. Of a program that has ended: the same user may have it at once.
  return record.token != 0 ? record.token == token && record.user == user : record.user == user;
}

bool SlotLedger::is_of(uint32_t slot, uid_t user, Nanoseconds now) const {
  const Record& record = file_->records[slot];
  return record.used != 0 && record.user == user && (record.token != 0 || now < rests_until_[slot]);
}

size_t SlotLedger::count_of(uid_t user, Nanoseconds now) const {
  size_t count = 0;
  for (uint32_t slot = 1; slot <= kSlotMax; ++slot) count += is_of(slot, user, now) ? 1 : 0;
  return count;
}

uint64_t SlotLedger::take(uint32_t slot, uid_t user, uint64_t token) {
  if (!has(slot, token)) token = new_link_number();
  file_->records[slot] = {token, user, 1};
  return token;
}

void SlotLedger::give_back(uint32_t slot, Nanoseconds now) {
  file_->records[slot].token = 0;
  rests_until_[slot] = now + kRest;
}

void SlotLedger::forget() {
  remove_private_file(path_);
}

}  // namespace mrc
