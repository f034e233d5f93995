// SPDX-License-Identifier: BSD-2-Clause
// The command file's handler: what libibverbs would not write. Answers stay within what the command gives.
#include <gtest/gtest.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "providers/mrc/verbs/commands.h"

namespace mrc::provider {
namespace {

struct CreateChannel {
  ib_uverbs_cmd_hdr header{};
  ib_uverbs_create_comp_channel channel{};

  explicit CreateChannel(void* answer) {
    header.command = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL;
    header.in_words = sizeof *this / 4;
    header.out_words = sizeof(ib_uverbs_create_comp_channel_resp) / 4;
    channel.response = reinterpret_cast<uint64_t>(answer);
  }
};

TEST(Commands, AChannelIsMade) {
  Commands commands;
  std::array<uint8_t, 8> room{};  // at an odd place
  const CreateChannel command(room.data() + 1);
  ASSERT_EQ(commands.on_write(&command, sizeof command), static_cast<ssize_t>(sizeof command));
  int fd = -1;
  std::memcpy(&fd, room.data() + 1, sizeof fd);
  EXPECT_NE(commands.find_channel(fd), nullptr);
  EXPECT_EQ(close(fd), 0);
}

TEST(Commands, AWriteSaysHowLongItIsAndHowMuchRoomThereIs) {
  Commands commands;
  ib_uverbs_create_comp_channel_resp answer{77};
  CreateChannel command(&answer);
  command.header.in_words += 1;
  EXPECT_EQ(commands.on_write(&command, sizeof command), -EINVAL);
  command = CreateChannel(&answer);
  command.header.out_words = 0;
  EXPECT_EQ(commands.on_write(&command, sizeof command), -ENOSPC);
  command = CreateChannel(nullptr);
  EXPECT_EQ(commands.on_write(&command, sizeof command), -EFAULT);
  EXPECT_EQ(answer.fd, 77u);
}

// An ioctl() of attributes, in memory that ends where they do.
class Ioctl {
 public:
  explicit Ioctl(unsigned method) {
    header().object_id = UVERBS_OBJECT_DEVICE;
    header().method_id = static_cast<uint16_t>(method);
  }
  void add(unsigned id, uint64_t data, size_t bytes) {
    words_.resize(words_.size() + sizeof(ib_uverbs_attr) / sizeof(uint64_t));
    ib_uverbs_attr& attribute = header().attrs[header().num_attrs++];
    attribute.attr_id = static_cast<uint16_t>(id);
    attribute.len = static_cast<uint16_t>(bytes);
    attribute.data = data;
    header().length = static_cast<uint16_t>(words_.size() * sizeof(uint64_t));
  }
  void add_answer(unsigned id, void* to, size_t bytes) { add(id, reinterpret_cast<uint64_t>(to), bytes); }
  ib_uverbs_ioctl_hdr& header() { return *reinterpret_cast<ib_uverbs_ioctl_hdr*>(words_.data()); }
  int send() {
    Commands commands;
    words_.shrink_to_fit();
    return commands.on_ioctl(RDMA_VERBS_IOCTL, words_.data());
  }

 private:
  std::vector<uint64_t> words_ = std::vector<uint64_t>(sizeof(ib_uverbs_ioctl_hdr) / sizeof(uint64_t));
};

TEST(Commands, NoAttributeIsReadBehindTheLast) {
  Ioctl entry(UVERBS_METHOD_QUERY_GID_ENTRY);
  entry.header().length = sizeof(ib_uverbs_ioctl_hdr);
  entry.header().num_attrs = 3;
  EXPECT_EQ(entry.send(), -EINVAL);
  Commands commands;
  EXPECT_EQ(commands.on_ioctl(RDMA_VERBS_IOCTL, nullptr), -EFAULT);
}

TEST(Commands, TheNumberOfGidsNeedsRoom) {
  const auto query = [](size_t count_bytes, bool somewhere) {
    std::vector<uint8_t> entries(32 * 64);
    uint64_t count = 0;
    Ioctl table(UVERBS_METHOD_QUERY_GID_TABLE);
    table.add(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 32, 8);
    table.add_answer(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, entries.data(), entries.size());
    table.add_answer(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, somewhere ? &count : nullptr, count_bytes);
    const int result = table.send();
    EXPECT_EQ(result == 0, count != 0);  // there is always 127.0.0.1
    return result;
  };
  EXPECT_EQ(query(8, true), 0);
  EXPECT_EQ(query(4, true), -EINVAL);
  EXPECT_EQ(query(8, false), -EFAULT);
}

}  // namespace
}  // namespace mrc::provider
