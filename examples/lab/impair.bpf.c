// SPDX-License-Identifier: BSD-2-Clause
// What a switch port does to packets beyond forwarding them: loss, ECN marks and trimming, at random or by
// the length of a queue, and the detour over the delay line. Attached to clsact; settings and counts are in
// maps.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
// The helpers want the types of above.
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "impair.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
  IPV6_BYTES = 40,
  NEXT_UDP = 17,
  NEXT_IPV6 = 41,
  ROCE_PORT = 4791,
  PRINTED_PORT = 4971,
  NS_PER_MBIT_BYTE = 8000
};

struct queue {
  struct bpf_spin_lock lock;
  __u64 drained_ns;
  __u64 bytes;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, LAB_PORT_ENTRIES);
  __type(key, __u32);
  __type(value, struct lab_port_settings);
} lab_settings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, LAB_PORT_ENTRIES);
  __type(key, __u32);
  __type(value, struct lab_port_counts);
} lab_counts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, LAB_PORT_ENTRIES);
  __type(key, __u32);
  __type(value, struct queue);
} lab_queues SEC(".maps");

enum verdict { PASS, MARK, TRIM, DROP };

ALWAYS_INLINE int happens(__u32 ppm) {
  return ppm != 0 && bpf_get_prandom_u32() % 1000000 < ppm;
}

ALWAYS_INLINE int traffic_class(struct __sk_buff* skb) {
  __u8 first[2] = {0, 0};
  bpf_skb_load_bytes(skb, ETH_HLEN, first, sizeof first);
  return (first[0] & 0xF) << 4 | first[1] >> 4;
}

ALWAYS_INLINE int can_be_trimmed(struct __sk_buff* skb, const struct lab_port_settings* settings) {
  const __u32 dscp = traffic_class(skb) >> 2;
  return skb->len > settings->trim_bytes &&
         (dscp == settings->dscp_trimmable || dscp == settings->dscp_trimmable_again);
}

// What the queue says to a frame that arrives now. The queue is only counted here; where frames really wait
// there is a token bucket of the same rate behind this program.
ALWAYS_INLINE enum verdict enqueue(struct __sk_buff* skb, __u32 port,
                                   const struct lab_port_settings* settings, struct lab_port_counts* counts) {
  struct queue* queue = bpf_map_lookup_elem(&lab_queues, &port);
  if (!queue) return PASS;
  const int trimmable = can_be_trimmed(skb, settings);
  const __u64 now = bpf_ktime_get_ns();
  enum verdict verdict = PASS;
  __u64 bytes;
  bpf_spin_lock(&queue->lock);
  // After a second at rest any queue is empty; the product stays in range.
  __u64 passed = now - queue->drained_ns;
  if (passed > 1000000000) passed = 1000000000;
  const __u64 drained = passed * settings->rate_mbps / NS_PER_MBIT_BYTE;
  bytes = queue->bytes > drained ? queue->bytes - drained : 0;
  queue->drained_ns = now;
  if (bytes + skb->len > settings->queue_drop_bytes) {
    verdict = DROP;
  } else if (bytes > settings->queue_trim_bytes && trimmable) {
    verdict = TRIM;
    bytes += settings->trim_bytes;
  } else {
    if (bytes > settings->queue_ce_bytes) verdict = MARK;
    bytes += skb->len;
  }
  queue->bytes = bytes;
  bpf_spin_unlock(&queue->lock);
  if (bytes > counts->queue_bytes_max) counts->queue_bytes_max = bytes;
  return verdict;
}

// Like a switch, it corrects the outermost header alone.
ALWAYS_INLINE int trim(struct __sk_buff* skb, const struct lab_port_settings* settings) {
  const __u32 bytes = settings->trim_bytes;
  if (bytes < ETH_HLEN + IPV6_BYTES || bpf_skb_change_tail(skb, bytes, 0) != 0) return 0;
  const __u16 payload = bpf_htons(bytes - ETH_HLEN - IPV6_BYTES);
  bpf_skb_store_bytes(skb, ETH_HLEN + 4, &payload, sizeof payload, 0);
  __u8 first[2] = {0, 0};
  bpf_skb_load_bytes(skb, ETH_HLEN, first, sizeof first);
  const __u8 dscp = settings->dscp_trimmed & 0x3F;
  first[0] = 0x60 | dscp >> 2;
  first[1] = (first[1] & 0x3F) | (dscp & 3) << 6;
  bpf_skb_store_bytes(skb, ETH_HLEN, first, sizeof first, 0);
  return 1;
}

ALWAYS_INLINE int impair(struct __sk_buff* skb, __u32 direction) {
  if (skb->protocol != bpf_htons(ETH_P_IPV6) || skb->mark == LAB_MARK_DELAYED) return TC_ACT_OK;
  const __u32 port = skb->ifindex * LAB_DIRECTIONS + direction;
  const struct lab_port_settings* settings = bpf_map_lookup_elem(&lab_settings, &port);
  struct lab_port_counts* counts = bpf_map_lookup_elem(&lab_counts, &port);
  if (!settings || !counts) return TC_ACT_OK;
  __sync_fetch_and_add(&counts->frames, 1);
  __sync_fetch_and_add(&counts->bytes, skb->len);
  enum verdict verdict = settings->rate_mbps != 0 ? enqueue(skb, port, settings, counts) : PASS;
  if (verdict == DROP || happens(settings->drop_ppm)) {
    __sync_fetch_and_add(&counts->dropped, 1);
    return TC_ACT_SHOT;
  }
  if (verdict == TRIM || (happens(settings->trim_ppm) && can_be_trimmed(skb, settings))) {
    if (trim(skb, settings)) __sync_fetch_and_add(&counts->trimmed, 1);
  } else if (verdict == MARK || happens(settings->ce_ppm)) {
    if (bpf_skb_ecn_set_ce(skb) == 1) __sync_fetch_and_add(&counts->marked, 1);
  }
  if (settings->delay_ifindex != 0) return bpf_redirect(settings->delay_ifindex, 0);
  return TC_ACT_OK;
}

SEC("tc")
int lab_egress(struct __sk_buff* skb) {
  return impair(skb, LAB_EGRESS);
}

SEC("tc")
int lab_ingress(struct __sk_buff* skb) {
  return impair(skb, LAB_INGRESS);
}

// On a host: the device reads its frames from a packet socket, which is served before this; the kernel itself
// would only waste time on them.
SEC("tc")
int lab_host(struct __sk_buff* skb) {
  if (skb->protocol != bpf_htons(ETH_P_IPV6)) return TC_ACT_OK;
  __u8 next = 0;
  bpf_skb_load_bytes(skb, ETH_HLEN + 6, &next, sizeof next);
  if (next == NEXT_IPV6) return TC_ACT_SHOT;
  if (next != NEXT_UDP) return TC_ACT_OK;
  __u16 port = 0;
  bpf_skb_load_bytes(skb, ETH_HLEN + IPV6_BYTES + 2, &port, sizeof port);
  // MRC's specification prints the second one; the device takes both.
  return port == bpf_htons(ROCE_PORT) || port == bpf_htons(PRINTED_PORT) ? TC_ACT_SHOT : TC_ACT_OK;
}

// The kernel lends spin locks and some helpers only to programs that call themselves compatible with its
// licence; this one may be used under either.
char _license[] SEC("license") = "Dual BSD/GPL";
