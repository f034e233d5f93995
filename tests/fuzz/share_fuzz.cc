// SPDX-License-Identifier: BSD-2-Clause
// What programs may say to mrcd: messages of any length with any descriptors, of which none is left open, and
// frames of any kind, of which only those leave that come from this host and from a queue pair of the
// sender's.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "dpdk_io/share/frame_gate.h"
#include "dpdk_io/share/share_message.h"
#include "tests/fuzz/input.h"

namespace {

using namespace mrc;

constexpr uint32_t kSlot = 7;
constexpr size_t kDescriptorsMax = 8;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

int open_files() {
  int count = 0;
  for (int fd = 0; fd < 64; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

// As a hostile program would: what is sent has nothing to do with what is expected.
void send_anything(int socket, fuzz::Input& input) {
  std::vector<uint8_t> text(input.byte());
  ShareMessage good;
  const bool well_formed = (input.byte() & 1) != 0;
  good.type = static_cast<ShareMessage::Type>(input.byte() % 7);
  if (well_formed) text.resize(sizeof good);
  for (uint8_t& byte : text) byte = input.byte();
  if (well_formed) std::memcpy(text.data(), &good, offsetof(ShareMessage, slot));
  const size_t count = input.below(kDescriptorsMax + 1);
  std::array<int, kDescriptorsMax> descriptors;
  descriptors.fill(socket);
  alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof descriptors)> room{};
  iovec piece{text.data(), text.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (count > 0) {
    header.msg_control = room.data();
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(control), descriptors.data(), count * sizeof(int));
  }
  sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void try_messages(fuzz::Input& input) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets");
  const int before = open_files();
  for (uint32_t left = 1 + input.below(4); left > 0; --left) {
    send_anything(ends[0], input);
    ShareMessage message;
    DescriptorPair memory;
    if (receive_share_message(ends[1], &message, &memory) != ShareReceived::kMessage) continue;
    must(message.magic == ShareMessage::kMagic && message.version == ShareMessage::kVersion, "a message");
    must((memory.arena < 0) == (memory.bells < 0), "both descriptors or none");
  }
  must(open_files() == before, "descriptors are left open");
  close(ends[0]);
  close(ends[1]);
}

const IpAddress kHere = IpAddress::v4(10, 0, 0, 1);

void try_frame(const uint8_t* data, size_t bytes) {
  FrameGate gate({[](const IpAddress& address) { return address == kHere; },
                  [](Plane) -> std::optional<IpAddress> { return std::nullopt; }});
  const std::vector<uint8_t> frame(data,
                                   data + bytes);  // of its own, so that nothing beside it is read unseen
  if (!gate.lets_out(kSlot, 0, frame, kMillisecond)) return;
  // Neither IPv6, for this host has no such address, nor a way by SRv6, for nobody gave it one.
  constexpr size_t kType = 12, kSource = 26;
  constexpr uint8_t kOwnAddress[] = {10, 0, 0, 1};
  must(bytes >= kSource + 4 && frame[kType] == 0x08 && frame[kType + 1] == 0x00, "no frame of ours has left");
  must(std::memcmp(&frame[kSource], kOwnAddress, 4) == 0, "a frame with another's address has left");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes == 0) return 0;
  if ((data[0] & 1) != 0) {
    fuzz::Input input(data + 1, bytes - 1);
    try_messages(input);
  } else {
    try_frame(data + 1, bytes - 1);
  }
  return 0;
}
