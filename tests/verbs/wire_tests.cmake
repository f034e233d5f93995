# SPDX-License-Identifier: BSD-2-Clause
# Two hosts on real interfaces: network namespaces and veth pairs, made by the tests themselves, as root.
# These two measure.
foreach(program bare_wire wire_cost)
  add_executable(${program} ${program}.cc)
  target_link_libraries(${program} PRIVATE mrc_dpdk_io)
  target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-O2>)
endforeach()
target_link_libraries(wire_cost PRIVATE mrc_dpdk_headers)

# The case "rate" is a measurement, for a quiet machine: wire.sh SOURCE_DIR BUILD_DIR rate
if(NOT MRC_SANITIZE)
  foreach(case write_bw_1 write_bw_4 write_lat small_mtu ipv6 flap recreated two_pairs local_only ethdev cost srv6 stranger mckey cm_devices raw
      mtu_too_large no_interface no_privilege)
    mrc_verbs_test(wire_${case} 120 ${CMAKE_CURRENT_SOURCE_DIR}/wire.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${case})
  endforeach()
  # Ports that mrcd shares.
  foreach(case shared shared_devices shared_users shared_refused shared_ethdev shared_threads shared_queues shared_killed shared_srv6 shared_mpi)
    mrc_verbs_test(wire_${case} 300 ${CMAKE_CURRENT_SOURCE_DIR}/wire.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${case})
  endforeach()
endif()
