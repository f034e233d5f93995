// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/port_registry.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "dpdk_io/host/file_lock.h"
#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/process_slot.h"

namespace mrc::provider {
namespace {

constexpr Nanoseconds kLookInterval = 5 * kMillisecond;
// What has not changed is looked at so often, because processes die.
constexpr Nanoseconds kUnchangedInterval = 200 * kMillisecond;
// A directory that was changed longer ago than this cannot change again and show the same time.
constexpr Nanoseconds kSettled = 2 * kSecond;

using FilePointer = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A private file as a stream. Null: errno says why.
FilePointer open_file(const std::string& path, int flags, const char* mode) {
  const int fd = open_private_file(path, flags);
  FilePointer file(fd < 0 ? nullptr : fdopen(fd, mode), &std::fclose);
  if (fd >= 0 && file == nullptr) close(fd);
  return file;
}

bool same_address(const cm::BoundAddress& a, const cm::BoundAddress& b) {
  return a.any == b.any && a.is_v6 == b.is_v6 && a.only_v6 == b.only_v6 && a.address == b.address;
}

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

// True: nothing has come into the directory or left it since the given time, which is set.
bool settled(const std::string& directory, Nanoseconds* changed_at) {
  struct stat status;
  timespec now;
  if (stat(directory.c_str(), &status) != 0) return false;
  clock_gettime(CLOCK_REALTIME, &now);
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
  };
  const Nanoseconds before = *changed_at;
  *changed_at = nanoseconds(status.st_mtim);
  return *changed_at == before && before + kSettled < nanoseconds(now);
}

std::string name_of(cm::ServiceId service) {
  char name[32];
  std::snprintf(name, sizeof name, "cm.%04x.%u", cm::port_space_of(service), cm::port_of(service));
  return name;
}

// Those that have a file.
std::vector<cm::ServiceId> services_in(const std::string& run_directory) {
  std::vector<cm::ServiceId> services;
  DIR* listing = opendir(run_directory.c_str());
  if (listing == nullptr) return services;
  while (const dirent* entry = readdir(listing)) {
    unsigned port_space = 0;
    unsigned port = 0;
    if (std::sscanf(entry->d_name, "cm.%4x.%5u", &port_space, &port) != 2 || port > 0xFFFF) continue;
    const cm::ServiceId service =
        cm::service_of(static_cast<uint16_t>(port_space), static_cast<uint16_t>(port));
    // Only what is called so by us: "cm.0106.7.bak" is somebody's.
    if (name_of(service) == entry->d_name) services.push_back(service);
  }
  closedir(listing);
  return services;
}

// Locked while a file is changed. Readers need not: a file is replaced as a whole.
std::string lock_file(const std::string& run_directory) {
  return run_directory + "/cm.lock";
}

bool may_share(const PortRegistry::Binding& a, const PortRegistry::Binding& b) {
  return a.shared && b.shared && !a.listening && !b.listening;
}

}  // namespace

PortRegistry::PortRegistry(const std::string& run_directory, uint32_t slot, uint32_t device)
    : run_directory_(run_directory), slot_(slot), device_(device) {
  SlotInfo info;
  if (read_slot(run_directory, slot, &info)) incarnation_ = info.incarnation;
  remove_files_of_the_dead();
}

void PortRegistry::remove_files_of_the_dead() const {
  const FileLock lock(lock_file(run_directory_));
  bool foreign;
  for (const cm::ServiceId service : services_in(run_directory_))
    if (read(service, &foreign).empty() && !foreign) write(service, {});
}

// All files at once: whoever asks for many ports must not make us open a file for each.
void PortRegistry::look_around(Nanoseconds now) const {
  if (now < known_until_) return;
  const bool changed_lately = !settled(run_directory_, &changed_at_);
  if (known_until_ != 0 && !changed_lately && now < unchanged_until_) {
    known_until_ = now + kLookInterval;
    return;
  }
  known_until_ = now + kLookInterval;
  unchanged_until_ = changed_lately ? 0 : now + kUnchangedInterval;
  known_.clear();
  for (const cm::ServiceId service : services_in(run_directory_))
    if (std::vector<Line> lines = read(service); !lines.empty()) known_[service] = std::move(lines);
}

std::string PortRegistry::file_of(cm::ServiceId service) const {
  return run_directory_ + "/" + name_of(service);
}

bool PortRegistry::ours(const Line& line, const Binding& binding) const {
  return line.slot == slot_ && line.incarnation == incarnation_ &&
         same_address(line.binding.address, binding.address);
}

// --- the file: "slot incarnation listening shared any v6 only_v6 address device", a line each ---

