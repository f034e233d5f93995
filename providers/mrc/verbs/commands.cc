// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/commands.h"

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

#include "providers/mrc/presence/address.h"
#include "providers/mrc/presence/gid_table.h"
#include "providers/mrc/presence/limits.h"

namespace mrc::provider {
namespace {

const ib_uverbs_attr* find_attribute(const ib_uverbs_ioctl_hdr& header, unsigned id) {
  for (unsigned i = 0; i < header.num_attrs; ++i)
    if (header.attrs[i].attr_id == id) return &header.attrs[i];
  return nullptr;
}

// There are none yet; a kernel refuses what it does not know.
bool has_flags(const ib_uverbs_ioctl_hdr& header, unsigned id) {
  const ib_uverbs_attr* flags = find_attribute(header, id);
  return flags != nullptr && flags->data != 0;
}

// Addresses are the caller's own and cannot be looked into, but for this one.
bool is_nowhere(const ib_uverbs_attr& answer) {
  return answer.data == 0;
}

ibv_gid_entry entry_of(const GidTable& table, size_t index) {
  ibv_gid_entry entry{};
  std::memcpy(entry.gid.raw, table.entries[index].gid.bytes.data(), sizeof entry.gid.raw);
  entry.gid_index = static_cast<uint32_t>(index);
  entry.port_num = limits::kPort;
  entry.gid_type = IBV_GID_TYPE_ROCE_V2;
  entry.ndev_ifindex = table.entries[index].interface_index;
  return entry;
}

int query_gid_entry(const DeviceConfig& device, const ib_uverbs_ioctl_hdr& header) {
  const auto* port = find_attribute(header, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
  const auto* index = find_attribute(header, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
  const auto* answer = find_attribute(header, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY);
  if (port == nullptr || index == nullptr || answer == nullptr || port->data != limits::kPort) return -EINVAL;
  if (has_flags(header, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS)) return -EINVAL;
  if (is_nowhere(*answer)) return -EFAULT;
  const GidTable table = read_gid_table(device);
  if (index->data >= limits::kGids) return -EINVAL;
  if (index->data >= table.entries.size()) return -ENODATA;  // a free one
  const ibv_gid_entry entry = entry_of(table, index->data);
  std::memcpy(pointer_at(answer->data), &entry, std::min<size_t>(answer->len, sizeof entry));
  return 0;
}

int query_gid_table(const DeviceConfig& device, const ib_uverbs_ioctl_hdr& header) {
  const auto* entry_bytes = find_attribute(header, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
  const auto* answer = find_attribute(header, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
  const auto* count = find_attribute(header, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES);
  if (entry_bytes == nullptr || entry_bytes->data == 0 || answer == nullptr || count == nullptr)
    return -EINVAL;
  if (has_flags(header, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS)) return -EINVAL;
  if (count->len != sizeof(uint64_t)) return -EINVAL;
  const GidTable table = read_gid_table(device);
  const size_t stride = entry_bytes->data;
  if (answer->len / stride < table.entries.size()) return -EINVAL;
  if (is_nowhere(*answer) || is_nowhere(*count)) return -EFAULT;
  auto* out = static_cast<uint8_t*>(pointer_at(answer->data));
  for (size_t i = 0; i < table.entries.size(); ++i) {
    const ibv_gid_entry entry = entry_of(table, i);
    std::memset(out + i * stride, 0, stride);
    std::memcpy(out + i * stride, &entry, std::min(stride, sizeof entry));
  }
  const uint64_t entries = table.entries.size();
  std::memcpy(pointer_at(count->data), &entries, sizeof entries);
  return 0;
}

// The answer is in the attribute itself.
int tell_async_fd(ib_uverbs_ioctl_hdr& header, int fd) {
  for (unsigned i = 0; i < header.num_attrs; ++i) {
    if (header.attrs[i].attr_id != UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE) continue;
    header.attrs[i].data = static_cast<uint64_t>(fd);
    return 0;
  }
  return -EINVAL;
}

}  // namespace

ssize_t Commands::on_write(const void* command, size_t bytes) {
  struct Request {
    ib_uverbs_cmd_hdr header;
    ib_uverbs_create_comp_channel channel;
  } request;
  if (bytes < sizeof request.header) return -EINVAL;
  std::memcpy(&request, command, std::min(bytes, sizeof request));
  if (request.header.command != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) return -EOPNOTSUPP;
  // As the kernel does: the command says how long it is, and how much room there is for the answer.
  constexpr size_t kWordBytes = 4;
  ib_uverbs_create_comp_channel_resp answer{};
  if (bytes < sizeof request || request.header.in_words * kWordBytes != bytes) return -EINVAL;
  if (request.header.out_words * kWordBytes < sizeof answer) return -ENOSPC;
  if (request.channel.response == 0) return -EFAULT;
  const int fd = create_channel();
  if (fd < 0) return fd;
  answer.fd = static_cast<uint32_t>(fd);
  std::memcpy(pointer_at(request.channel.response), &answer, sizeof answer);
  return static_cast<ssize_t>(bytes);
}

int Commands::on_ioctl(unsigned long request, void* argument) {
  if (request != RDMA_VERBS_IOCTL) return -ENOTTY;
  if (argument == nullptr) return -EFAULT;
  auto& header = *static_cast<ib_uverbs_ioctl_hdr*>(argument);
  if (header.length != sizeof header + header.num_attrs * sizeof header.attrs[0]) return -EINVAL;
  if (header.object_id == UVERBS_OBJECT_ASYNC_EVENT && header.method_id == UVERBS_METHOD_ASYNC_EVENT_ALLOC &&
      async_fd_ >= 0)
    return tell_async_fd(header, async_fd_);
  try {
    const DeviceConfig& device = device_ != nullptr ? *device_ : device_settings();
    if (header.object_id == UVERBS_OBJECT_DEVICE && header.method_id == UVERBS_METHOD_QUERY_GID_ENTRY)
      return query_gid_entry(device, header);
    if (header.object_id == UVERBS_OBJECT_DEVICE && header.method_id == UVERBS_METHOD_QUERY_GID_TABLE)
      return query_gid_table(device, header);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return -EPROTONOSUPPORT;
}

int Commands::create_channel() {
  try {
    auto channel = std::make_shared<CompletionChannel>();
    if (const int result = channel->events().open(); result != 0) return -result;
    const int fd = channel->events().application_fd();
    std::lock_guard lock(mutex_);
    std::erase_if(channels_, [](const auto& old) { return old->events().abandoned(); });
    channels_.push_back(std::move(channel));
    return fd;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

std::shared_ptr<CompletionChannel> Commands::find_channel(int fd) {
  std::lock_guard lock(mutex_);
  // From the newest on: an abandoned channel may have had the same number.
  for (auto channel = channels_.rbegin(); channel != channels_.rend(); ++channel)
    if ((*channel)->events().application_fd() == fd) return *channel;
  return nullptr;
}

}  // namespace mrc::provider
