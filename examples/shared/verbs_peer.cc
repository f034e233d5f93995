// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/verbs_peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "examples/shared/patience.h"

namespace verbs_test {
namespace {

pid_t started_peer = 0;
Clock::time_point deadline = Clock::time_point::max();
std::string deadline_what;
const char* role_name = "";

// A process that hangs inside a library call never comes to check_deadline(): the alarm is for that.
constexpr unsigned kAlarmGraceSeconds = 5;
void on_alarm(int /*signal*/) {
  constexpr char kText[] = "FAILED: stuck in a call long after the deadline\n";
  // Only what is safe in a signal handler.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  if (started_peer > 0) ::kill(started_peer, SIGKILL);
  ::_exit(1);
}

void wait_for_socket(int socket, short events) {
  for (;;) {
    check_deadline();
    pollfd poller{socket, events, 0};
    if (::poll(&poller, 1, 100) > 0) return;
  }
}

// A client that this process starts comes from this host; any other may come from anywhere.
int listen_on(in_addr_t from, uint16_t port, uint16_t* chosen) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(from);
  socklen_t length = sizeof address;
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    fail("cannot listen on TCP port %u: %s", port, std::strerror(errno));
  *chosen = ntohs(address.sin_port);
  return listener;
}

int accept_one(int listener) {
  wait_for_socket(listener, POLLIN);
  const int connected = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (connected < 0) fail("accept: %s", std::strerror(errno));
  ::close(listener);
  return connected;
}

int connect_to(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    fail("host %s is not known", host.c_str());
  for (;;) {  // the server may come later
    const int connected = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(connected, found->ai_addr, found->ai_addrlen) == 0) {
      ::freeaddrinfo(found);
      return connected;
    }
    ::close(connected);
    check_deadline();
    ::usleep(20'000);
  }
}

pid_t start_client(uint16_t port, const std::vector<std::string>& extra) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe"), "--client", "127.0.0.1",
                                    "--port", std::to_string(port)};
  words.insert(words.end(), extra.begin(), extra.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) fail("fork: %s", std::strerror(errno));
  if (child == 0) {
    // The client must not outlive a server that was killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  x ^= x >> 29;
  return x;
}

// The eight bytes of a stream at 8 * index.
uint64_t word(uint64_t stream, uint64_t index) {
  return mix((index + 1) * 0x9E3779B97F4A7C15u ^ stream);
}

uint64_t stream_key(uint64_t stream) {
  return mix(mix(stream + 0x2545F4914F6CDD1Du));
}

}  // namespace

void fail(const char* format, ...) {
  std::fflush(stdout);
  std::fprintf(stderr, "FAILED (%s): ", role_name);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  if (started_peer > 0) {
    ::kill(started_peer, SIGKILL);
    ::waitpid(started_peer, nullptr, 0);
  }
  // Not exit(): verbs objects of the failed run would be torn down in the wrong order.
  ::_exit(1);
}

void set_deadline(std::chrono::milliseconds limit, const std::string& what) {
  limit *= kPatience;
  deadline = Clock::now() + limit;
  deadline_what = what;
  std::signal(SIGALRM, on_alarm);
  ::alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(limit).count()) + kAlarmGraceSeconds);
}

void check_deadline() {
  if (Clock::now() > deadline) fail("deadline passed: %s", deadline_what.c_str());
}

