# SPDX-License-Identifier: BSD-2-Clause
# Two hosts on real interfaces: network namespaces and veth pairs, made by the tests themselves, as root.
add_executable(bare_wire bare_wire.cc)
target_link_libraries(bare_wire PRIVATE mrc_dpdk_io)
target_compile_options(bare_wire PRIVATE $<$<CONFIG:Release>:-O2>)  # it measures

# The case "rate" is a measurement, for a quiet machine: wire.sh SOURCE_DIR BUILD_DIR rate
if(NOT MRC_SANITIZE)
  foreach(case write_bw_1 write_bw_4 write_lat small_mtu ipv6 flap recreated two_pairs local_only ethdev srv6 stranger mckey raw mtu_too_large
      no_interface no_privilege)
    mrc_verbs_test(wire_${case} 120 ${CMAKE_CURRENT_SOURCE_DIR}/wire.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${case})
  endforeach()
  # Ports that mrcd shares.
  foreach(case shared shared_users shared_refused shared_ethdev shared_threads shared_queues shared_killed shared_srv6 shared_mpi)
    mrc_verbs_test(wire_${case} 300 ${CMAKE_CURRENT_SOURCE_DIR}/wire.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${case})
  endforeach()
endif()
