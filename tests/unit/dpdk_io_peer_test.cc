// SPDX-License-Identifier: BSD-2-Clause
// The test program of dpdk_io: started with "--peer <role> ..." it is one of the other processes that the
// tests need, else it runs the tests.
#include "dpdk_io_peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <thread>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/loaded_library.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/host/run_directory.h"
#include "examples/shared/patience.h"
#include "libmrc/port/station.h"
#include "libmrc/wire/frame.h"

namespace mrc::test {

double seconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

namespace {

std::vector<std::string> list(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(directory);
  return names;
}

}  // namespace

RunDirectory::RunDirectory() {
  char name[] = "mrc-run-XXXXXX";
  char here[4096];
  if (mkdtemp(name) == nullptr || getcwd(here, sizeof here) == nullptr) std::abort();
  path_ = std::string(here) + "/" + name;
  setenv("MRC_RUNDIR", path_.c_str(), 1);
}

RunDirectory::~RunDirectory() {
  for (const std::string& name : list(path_)) unlink((path_ + "/" + name).c_str());
  rmdir(path_.c_str());
  unsetenv("MRC_RUNDIR");
}

std::vector<std::string> RunDirectory::all() const {
  return list(path_);
}

std::vector<std::string> RunDirectory::leftovers() const {
  std::vector<std::string> names = list(path_);
  std::erase(names, "faults");
  std::erase(names, "groups");
  std::erase(names, "last_slot");
  return names;
}

void RunDirectory::set_last_slot(uint32_t slot) const {
  FILE* file = std::fopen((path_ + "/last_slot").c_str(), "w");
  std::fprintf(file, "%u\n", slot);
  std::fclose(file);
  chmod((path_ + "/last_slot").c_str(), 0600);
}

Peer::Peer(const std::vector<std::string>& role_and_arguments,
           const std::map<std::string, std::string>& environment) {
  int to_peer[2], from_peer[2];
  if (pipe2(to_peer, O_CLOEXEC) != 0 || pipe2(from_peer, O_CLOEXEC) != 0) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_peer[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_peer[1], 1);
  std::vector<std::string> words = {"dpdk_io_test", "--peer"};
  words.insert(words.end(), role_and_arguments.begin(), role_and_arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  if (posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) != 0) std::abort();
  for (const auto& [name, value] : environment) unsetenv(name.c_str());
  posix_spawn_file_actions_destroy(&actions);
  close(to_peer[0]);
  close(from_peer[1]);
  input_ = to_peer[1];
  output_ = from_peer[0];
}

Peer::~Peer() {
  kill_now();
  close_input();
  close(output_);
}

std::string Peer::read_line() {
  std::string line;
  const double until = seconds_now() + 20 * kPatience;
  for (;;) {
    pollfd waited{output_, POLLIN, 0};
    const int left = static_cast<int>((until - seconds_now()) * 1000);
    char c;
    if (left <= 0 || poll(&waited, 1, left) <= 0 || read(output_, &c, 1) != 1) return {};
    if (c == '\n') return line;
    line += c;
  }
}

uint32_t Peer::read_number() {
  return static_cast<uint32_t>(std::strtoul(read_line().c_str(), nullptr, 10));
}

void Peer::write_line(const std::string& line) {
  const std::string text = line + "\n";
  if (write(input_, text.data(), text.size()) < 0) std::perror("write to peer");
}

void Peer::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void Peer::kill_now() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  wait_for_exit();
}

void Peer::kill_without_waiting() {
  kill(pid_, SIGKILL);
}