Peer::Peer(const PeerOptions& options, const std::vector<std::string>& client_arguments) {
  role_ = options.mode == PeerOptions::Mode::kClient ? Role::kClient : Role::kServer;
  role_name = role_ == Role::kClient ? "client" : "server";
  if (role_ == Role::kClient) {
    socket_ = connect_to(options.host, options.port);
  } else {
    uint16_t port = 0;
    const bool own_client = options.mode == PeerOptions::Mode::kSelf;
    const int listener = listen_on(own_client ? INADDR_LOOPBACK : INADDR_ANY, options.port, &port);
    if (options.mode == PeerOptions::Mode::kSelf) started_peer = start_client(port, client_arguments);
    socket_ = accept_one(listener);
  }
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Peer::~Peer() {
  if (socket_ >= 0) ::close(socket_);
}

void Peer::send(const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    wait_for_socket(socket_, POLLOUT);
    const ssize_t sent = ::send(socket_, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) fail("the other side is gone: %s", std::strerror(errno));
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

void Peer::receive(void* data, size_t bytes) {
  auto* at = static_cast<uint8_t*>(data);
  while (bytes > 0) {
    wait_for_socket(socket_, POLLIN);
    const ssize_t received = ::recv(socket_, at, bytes, MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (received <= 0) fail("the other side is gone, see its message");
    at += received;
    bytes -= static_cast<size_t>(received);
  }
}

void Peer::barrier(uint32_t step) {
  const uint32_t theirs = exchange(step);
  if (theirs != step) fail("out of step with the other side: here %u, there %u", step, theirs);
}

void Peer::finish() {
  barrier(0xF1F1F1F1);
  if (started_peer <= 0) return;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(started_peer, &status, WNOHANG);
    if (ended == started_peer) break;
    check_deadline();
    ::usleep(5000);
  }
  started_peer = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the client ended with status 0x%x", status);
}

Device::Device(const std::string& name, int gid_index_) : gid_index(gid_index_) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) fail("ibv_get_device_list: %s", std::strerror(errno));
  for (int i = 0; i < count; ++i)
    if (name == ibv_get_device_name(list[i])) context = ibv_open_device(list[i]);
  if (context == nullptr)
    fail("device %s was not found or could not be opened (%d devices listed); run this under mrcrun",
         name.c_str(), count);
  ibv_free_device_list(list);
  if (ibv_query_device(context, &limits) != 0) fail("ibv_query_device");
  if (ibv_query_gid(context, 1, gid_index, &gid) != 0) fail("ibv_query_gid %d", gid_index);
  domain = ibv_alloc_pd(context);
  if (domain == nullptr) fail("ibv_alloc_pd: %s", std::strerror(errno));
}

Device::~Device() {
  if (ibv_dealloc_pd(domain) != 0) fail("ibv_dealloc_pd: something was not destroyed");
  if (ibv_close_device(context) != 0) fail("ibv_close_device");
}

Region::Region(ibv_pd* domain, void* start, size_t bytes, int access) {
  mr = ibv_reg_mr(domain, start, bytes, access);
  if (mr == nullptr) fail("ibv_reg_mr of %zu bytes, access 0x%x: %s", bytes, access, std::strerror(errno));
}

Region::~Region() {
  if (mr != nullptr && ibv_dereg_mr(mr) != 0) fail("ibv_dereg_mr");
}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(mr, other.mr);
  return *this;
}

Endpoint::Endpoint(const Device& device_, const EndpointOptions& options_)
    : device(device_), options(options_) {
  const int entries = static_cast<int>(options.send_entries + options.receive_entries);
  send_queue = ibv_create_cq(device.context, entries, nullptr, nullptr, 0);
  receive_queue =
      options.shared_queue ? send_queue : ibv_create_cq(device.context, entries, nullptr, nullptr, 0);
  if (send_queue == nullptr || receive_queue == nullptr) fail("ibv_create_cq: %s", std::strerror(errno));

  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = send_queue;
  init.recv_cq = receive_queue;
  init.sq_sig_all = options.signal_all ? 1 : 0;
  init.cap.max_send_wr = options.send_entries;
  init.cap.max_recv_wr = options.receive_entries;
  init.cap.max_send_sge = options.segments;
  init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = options.inline_bytes;
  qp = ibv_create_qp(device.domain, &init);
  if (qp == nullptr && options.inline_bytes > 0) {  // a device need not offer inline data
    init.cap.max_inline_data = 0;
    qp = ibv_create_qp(device.domain, &init);
  }
  if (qp == nullptr) fail("ibv_create_qp: %s", std::strerror(errno));
  if (init.cap.max_send_wr < options.send_entries || init.cap.max_send_sge < options.segments)
    fail("ibv_create_qp gave less than was asked for");
  inline_bytes = init.cap.max_inline_data;
}

Endpoint::~Endpoint() {
  if (ibv_destroy_qp(qp) != 0) fail("ibv_destroy_qp");
  if (ibv_destroy_cq(send_queue) != 0) fail("ibv_destroy_cq");
  if (receive_queue != send_queue && ibv_destroy_cq(receive_queue) != 0) fail("ibv_destroy_cq");
}

