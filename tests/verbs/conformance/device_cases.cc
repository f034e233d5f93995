// SPDX-License-Identifier: BSD-2-Clause
// Devices, contexts, ports, GIDs and P_Keys.
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "objects.h"

namespace conformance {

// --- the list ---

CASE("device.list_has_mrc0") {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  CHECK(devices != nullptr);
  CHECK(count >= 1);
  CHECK(devices[count] == nullptr);
  bool found = false;
  for (int i = 0; i < count; ++i) found |= std::string(ibv_get_device_name(devices[i])) == "mrc0";
  CHECK(found);
  ibv_free_device_list(devices);
}

CASE("device.list_without_count") {
  ibv_device** devices = ibv_get_device_list(nullptr);
  CHECK(devices != nullptr && devices[0] != nullptr);
  ibv_free_device_list(devices);
}

CASE("device.list_again_and_again") {
  for (int i = 0; i < 50; ++i) {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    CHECK(devices != nullptr && count >= 1);
    ibv_free_device_list(devices);
  }
}

CASE("device.is_a_channel_adapter") {
  CHECK_EQ(device()->device->node_type, IBV_NODE_CA);
  CHECK_EQ(device()->device->transport_type, IBV_TRANSPORT_IB);
}

CASE("device.guid") {
  CHECK(ibv_get_device_guid(device()->device) != 0);
}

CASE("device.guid_is_stable") {
  const uint64_t first = ibv_get_device_guid(device()->device);
  Owned<ibv_context> second = open_device();
  CHECK(ibv_get_device_guid(second->device) == first);
}

// --- contexts ---

CASE("context.open_close") {
  for (int i = 0; i < 20; ++i) open_device();
}

CASE("context.two_at_once") {
  Owned<ibv_context> one = open_device();
  Owned<ibv_context> two = open_device();
  CHECK(one.get() != two.get());
  CHECK(one->async_fd != two->async_fd);
  Owned<ibv_pd> pd = make_pd(two);
  one.reset();
  Memory memory(pd, 4096);
}

CASE("context.many") {
  std::vector<Owned<ibv_context>> contexts;
  for (int i = 0; i < 64; ++i) contexts.push_back(open_device());
}

CASE("context.has_files_and_vectors") {
  CHECK(device()->async_fd >= 0);
  CHECK(device()->num_comp_vectors >= 1);
}

CASE("context.leaves_no_files") {
  const auto open_files = [] {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd)
      if (fcntl(fd, F_GETFD) >= 0) ++count;
    return count;
  };
  device();
  open_device();
  const int before = open_files();
  for (int i = 0; i < 10; ++i) {
    Owned<ibv_context> context = open_device();
    Owned<ibv_comp_channel> channel = make_channel(context);
  }
  CHECK(open_files() <= before);  // what the cases before it have left may go meanwhile
}

CASE("context.leaves_no_threads") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  device();
  open_device();
  const auto before = threads();
  for (int i = 0; i < 10; ++i) open_device();
  CHECK_EQ(threads(), before);
}

// --- attributes ---

CASE("device.query") {
  const ibv_device_attr attributes = device_attributes();
  CHECK(attributes.fw_ver[0] != '\0');
  CHECK_EQ(attributes.node_guid, ibv_get_device_guid(device()->device));
  CHECK(attributes.sys_image_guid != 0);
  CHECK_EQ(attributes.phys_port_cnt, 1);
  CHECK(attributes.max_mr_size >= 1u << 30);
  CHECK(attributes.page_size_cap & 4096);
}

CASE("device.query_limits_are_useful") {
  const ibv_device_attr attributes = device_attributes();
  CHECK(attributes.max_qp >= 1024);
  CHECK(attributes.max_qp_wr >= 4096);
  CHECK(attributes.max_sge >= 5);  // UCX
  CHECK(attributes.max_sge_rd >= 1);
  CHECK(attributes.max_cq >= 1024);
  CHECK(attributes.max_cqe >= 65535);
  CHECK(attributes.max_mr >= 1024);
  CHECK(attributes.max_pd >= 1024);
  CHECK(attributes.max_qp_rd_atom >= 1);
  CHECK(attributes.max_qp_init_rd_atom >= 1);
  CHECK(attributes.max_res_rd_atom >= attributes.max_qp_rd_atom);
  CHECK(attributes.max_srq >= 1024);
  CHECK(attributes.max_srq_wr >= 4095);
  CHECK(attributes.max_srq_sge >= 1);
  CHECK(attributes.max_ah >= 1024);
  CHECK(attributes.max_pkeys >= 1);
}