int Peer::wait_for_exit() {
  if (pid_ < 0) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Device::Device(uint32_t planes) {
  DeviceConfig config;
  config.planes = planes;
  std::string error;
  ports_ = DevicePorts::open(config, &error);
  if (ports_ == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::abort();
  }
  // As the provider does it: asleep until there is something to do.
  service_ = std::thread([this] {
    while (!stop_) {
      pollfd waited{ports_->event_fd(), POLLIN, 0};
      poll(&waited, 1, 20);
      ports_->service();
    }
  });
}

Device::~Device() {
  stop_ = true;
  service_.join();
}

bool Device::link_to(uint32_t slot, double seconds) {
  const double until = seconds_now() + seconds * kPatience;
  MacAddress next_hop;
  for (size_t plane = 0; plane < planes(); ++plane)
    if (!port(plane).resolve({}, first_qpn_of(slot), &next_hop)) return false;
  while (seconds_now() < until) {
    bool room = true;
    for (size_t plane = 0; plane < planes(); ++plane) {
      port(plane).resolve({}, first_qpn_of(slot), &next_hop);
      room = room && link().transmit_room(next_hop) > 0;
    }
    if (room) return true;
    sched_yield();
  }
  return false;
}

bool send_pattern(Device& device, size_t plane, uint32_t slot, uint32_t seed, uint32_t length) {
  const MacAddress next_hop = station_of(slot, static_cast<Plane>(plane));
  Carrier& link = device.link();
  if (link.transmit_room(next_hop) == 0) return false;
  TxFrame frame;
  if (link.acquire({&frame, 1}) != 1) return false;
  std::memcpy(frame.data, next_hop.bytes.data(), 6);
  frame.plane = static_cast<Plane>(plane);
  std::memcpy(frame.data + 12, &seed, 4);
  uint32_t state = seed * 2654435761u + length;
  for (uint32_t i = 16; i < length; ++i) {
    if (i % 4 == 0) state = state * 1664525u + 1013904223u;
    frame.data[i] = static_cast<uint8_t>(state >> i % 4 * 8);
  }
  frame.length = length;
  link.transmit({&frame, 1});
  return true;
}

bool check_pattern(const RxFrame& frame, uint32_t* seed) {
  if (frame.length < kPatternBytesMin) return false;
  std::memcpy(seed, frame.data + 12, 4);
  uint32_t state = *seed * 2654435761u + frame.length;
  for (uint32_t i = 16; i < frame.length; ++i) {
    if (i % 4 == 0) state = state * 1664525u + 1013904223u;
    if (frame.data[i] != static_cast<uint8_t>(state >> i % 4 * 8)) return false;
  }
  return true;
}

namespace {

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

bool input_closed() {
  pollfd waited{0, POLLIN, 0};
  char c;
  return poll(&waited, 1, 0) > 0 && read(0, &c, 1) <= 0;
}

// Claims a slot, says its number and keeps it.
int hold_slot() {
  std::string directory, error;
  if (!open_run_directory(&directory, &error)) {
    say(error);
    return 1;
  }
  const auto slot = ProcessSlot::claim(directory, 4, {}, &error);
  say(slot == nullptr ? error : std::to_string(slot->number()));
  while (!input_closed()) usleep(1000);
  return slot == nullptr ? 1 : 0;
}

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return written;
}

// A mount namespace of the own, with the user that it is.
bool enter_namespace() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", user + " " + user + " 1") &&
         write_file("/proc/self/gid_map", group + " " + group + " 1");
}

// The run directory becomes a disk without room, then one with room.
int full_disk() {
  const std::string directory = std::getenv("MRC_RUNDIR");
  if (!enter_namespace() || mount("none", directory.c_str(), "tmpfs", 0, "size=16k,mode=700") != 0) {
    say("no namespace");
    return 0;
  }
  const std::string filler = directory + "/filler";
  const int fd = open(filler.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  static const char bytes[1 << 16] = {};
  while (write(fd, bytes, sizeof bytes) > 0) {
  }
  say("full");
  std::string error;
  say(ProcessSlot::claim(directory, 4, {}, &error) != nullptr ? "a slot" : error);
  say(map_fault_page(directory, &error) != nullptr ? "a page" : error);
  static_cast<void>(!ftruncate(fd, 0));
  error.clear();
  const auto slot = ProcessSlot::claim(directory, 4, {}, &error);
  const bool good = slot != nullptr && map_fault_page(directory, &error) != nullptr;
  say("room again: " + (good ? "ok" : error));
  return 0;
}

// Sends one burst back to where it came from.
void echo_once(Carrier& link, std::deque<std::vector<uint8_t>>* held) {
  RxFrame frames[kBurst];
  const size_t count = link.receive(frames);
  for (size_t i = 0; i < count; ++i) held->emplace_back(frames[i].data, frames[i].data + frames[i].length);
  link.release({frames, count});
  while (!held->empty()) {
    const std::vector<uint8_t>& bytes = held->front();
    MacAddress back;
    std::memcpy(back.bytes.data(), bytes.data() + 6, 6);
    TxFrame frame;
    if (link.transmit_room(back) == 0 || link.acquire({&frame, 1}) != 1) return;
    std::memcpy(frame.data, bytes.data(), bytes.size());
    std::memcpy(frame.data, bytes.data() + 6, 6);
    frame.length = static_cast<uint32_t>(bytes.size());
    frame.plane = back.bytes[3];
    link.transmit({&frame, 1});
    held->pop_front();
  }
}

int echo(uint32_t planes) {
  Device device(planes);
  say(std::to_string(device.slot()));
  std::deque<std::vector<uint8_t>> held;
  for (unsigned round = 0; round % 256 != 0 || !input_closed(); ++round) {
    echo_once(device.link(), &held);
    sched_yield();
  }
  return 0;
}

// Wants a link for a second and closes its device.
int try_to_link(uint32_t slot) {
  {
    Device device;
    say(std::to_string(device.slot()));
    say(device.link_to(slot, 1) ? "linked" : "no link");
  }
  say("closed");
  return 0;
}

// Sends to a slot on all planes as fast as it can, and takes what comes, until it is killed.
int flood(uint32_t slot) {
  Device device;
  if (!device.link_to(slot)) return 1;
  say(std::to_string(device.slot()));
  for (uint32_t seed = 0;; ++seed) {
    for (size_t plane = 0; plane < device.planes(); ++plane) {
      for (int i = 0; i < 8; ++i) send_pattern(device, plane, slot, seed, 60 + seed % 4000);
      RxFrame frames[kBurst];
      device.link().release({frames, device.link().receive(frames)});
    }
    sched_yield();
  }
}

// Sends some frames and leaves at once, in good order.
int send_and_leave(uint32_t slot, uint32_t count) {
  Device device;
  if (!device.link_to(slot)) return 1;
  for (uint32_t seed = 0; seed < count;)
    if (send_pattern(device, seed % device.planes(), slot, seed, 1000))
      ++seed;
    else
      sched_yield();
  return 0;
}

void some_handler(int) {}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  return variables;
}