void Endpoint::connect(Peer& peer, uint32_t psn) {
  const Address mine{qp->qp_num, psn & 0xFFFFFF, device.gid};
  const Address theirs = peer.exchange(mine);

  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qp_access_flags = static_cast<unsigned>(options.access);
  if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    fail("ibv_modify_qp to INIT");

  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = options.mtu;
  receive.dest_qp_num = theirs.qpn;
  receive.rq_psn = theirs.psn;
  receive.max_dest_rd_atomic = options.reads;
  receive.min_rnr_timer = 12;
  receive.ah_attr.is_global = 1;
  receive.ah_attr.port_num = 1;
  receive.ah_attr.grh.dgid = theirs.gid;
  receive.ah_attr.grh.sgid_index = static_cast<uint8_t>(device.gid_index);
  receive.ah_attr.grh.hop_limit = 64;
  if (ibv_modify_qp(qp, &receive,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    fail("ibv_modify_qp to RTR");

  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = mine.psn;
  send.timeout = options.timeout;
  send.retry_cnt = 7;
  send.rnr_retry = options.rnr_retry;
  send.max_rd_atomic = options.reads;
  if (ibv_modify_qp(qp, &send,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    fail("ibv_modify_qp to RTS");
  peer.barrier(mine.qpn ^ theirs.qpn);  // both are ready to receive before anyone sends
}

ibv_qp_state Endpoint::state() const {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  if (ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init) != 0) fail("ibv_query_qp");
  return attributes.qp_state;
}

ibv_wc wait_completion(ibv_cq* queue) {
  ibv_wc completion{};
  for (;;) {
    const int count = ibv_poll_cq(queue, 1, &completion);
    if (count < 0) fail("ibv_poll_cq: %d", count);
    if (count == 1) return completion;
    check_deadline();
  }
}

Buffer::Buffer(size_t bytes_) : bytes(bytes_) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) fail("no memory for %zu bytes", bytes);
  data = static_cast<uint8_t*>(mapped);
}

Buffer::~Buffer() {
  ::munmap(data, bytes);
}

void fill(uint8_t* data, size_t bytes, uint64_t stream, uint64_t offset) {
  const uint64_t key = stream_key(stream);
  size_t done = 0;
  while (done < bytes) {
    const uint64_t value = word(key, (offset + done) / 8);
    const size_t skip = (offset + done) % 8;
    const size_t count = std::min<size_t>(8 - skip, bytes - done);
    std::memcpy(data + done, reinterpret_cast<const uint8_t*>(&value) + skip, count);
    done += count;
  }
}

size_t first_difference(const uint8_t* data, size_t bytes, uint64_t stream, uint64_t offset) {
  const uint64_t key = stream_key(stream);
  size_t done = 0;
  while (done < bytes) {
    const uint64_t value = word(key, (offset + done) / 8);
    const size_t skip = (offset + done) % 8;
    const size_t count = std::min<size_t>(8 - skip, bytes - done);
    const uint8_t* expected = reinterpret_cast<const uint8_t*>(&value) + skip;
    if (std::memcmp(data + done, expected, count) != 0) {
      while (data[done] == *expected) ++done, ++expected;
      return done;
    }
    done += count;
  }
  return bytes;
}

uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15u;
  return mix(mix(state_));
}

const char* option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  return nullptr;
}

bool flag(int argc, char** argv, const char* name) {
  return std::any_of(argv + 1, argv + argc,
                     [name](const char* word) { return std::strcmp(word, name) == 0; });
}

PeerOptions peer_options(int argc, char** argv) {
  PeerOptions options;
  if (flag(argc, argv, "--self")) options.mode = PeerOptions::Mode::kSelf;
  if (flag(argc, argv, "--server")) options.mode = PeerOptions::Mode::kServer;
  if (const char* host = option(argc, argv, "--client")) {
    options.mode = PeerOptions::Mode::kClient;
    options.host = host;
  }
  if (const char* port = option(argc, argv, "--port"))
    options.port = static_cast<uint16_t>(std::strtoul(port, nullptr, 10));
  return options;
}

uint64_t seed_option(int argc, char** argv) {
  if (const char* seed = option(argc, argv, "--seed")) return std::strtoull(seed, nullptr, 0);
  return static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'007u;
}

}  // namespace verbs_test
