# SPDX-License-Identifier: BSD-2-Clause
# Two hosts on real interfaces: network namespaces and veth pairs, made by the tests themselves, as root.
if(NOT MRC_SANITIZE)
  foreach(case write_bw_1 write_bw_4 write_lat small_mtu ipv6 flap two_pairs local_only srv6 mtu_too_large no_interface
      no_privilege)
    mrc_verbs_test(wire_${case} 120 ${CMAKE_CURRENT_SOURCE_DIR}/wire.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${case})
  endforeach()
endif()