CASE("device.query_atomics") {
  CHECK(device_attributes().atomic_cap != IBV_ATOMIC_NONE);
}

CASE("device.query_ex") {
  ibv_device_attr_ex extended;
  std::memset(&extended, 0xAA, sizeof extended);
  CHECK_OK(ibv_query_device_ex(device(), nullptr, &extended));
  const ibv_device_attr plain = device_attributes();
  CHECK_EQ(extended.orig_attr.max_qp, plain.max_qp);
  CHECK_EQ(extended.orig_attr.node_guid, plain.node_guid);
  CHECK_EQ(extended.phys_port_cnt_ex, 1);
}

CASE("device.query_ex_offers_nothing_it_lacks") {
  ibv_device_attr_ex extended;
  std::memset(&extended, 0xAA, sizeof extended);
  CHECK_OK(ibv_query_device_ex(device(), nullptr, &extended));
  CHECK_EQ(extended.tso_caps.max_tso, 0);
  CHECK_EQ(extended.rss_caps.supported_qpts, 0);
  CHECK_EQ(extended.max_wq_type_rq, 0);
  CHECK_EQ(extended.raw_packet_caps, 0);
}

CASE("device.query_ex_empty_input") {
  const ibv_query_device_ex_input input{0};
  ibv_device_attr_ex extended;
  CHECK_OK(ibv_query_device_ex(device(), &input, &extended));
}

CASE("device.query_ex_unknown_input") {
  const ibv_query_device_ex_input input{1};
  ibv_device_attr_ex extended;
  CHECK_ERROR(ibv_query_device_ex(device(), &input, &extended), EINVAL);
}

