// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/descriptor_message.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mrc {
namespace {

constexpr size_t kSentDescriptors = 2;
// More than is asked for, so that what somebody else sends is closed and not left behind.
constexpr size_t kTakenDescriptorsMax = 16;

struct TakenDescriptors {
  int fds[kTakenDescriptorsMax];
  size_t count = 0;
};

void take_ancillary(msghdr* header, TakenDescriptors* taken, MessageFacts* facts) {
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      facts->sender = sender.uid;
    } else if (part->cmsg_type == SCM_RIGHTS) {
      const size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      const size_t kept = std::min(here, kTakenDescriptorsMax - taken->count);
      std::memcpy(taken->fds + taken->count, CMSG_DATA(part), kept * sizeof(int));
      taken->count += kept;
    }
  }
}

}  // namespace

DescriptorPair::~DescriptorPair() {
  if (arena >= 0) close(arena);
  if (bells >= 0) close(bells);
}

void DescriptorPair::take_from(DescriptorPair& other) {
  std::swap(arena, other.arena);
  std::swap(bells, other.bells);
}

bool send_message(int socket, const sockaddr* to, socklen_t to_bytes, const void* text, size_t bytes,
                  const SentPair* pair) {
  iovec part_of_text{const_cast<void*>(text), bytes};
  alignas(cmsghdr) char beside[CMSG_SPACE(kSentDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_name = const_cast<sockaddr*>(to);
  header.msg_namelen = to_bytes;
  header.msg_iov = &part_of_text;
  header.msg_iovlen = 1;
  if (pair != nullptr) {
    header.msg_control = beside;
    header.msg_controllen = sizeof beside;
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(kSentDescriptors * sizeof(int));
    const int numbers[kSentDescriptors] = {pair->arena, pair->bells};
    std::memcpy(CMSG_DATA(part), numbers, sizeof numbers);
  }
  return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

ssize_t receive_message(int socket, void* text, size_t bytes, DescriptorPair* pair, MessageFacts* facts) {
  iovec part_of_text{text, bytes};
  alignas(cmsghdr) char beside[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kTakenDescriptorsMax * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part_of_text;
  header.msg_iovlen = 1;
  header.msg_control = beside;
  header.msg_controllen = sizeof beside;
  *facts = {};
  const ssize_t received = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0) return received;
  TakenDescriptors taken;
  take_ancillary(&header, &taken, facts);
  facts->whole = (taken.count == 0 || taken.count == kSentDescriptors) &&
                 (header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0;
  if (facts->whole && taken.count == kSentDescriptors) {
    pair->arena = taken.fds[0];
    pair->bells = taken.fds[1];
  } else {
    for (size_t i = 0; i < taken.count; ++i) close(taken.fds[i]);
  }
  return received;
}

}  // namespace mrc