std::map<int, std::string> open_files() {
  std::map<int, std::string> files;
  for (const std::string& number : list("/proc/self/fd")) {
    char name[256] = {};
    if (readlink(("/proc/self/fd/" + number).c_str(), name, sizeof name - 1) > 0)
      files[std::stoi(number)] = name;
  }
  return files;
}

// EAL must leave the affinity, the signals and the environment of whoever starts it alone, and leave nothing
// open across exec.
int check_start() {
  const std::vector<std::string> variables = environment();
  const auto files = open_files();
  cpu_set_t before, after;
  CPU_ZERO(&before);
  sched_getaffinity(0, sizeof before, &before);
  signal(SIGUSR1, some_handler);
  sigset_t mask_before, mask_after;
  sigemptyset(&mask_before);
  sigaddset(&mask_before, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  struct sigaction handlers[32] = {};
  for (int number = 1; number < 32; ++number) sigaction(number, nullptr, &handlers[number]);
  std::string error;
  if (!start_eal(&error) || !start_eal(&error)) {
    say(error);
    return 1;
  }
  CPU_ZERO(&after);
  sched_getaffinity(0, sizeof after, &after);
  if (!CPU_EQUAL(&before, &after)) return 2;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  for (int number = 1; number < 32; ++number) {
    if (sigismember(&mask_before, number) != sigismember(&mask_after, number)) return 3;
    struct sigaction handler = {};
    sigaction(number, nullptr, &handler);
    if (handler.sa_handler != handlers[number].sa_handler) return 4;
  }
  if (environment() != variables) return 5;
  if (find_loaded_library("librte_bus_vdev.so") == nullptr) return 6;
  for (const auto& [fd, name] : open_files()) {
    if (files.contains(fd) || (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 || fcntl(fd, F_GETFD) < 0) continue;
    say(name);
    return 7;
  }
  return 0;
}

// 20 frames to the own process.
bool loop_works(Device& device) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const size_t plane = seed % device.planes();
    if (!send_pattern(device, plane, device.slot(), seed, 500)) return false;
    RxFrame frame;
    uint32_t got = 0;
    if (device.link().receive({&frame, 1}) != 1 || !check_pattern(frame, &got) || got != seed) return false;
    if (frame.plane != plane) return false;
    device.link().release({&frame, 1});
  }
  return true;
}

// Nothing that was opened here goes on to programs that the application starts. Says what does.
int check_exec(uint32_t slot) {
  const auto before = open_files();
  Device device;
  if (!device.link_to(slot)) return 1;
  for (const auto& [fd, name] : open_files())
    if (!before.contains(fd) && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0 && fcntl(fd, F_GETFD) >= 0) say(name);
  say("all");
  return 0;
}

int in_forked_child_of(Device& device) {
  // It sees a dead device, and does its parent no harm.
  RxFrame received;
  TxFrame sent;
  if (device.link().receive({&received, 1}) != 0 || device.link().acquire({&sent, 1}) != 0) return 1;
  DeviceConfig config;
  std::string error;
  if (DevicePorts::open(config, &error) != nullptr || error.find("fork") == std::string::npos) return 2;
  device.ports().service();
  return 0;
}

int check_fork() {
  auto* device = new Device;
  if (!loop_works(*device)) return 1;
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(in_forked_child_of(*device));
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 10 + WEXITSTATUS(status);
    if (!loop_works(*device)) return 3;
  }
  delete device;
  return 0;
}

}  // namespace

int run_role(const std::vector<std::string>& arguments) {
  const auto number = [&](size_t i) { return static_cast<uint32_t>(std::stoul(arguments.at(i))); };
  const std::string& role = arguments.at(0);
  if (role == "hold_slot") return hold_slot();
  if (role == "full_disk") return full_disk();
  if (role == "echo") return echo(number(1));
  if (role == "try_to_link") return try_to_link(number(1));
  if (role == "flood") return flood(number(1));
  if (role == "send_and_leave") return send_and_leave(number(1), number(2));
  if (role == "check_start") return check_start();
  if (role == "check_exec") return check_exec(number(1));
  if (role == "check_fork") return check_fork();
  return 99;
}

}  // namespace mrc::test

#if defined(__SANITIZE_THREAD__)
// The locks inside DPDK are not visible to the thread sanitizer.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:librte_eal.so\n";
}
#endif

int main(int count, char** words) {
  if (count > 2 && std::strcmp(words[1], "--peer") == 0) {
    const int code = mrc::test::run_role(std::vector<std::string>(words + 2, words + count));
    std::fflush(stdout);
    _exit(code);  // fifty leak checkers at once would take minutes
  }
  testing::InitGoogleTest(&count, words);
  return RUN_ALL_TESTS();
}