CASE("device.clock_is_as_fast_as_it_says") {
  ibv_device_attr_ex extended;
  CHECK_OK(ibv_query_device_ex(device(), nullptr, &extended));
  CHECK_EQ(extended.completion_timestamp_mask, UINT64_MAX);
  CHECK(extended.hca_core_clock > 0);
  const auto now = [] {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    CHECK_OK(ibv_query_rt_values_ex(device(), &values));
    return values.raw_clock.tv_nsec;
  };
  timespec begin;
  timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const long first = now();
  usleep(50'000);
  const long last = now();
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double milliseconds =
      static_cast<double>(last - first) / static_cast<double>(extended.hca_core_clock);
  const double most = static_cast<double>(end.tv_sec - begin.tv_sec) * 1e3 +
                      static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e6;
  CHECK(milliseconds >= 50 && milliseconds <= most);
}

CASE("device.query_rt_values_of_nothing") {
  ibv_values_ex values{};
  CHECK_OK(ibv_query_rt_values_ex(device(), &values));
}

CASE("device.query_rt_values_unknown") {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | IBV_VALUES_MASK_RESERVED;
  CHECK_ERROR(ibv_query_rt_values_ex(device(), &values), EINVAL);
}

// --- the port ---

CASE("port.query") {
  ibv_port_attr port;
  CHECK_OK(ibv_query_port(device(), 1, &port));
  CHECK_EQ(port.state, IBV_PORT_ACTIVE);
  CHECK_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  CHECK_EQ(port.phys_state, 5);
  CHECK(port.max_mtu >= IBV_MTU_1024 && port.max_mtu <= IBV_MTU_4096);
  CHECK(port.active_mtu >= IBV_MTU_256 && port.active_mtu <= port.max_mtu);
  CHECK(port.gid_tbl_len >= 1);
  CHECK_EQ(port.pkey_tbl_len, 1);
  CHECK(port.max_msg_sz >= 1u << 30);
  CHECK(port.active_width != 0 && port.active_speed != 0);
  CHECK_EQ(port.lid, 0);
}

CASE("port.query_0") {
  ibv_port_attr port;
  CHECK_ERROR(ibv_query_port(device(), 0, &port), EINVAL);
}

// Beyond the port that stands for the device, its planes answer; there are at most 16.
CASE("port.query_17") {
  ibv_port_attr port{};
  CHECK_ERROR(ibv_query_port(device(), 17, &port), EINVAL);
}

CASE("port.query_255") {
  ibv_port_attr port;
  CHECK_ERROR(ibv_query_port(device(), 255, &port), EINVAL);
}

// --- GIDs ---

namespace {
int gid_room() {
  ibv_port_attr port;
  CHECK_OK(ibv_query_port(device(), 1, &port));
  return port.gid_tbl_len;
}
// Those that are used, which stand first.
int gid_count() {
  std::vector<ibv_gid_entry> entries(static_cast<size_t>(gid_room()));
  const ssize_t count = ibv_query_gid_table(device(), entries.data(), entries.size(), 0);
  CHECK(count >= 1);
  return static_cast<int>(count);
}
}  // namespace

CASE("gid.query_all") {
  for (int i = 0; i < gid_count(); ++i) {
    ibv_gid gid;
    CHECK_EQ(ibv_query_gid(device(), 1, i, &gid), 0);
    CHECK(gid.global.subnet_prefix != 0 || gid.global.interface_id != 0);
  }
}

CASE("gid.are_different") {
  std::set<std::string> seen;
  for (int i = 0; i < gid_count(); ++i) {
    ibv_gid gid;
    CHECK_EQ(ibv_query_gid(device(), 1, i, &gid), 0);
    char text[INET6_ADDRSTRLEN];
    inet_ntop(AF_INET6, gid.raw, text, sizeof text);
    CHECK(seen.insert(text).second);
  }
}

CASE("gid.some_are_free") {
  CHECK(gid_room() >= 16);
  CHECK(gid_count() < gid_room());
  for (int i = gid_count(); i < gid_room(); ++i) {
    ibv_gid gid;
    std::memset(&gid, 1, sizeof gid);
    CHECK_EQ(ibv_query_gid(device(), 1, i, &gid), 0);
    CHECK(gid.global.subnet_prefix == 0 && gid.global.interface_id == 0);
    ibv_gid_entry entry{};
    CHECK_ERROR(ibv_query_gid_ex(device(), 1, static_cast<uint32_t>(i), &entry, 0), ENODATA);
  }
}

CASE("gid.free_one_is_no_source") {
  Owned<ibv_pd> pd = make_pd();
  ibv_ah_attr address = address_of_self(device());
  address.grh.sgid_index = static_cast<uint8_t>(gid_room() - 1);
  CHECK_REFUSED(ibv_create_ah(pd, &address), EINVAL);
}

CASE("gid.query_beyond_the_table") {
  ibv_gid gid;
  CHECK(ibv_query_gid(device(), 1, gid_room(), &gid) != 0);
}

CASE("gid.query_negative") {
  ibv_gid gid;
  CHECK(ibv_query_gid(device(), 1, -1, &gid) != 0);
}

CASE("gid.query_wrong_port") {
  ibv_gid gid;
  CHECK(ibv_query_gid(device(), 2, 0, &gid) != 0);
}

CASE("gid.query_ex") {
  for (int i = 0; i < gid_count(); ++i) {
    ibv_gid_entry entry{};
    CHECK_OK(ibv_query_gid_ex(device(), 1, static_cast<uint32_t>(i), &entry, 0));
    CHECK_EQ(entry.gid_index, i);
    CHECK_EQ(entry.port_num, 1);
    CHECK_EQ(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
    char name[IF_NAMESIZE];
    CHECK(if_indextoname(entry.ndev_ifindex, name) != nullptr);
  }
}

CASE("gid.query_ex_agrees_with_query") {
  ibv_gid gid;
  ibv_gid_entry entry{};
  CHECK_EQ(ibv_query_gid(device(), 1, 0, &gid), 0);
  CHECK_OK(ibv_query_gid_ex(device(), 1, 0, &entry, 0));
  CHECK(std::memcmp(&gid, &entry.gid, sizeof gid) == 0);
}

CASE("gid.query_ex_unknown_flags") {
  ibv_gid_entry entry{};
  CHECK(ibv_query_gid_ex(device(), 1, 0, &entry, 1) != 0);
}

CASE("gid.query_ex_beyond_the_table") {
  ibv_gid_entry entry{};
  CHECK_ERROR(ibv_query_gid_ex(device(), 1, static_cast<uint32_t>(gid_room()), &entry, 0), EINVAL);
}

CASE("gid.query_ex_wrong_port") {
  ibv_gid_entry entry{};
  CHECK(ibv_query_gid_ex(device(), 2, 0, &entry, 0) != 0);
}

CASE("gid.query_table") {
  std::vector<ibv_gid_entry> entries(static_cast<size_t>(gid_count()) + 4);
  const ssize_t count = ibv_query_gid_table(device(), entries.data(), entries.size(), 0);
  CHECK_EQ(count, gid_count());
  for (ssize_t i = 0; i < count; ++i) {
    ibv_gid_entry one{};
    CHECK_OK(ibv_query_gid_ex(device(), 1, static_cast<uint32_t>(i), &one, 0));
    CHECK(std::memcmp(&one, &entries[static_cast<size_t>(i)], sizeof one) == 0);
  }
}

CASE("gid.query_table_exact_room") {
  std::vector<ibv_gid_entry> entries(static_cast<size_t>(gid_count()));
  CHECK_EQ(ibv_query_gid_table(device(), entries.data(), entries.size(), 0), gid_count());
}

CASE("gid.query_table_too_small") {
  if (gid_count() < 2) throw Skip("this host has one GID only");
  ibv_gid_entry entry{};
  CHECK(ibv_query_gid_table(device(), &entry, 1, 0) < 0);
}

CASE("gid.query_table_unknown_flags") {
  std::vector<ibv_gid_entry> entries(static_cast<size_t>(gid_count()));
  CHECK(ibv_query_gid_table(device(), entries.data(), entries.size(), 4) < 0);
}

// --- P_Keys ---

CASE("pkey.query") {
  __be16 key = 0;
  CHECK_EQ(ibv_query_pkey(device(), 1, 0, &key), 0);
  CHECK_EQ(key, htons(0xFFFF));
}

CASE("pkey.query_beyond_the_table") {
  __be16 key = 0;
  CHECK(ibv_query_pkey(device(), 1, 1, &key) != 0);
}

CASE("pkey.query_wrong_port") {
  __be16 key = 0;
  CHECK(ibv_query_pkey(device(), 2, 0, &key) != 0);
}

CASE("pkey.index_of_the_default") {
  CHECK_EQ(ibv_get_pkey_index(device(), 1, htons(0xFFFF)), 0);
}

CASE("pkey.index_of_an_unknown") {
  CHECK_EQ(ibv_get_pkey_index(device(), 1, htons(0x1234)), -1);
}

// --- what the device does not have is refused, never a crash ---

CASE("absent.flow_of_datagrams") {
  Pair pair({.type = IBV_QPT_UD});
  ibv_flow_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.port = 1;
  CHECK_REFUSED(ibv_create_flow(pair.a.qp, &wanted), EOPNOTSUPP, EPERM);
}

CASE("absent.work_queue") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  ibv_wq_init_attr wanted{};
  wanted.wq_type = IBV_WQT_RQ;
  wanted.max_wr = wanted.max_sge = 1;
  wanted.pd = pd;
  wanted.cq = cq;
  CHECK_REFUSED(ibv_create_wq(device(), &wanted), EOPNOTSUPP, ENOSYS);
}

CASE("absent.counters") {
  ibv_counters_init_attr wanted{};
  CHECK_REFUSED(ibv_create_counters(device(), &wanted), EOPNOTSUPP, ENOSYS);
}

CASE("absent.rate_limit") {
  Pair pair;
  ibv_qp_rate_limit_attr wanted{};
  wanted.rate_limit = 1000;
  CHECK_ERROR(ibv_modify_qp_rate_limit(pair.a.qp, &wanted), EOPNOTSUPP, ENOSYS);
}

}  // namespace conformance
