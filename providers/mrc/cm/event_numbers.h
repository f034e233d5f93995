// SPDX-License-Identifier: BSD-2-Clause
// The events of rdma_cm as its ABI numbers them: rdma_user_cm.h leaves them to librdmacm's header, which is
// not needed to build.
#pragma once

namespace mrc::provider {

enum RdmaCmEvent : unsigned {
  kAddressResolved = 0,
  kAddressError = 1,
  kRouteResolved = 2,
  kConnectRequest = 4,
  kConnectResponse = 5,
  kUnreachable = 7,
  kRejected = 8,
  kEstablished = 9,
  kDisconnected = 10,
  kMulticastJoin = 12,
  kTimewaitExit = 15,
};

}  // namespace mrc::provider
