// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/share_client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dpdk_io/link/link_number.h"

namespace mrc {
namespace {

// A program that starts while mrcd is being restarted waits so long for it.
constexpr Nanoseconds kStartPatience = 3 * kSecond;
constexpr Nanoseconds kAnswerPatience = 15 * kSecond;
constexpr Nanoseconds kBackOffFirst = 10 * kMillisecond;
constexpr Nanoseconds kBackOffMax = 500 * kMillisecond;
constexpr Nanoseconds kStepInterval = 10 * kMillisecond;
constexpr useconds_t kStartTry = 20'000;
constexpr int kStartTries = 3;  // it may be restarted meanwhile

std::string text_of(int error) {
  switch (error) {
    case EPERM:
      return "it does not share its ports with this user; root can allow it with \"users\" in [mrcd] of its "
             "settings";
    case EDQUOT:
      return "this user has as many programs there as it allows one (mrcd --limit)";
    default:
      return std::strerror(error);
  }
}

}  // namespace

std::unique_ptr<ShareClient> ShareClient::connect(const std::string& path, std::string* error) {
  std::unique_ptr<ShareClient> client(new ShareClient(path));
  std::string why;
  if (client->wait_for_sharer(&why)) return client;
  *error = "mrc: mrcd, which shares the ports, is not at " + path + ": " + why +
           "; start it as root with these settings, or take share = \"mrcd\" out of them";
  return nullptr;
}

ShareClient::~ShareClient() {
  if (fd_ >= 0) close(fd_);
  if (events_fd_ >= 0) close(events_fd_);
}

bool ShareClient::wait_for_sharer(std::string* error) {
  const Nanoseconds until = monotonic_now() + kStartPatience;
  for (;;) {
    if (open_socket(error)) return true;
    const bool may_come = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    if (!may_come || monotonic_now() > until) return false;
    usleep(kStartTry);
  }
}

bool ShareClient::open_socket(std::string* error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    *error = std::strerror(errno);
    return false;
  }
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return true;
  const int why = errno;
  *error = std::strerror(why);
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  errno = why;
  return false;
}

// The next message of this type; all before it are let pass.
bool ShareClient::await(ShareMessage::Type type, ShareMessage* message, DescriptorPair* memory,
                        std::string* error) {
  const Nanoseconds until = monotonic_now() + kAnswerPatience;
  for (;;) {
    const ShareReceived received = receive_share_message(fd_, message, memory);
    if (received == ShareReceived::kMessage && message->type == type) return true;
    const Nanoseconds now = monotonic_now();
    if (received == ShareReceived::kEnd || now >= until) {
      *error = "mrc: mrcd at " + path_ +
               (now >= until ? " does not answer" : " has closed the connection; is it of this release?");
      return false;
    }
    if (received == ShareReceived::kMessage) continue;
    pollfd file{fd_, POLLIN, 0};
    poll(&file, 1, static_cast<int>((until - now) / kMillisecond) + 1);
  }
}

// False: mrcd is gone, or silent.
bool ShareClient::ask(const ShareMessage& question, const SentPair* with, ShareMessage* answer,
                      DescriptorPair* memory, std::string* error) {
  const auto wanted = question.type == ShareMessage::Type::kClaim ? ShareMessage::Type::kClaimed
                                                                  : ShareMessage::Type::kJoined;
  if (send_share_message(fd_, question, with)) return await(wanted, answer, memory, error);
  *error = "mrc: mrcd at " + path_ + ": " + std::strerror(errno);
  return false;
}

HostClaim ShareClient::claim(uint32_t slot, std::string* error) {
  ShareMessage question;
  question.slot = slot;
  question.token = token_;
  ShareMessage answer;
  DescriptorPair none;
  for (int tries = 1; !ask(question, nullptr, &answer, &none, error); ++tries)
    if (tries == kStartTries || !start_over(error)) return HostClaim::kError;
  if (answer.error == EBUSY) return HostClaim::kBusy;
  if (answer.error != 0) {
    *error = "mrc: mrcd at " + path_ + ": " + text_of(answer.error);
    return HostClaim::kError;
  }
  slot_ = slot;
  token_ = answer.token;
  return HostClaim::kTaken;
}

bool ShareClient::start_over(std::string* error) {
  close(std::exchange(fd_, -1));
  std::string why;
  if (wait_for_sharer(&why)) return true;
  *error = "mrc: mrcd at " + path_ + " has ended: " + why;
  return false;
}