std::vector<PortRegistry::Line> PortRegistry::read(cm::ServiceId service, bool* foreign) const {
  std::vector<Line> lines;
  bool ignored = false;
  bool& strange = foreign != nullptr ? *foreign : ignored;
  strange = false;
  const FilePointer file = open_file(file_of(service), O_RDONLY, "r");
  if (file == nullptr) return lines;
  char text[160];
  while (std::fgets(text, sizeof text, file.get()) != nullptr) {
    Line line;
    unsigned long long incarnation = 0;
    int flags[5];
    char address[64];
    if (std::sscanf(text, "%u %llx %d %d %d %d %d %63s %u", &line.slot, &incarnation, &flags[0], &flags[1],
                    &flags[2], &flags[3], &flags[4], address, &line.device) != 9) {
      strange = true;
      continue;
    }
    line.incarnation = incarnation;
    line.binding.service = service;
    line.binding.listening = flags[0] != 0;
    line.binding.shared = flags[1] != 0;
    line.binding.address.any = flags[2] != 0;
    line.binding.address.is_v6 = flags[3] != 0;
    line.binding.address.only_v6 = flags[4] != 0;
    if (inet_pton(AF_INET6, address, line.binding.address.address.bytes.data()) != 1) continue;
    SlotInfo info;
    if (line.slot < 1 || line.slot > kSlotMax) continue;
    if (read_slot(run_directory_, line.slot, &info) && info.incarnation == line.incarnation)
      lines.push_back(line);
  }
  return lines;
}

int PortRegistry::write(cm::ServiceId service, const std::vector<Line>& lines) const {
  known_until_ = 0;
  const std::string path = file_of(service);
  if (lines.empty()) return remove_private_file(path) ? 0 : EEXIST;
  // A name that is taken by something else stays what it is.
  if (access(path.c_str(), F_OK) == 0 && !is_private_file(path)) return EEXIST;
  const std::string fresh = run_directory_ + "/cm.new";
  remove_private_file(fresh);  // of one that was killed
  FilePointer file = open_file(fresh, O_WRONLY | O_CREAT | O_EXCL, "w");
  if (file == nullptr) return errno;
  for (const Line& line : lines) {
    const Binding& b = line.binding;
    std::fprintf(file.get(), "%u %llx %d %d %d %d %d %s %u\n", line.slot,
                 static_cast<unsigned long long>(line.incarnation), b.listening, b.shared, b.address.any,
                 b.address.is_v6, b.address.only_v6, text_of(b.address.address).c_str(), line.device);
  }
  // On a full disk the old file stays.
  const bool written = std::ferror(file.get()) == 0;
  if (std::fclose(file.release()) == 0 && written && rename(fresh.c_str(), path.c_str()) == 0) return 0;
  const int error = errno != 0 ? errno : EIO;
  unlink(fresh.c_str());
  return error;
}

// --- what ids do ---

int PortRegistry::add(const Binding& binding) {
  const FileLock lock(lock_file(run_directory_));
  if (lock.error() != 0) return lock.error();
  std::vector<Line> lines = read(binding.service);
  for (const Line& other : lines)
    if (conflict(other, binding) && !may_share(other.binding, binding)) return EADDRINUSE;
  lines.push_back({slot_, incarnation_, device_, binding});
  if (const int error = write(binding.service, lines); error != 0) return error;
  own_.push_back(binding);
  return 0;
}

int PortRegistry::listen(const Binding& binding) {
  const FileLock lock(lock_file(run_directory_));
  if (lock.error() != 0) return lock.error();
  std::vector<Line> lines = read(binding.service);
  Line* own = nullptr;
  for (Line& line : lines) {
    if (own == nullptr && ours(line, binding) && !line.binding.listening)
      own = &line;
    else if (conflict(line, binding))
      return EADDRINUSE;
  }
  if (own == nullptr) return ENOENT;
  own->binding.listening = true;
  return write(binding.service, lines);
}

void PortRegistry::stop_listening(const Binding& binding) {
  const FileLock lock(lock_file(run_directory_));
  std::vector<Line> lines = read(binding.service);
  for (Line& line : lines)
    if (ours(line, binding)) line.binding.listening = false;
  write(binding.service, lines);
}

void PortRegistry::remove(const Binding& binding) {
  const FileLock lock(lock_file(run_directory_));
  std::vector<Line> lines = read(binding.service);
  // Of several that share it, one goes; one that listens is alone.
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return ours(line, binding); });
  if (found == lines.end()) return;
  lines.erase(found);
  write(binding.service, lines);
  const auto own = std::find_if(own_.begin(), own_.end(), [&](const Binding& b) {
    return b.service == binding.service && same_address(b.address, binding.address);
  });
  if (own != own_.end()) own_.erase(own);
}

void PortRegistry::remove_all() {
  for (const Binding& binding : std::exchange(own_, {})) remove(binding);
}

uint32_t PortRegistry::find_listener(cm::ServiceId service, const IpAddress& address, uint32_t device,
                                     Nanoseconds now) const {
  look_around(now);
  const auto found = known_.find(service);
  if (found == known_.end()) return 0;
  uint32_t any = 0;
  for (const Line& line : found->second) {
    const Binding& binding = line.binding;
    if (line.device != device || !binding.listening || !binding.address.accepts(address)) continue;
    if (!binding.address.any) return line.slot;
    any = line.slot;
  }
  return any;
}

bool PortRegistry::in_use(cm::ServiceId service) const {
  return !read(service).empty();
}

}  // namespace mrc::provider
