// SPDX-License-Identifier: BSD-2-Clause
#include "peer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>

#include "raw_frames.h"

extern char** environ;

namespace conformance {
namespace {

constexpr int kPeerFd = 4;

template <typename T>
void tell_other(int fd, const T& message) {
  if (send(fd, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
    throw Failure("the other process cannot be told");
}

template <typename T>
T hear_other(int fd) {
  T message;
  if (!readable(fd, 40000)) throw Failure("the other process says nothing");
  if (recv(fd, &message, sizeof message, 0) != sizeof message) throw Failure("the other process is gone");
  return message;
}

// Starts this program in a role; gives our end of a socket to it.
int start_self(const char* role, pid_t* pid) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw Failure("no socket");
  std::string words[] = {"/proc/self/exe", role, std::to_string(kPeerFd)};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kPeerFd);
  const int error = posix_spawn(pid, words[0].c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return ends[0];
  close(ends[0]);
  throw Failure("the other process cannot be started");
}

}  // namespace

PeerProcess::PeerProcess() : fd_(start_self("--peer", &pid_)) {}

PeerProcess::~PeerProcess() {
  kill_now();
  close(fd_);
}

void PeerProcess::kill_now() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

PeerHello PeerProcess::connect(ibv_qp* qp, const Path& path) {
  const auto hello = hear_other<PeerHello>(fd_);
  bring_to(qp, IBV_QPS_RTS, hello.qpn, path);
  tell_other(fd_, PeerHello{qp->qp_num, 0, 0});
  hear_other<uint32_t>(fd_);  // it is ready
  return hello;
}

uint32_t PeerProcess::tell(PeerOrder order, uint32_t argument) {
  if (order == PeerOrder::kSend) need_messages();
  tell_other(fd_, PeerMessage{order, argument});
  return hear_other<uint32_t>(fd_);
}

// --- the other process ---

namespace {

// A queue pair for multicast groups.
struct Member {
  ibv_context* context;
  ibv_pd* pd;
  Side side = {};
  ibv_gid group = {};

  uint32_t join(uint32_t number) {
    side.send_cq = make_cq(64, nullptr, nullptr, context);
    side.receive_cq = make_cq(64, nullptr, nullptr, context);
    side.memory = Memory(pd, 4096);
    side.qp = make_qp(pd, qp_wanted(side.send_cq, side.receive_cq, IBV_QPT_UD));
    bring_to(side.qp, IBV_QPS_RTS);
    for (uint64_t id = 0; id < 16; ++id) CHECK_OK(post_receive(side.qp, id, {side.memory.piece(0, 1024)}));
    group = group_of(context, number);
    return static_cast<uint32_t>(ibv_attach_mcast(side.qp, &group, 0));
  }
  uint32_t send(uint32_t number) {
    ibv_ah_attr address = address_of_self(context);
    address.grh.dgid = group_of(context, number);
    Owned<ibv_ah> handle = own(ibv_create_ah(pd, &address), "ibv_create_ah");
    CHECK_OK(Request(IBV_WR_SEND).piece(side.memory, 1024, 64).to(handle, kAllMembers).post(side.qp));
    return static_cast<uint32_t>(await(side.send_cq).status);
  }
  uint32_t end() {
    CHECK_OK(ibv_detach_mcast(side.qp, &group, 0));
    side.qp.reset();
    return 0;
  }
  uint32_t count(uint32_t expected) {
    for (uint32_t i = 0; i < expected; ++i)
      if (await(side.receive_cq).status != IBV_WC_SUCCESS) return UINT32_MAX;
    expect_quiet(side.receive_cq);
    return expected;
  }
};

// A queue pair for whole frames.
struct RawPeer {
  ibv_context* context;
  std::optional<RawSide> side = {};
  Owned<ibv_flow> flow = {};