bool ShareClient::start(ControlLoop& loop, uint32_t wanted, std::string* error) {
  incarnation_ = new_link_number();
  if (!link_.open({slot_, kPlanesMax, incarnation_}, error)) return false;
  ShareMessage answer;
  DescriptorPair memory;
  const SentPair ours = link_.memory();
  for (int tries = 1; !ask(join_question(), &ours, &answer, &memory, error); ++tries)
    if (tries == kStartTries || !start_over(error) || claim(slot_, error) != HostClaim::kTaken) return false;
  if (answer.error != 0 || !make_half(answer, memory)) {
    *error =
        "mrc: mrcd at " + path_ + " makes no link: " + text_of(answer.error != 0 ? answer.error : EINVAL);
    return false;
  }
  if ((wanted & ~ports_.shared) != 0) {
    *error = "mrc: mrcd at " + path_ + " shares no port of plane " +
             std::to_string(__builtin_ctz(wanted & ~ports_.shared)) +
             "; give it the same settings (MRC_CONFIG) as the program, and start it again";
    return false;
  }
  loop_ = &loop;
  events_fd_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  if (events_fd_ < 0 || epoll_ctl(events_fd_, EPOLL_CTL_ADD, fd_, &event) != 0 ||
      !loop.watch(events_fd_, [this](Nanoseconds now) { take_messages(now); })) {
    *error = std::string("mrc: no descriptor for the device's events: ") + std::strerror(errno) +
             "; raise the limit of open files (ulimit -n)";
    return false;
  }
  timer_ = loop.add_timer([this](Nanoseconds now) { step(now); });
  return true;
}

ShareMessage ShareClient::join_question() {
  ShareMessage question;
  question.type = ShareMessage::Type::kJoin;
  question.number = number_ = new_link_number();
  question.incarnation = incarnation_;
  return question;
}

bool ShareClient::make_half(const ShareMessage& message, const DescriptorPair& memory) {
  if (!link_.join(number_, {kSharerSlot, message.incarnation, message.number}, memory)) return false;
  ports_ = message.ports;
  state_ = State::kJoined;
  back_off_ = 0;
  return true;
}

// --- in the loop ---

void ShareClient::step(Nanoseconds now) {
  if (state_ == State::kAway && now >= next_try_) come_back(now);
  if (state_ == State::kAsked && now >= give_up_) go_away(now);
  set_timer(now);
}

void ShareClient::take_messages(Nanoseconds now) {
  while (fd_ >= 0) {
    ShareMessage message;
    DescriptorPair memory;
    const ShareReceived received = receive_share_message(fd_, &message, &memory);
    if (received == ShareReceived::kNothing) break;
    if (received == ShareReceived::kEnd || !take(message, memory)) go_away(now);
  }
  set_timer(now);
}

bool ShareClient::take(const ShareMessage& message, const DescriptorPair& memory) {
  switch (message.type) {
    case ShareMessage::Type::kClaimed:
      if (message.error != 0) return false;
      token_ = message.token;
      return true;
    case ShareMessage::Type::kJoined:
      if (state_ != State::kAsked || message.error != 0 || !make_half(message, memory)) return false;
      break;
    case ShareMessage::Type::kPorts:
      if (state_ == State::kJoined) ports_ = message.ports;
      break;
    default:
      return false;
  }
  if (changed_) changed_();
  return true;
}

void ShareClient::come_back(Nanoseconds now) {
  std::string ignored;
  ShareMessage question;
  question.slot = slot_;
  question.token = token_;
  epoll_event event{};
  event.events = EPOLLIN;
  const SentPair ours = link_.memory();
  if (open_socket(&ignored) && epoll_ctl(events_fd_, EPOLL_CTL_ADD, fd_, &event) == 0 &&
      send_share_message(fd_, question) && send_share_message(fd_, join_question(), &ours)) {
    state_ = State::kAsked;
    give_up_ = now + kAnswerPatience;
  } else {
    go_away(now);
  }
}

void ShareClient::go_away(Nanoseconds now) {
  const bool was_there = state_ == State::kJoined;
  if (fd_ >= 0) {
    epoll_ctl(events_fd_, EPOLL_CTL_DEL, fd_, nullptr);  // a child may still have it open
    close(std::exchange(fd_, -1));
  }
  state_ = State::kAway;
  back_off_ = std::clamp(2 * back_off_, kBackOffFirst, kBackOffMax);
  next_try_ = now + back_off_;
  if (!was_there) return;
  ports_.up = 0;
  if (changed_) changed_();  // nothing more is sent by the link
  link_.part();
}

void ShareClient::set_timer(Nanoseconds now) {
  loop_->set_timer(timer_, state_ == State::kJoined ? 0 : kStepInterval, now);
}

}  // namespace mrc