  RawSide& get() {
    if (!side) side.emplace(context);
    return *side;
  }
  uint32_t send(uint32_t kinds) {
    for (uint32_t kind = 0; kind < kFrameKinds; ++kind)
      if ((kinds >> kind & 1) != 0) get().send(make_frame(kind));
    return 0;
  }
  uint32_t hear() {
    flow = get().listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT));
    return 0;
  }
  uint32_t count(uint32_t expected) {
    uint32_t kinds = 0;
    for (const uint32_t kind : get().hear_kinds(expected)) kinds |= 1u << kind;
    return kinds;
  }
};

uint32_t obey(const PeerMessage& message, Side& side, Member& member, RawPeer& raw) {
  switch (message.order) {
    case PeerOrder::kSendFrames:
      return raw.send(message.argument);
    case PeerOrder::kHearFrames:
      return raw.hear();
    case PeerOrder::kCountFrames:
      return raw.count(message.argument);
    case PeerOrder::kJoin:
      return member.join(message.argument);
    case PeerOrder::kSendToGroup:
      return member.send(message.argument);
    case PeerOrder::kEndMember:
      return member.end();
    case PeerOrder::kCountDatagrams:
      return member.count(message.argument);
    case PeerOrder::kPostReceive:
      return static_cast<uint32_t>(post_receive(side.qp, 1, {side.memory.piece(0, message.argument)}));
    case PeerOrder::kAwaitReceive: {
      const ibv_wc completion = await(side.receive_cq);
      return completion.status == IBV_WC_SUCCESS ? completion.byte_len : UINT32_MAX;
    }
    case PeerOrder::kSend:
      CHECK_OK(Request(IBV_WR_SEND).piece(side.memory, 0, message.argument).post(side.qp));
      return static_cast<uint32_t>(await(side.send_cq).status);
    case PeerOrder::kSum:
      return std::accumulate(side.memory.data(), side.memory.data() + message.argument, 0u);
    default:
      return 0;
  }
}

int serve(int fd) {
  Owned<ibv_context> context = open_device();
  {
    Owned<ibv_pd> pd = make_pd(context);
    Side side;
    side.send_cq = make_cq(64, nullptr, nullptr, context);
    side.receive_cq = make_cq(64, nullptr, nullptr, context);
    side.memory = Memory(pd, PeerProcess::kBytes);
    side.qp = make_qp(pd, qp_wanted(side.send_cq, side.receive_cq));
    tell_other(fd, PeerHello{side.qp->qp_num, side.memory.mr->rkey, side.memory.address()});
    bring_to(side.qp, IBV_QPS_RTS, hear_other<PeerHello>(fd).qpn);
    tell_other(fd, uint32_t{0});
    Member member{context, pd};
    RawPeer raw{context};
    for (;;) {
      const auto message = hear_other<PeerMessage>(fd);
      if (message.order == PeerOrder::kLeave) _exit(0);  // with everything open
      if (message.order == PeerOrder::kClose) break;
      tell_other(fd, obey(message, side, member, raw));
    }
  }
  context.reset();
  tell_other(fd, uint32_t{0});
  return 0;
}

}  // namespace

int peer_main(int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  try {
    return serve(fd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the other process: %s\n", error.what());
    return 1;
  }
}

// --- orphans ---

int orphan_outcome() {
  pid_t pid = -1;
  const int fd = start_self("--orphan", &pid);
  waitpid(pid, nullptr, 0);  // the child is alone now
  uint32_t answer = UINT32_MAX;
  try {
    tell_other(fd, uint32_t{0});
    answer = hear_other<uint32_t>(fd);
  } catch (const Failure&) {
    close(fd);
    throw;
  }
  close(fd);
  return static_cast<int>(answer);
}

int orphan_main(int fd) {
  ibv_context* context = open_device().release();
  if (fork() != 0) _exit(0);
  alarm(50);  // the end of a process alone can take half a minute on a machine that is very busy
  hear_other<uint32_t>(fd);
  tell_other(fd, static_cast<uint32_t>(ibv_create_comp_channel(context) == nullptr));
  _exit(0);
}

}  // namespace conformance
