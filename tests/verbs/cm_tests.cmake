# SPDX-License-Identifier: BSD-2-Clause
# rdma_cm without the kernel: our own program, built here, and Debian's.
find_library(MRC_RDMACM rdmacm)
if(MRC_RDMACM)
  add_executable(cm_programs_test cm_programs_test.cc cm_leaving_test.cc)
  target_link_libraries(cm_programs_test PRIVATE ${MRC_RDMACM} ibverbs GTest::gtest_main)
  mrc_verbs_test(cm_programs 300 ${program} $<TARGET_FILE:cm_programs_test>)
  add_executable(cm_devices_test cm_devices_test.cc)
  target_link_libraries(cm_devices_test PRIVATE ${MRC_RDMACM} ibverbs GTest::gtest_main)
  mrc_verbs_test(cm_devices 120 ${program} $<TARGET_FILE:cm_devices_test>)
  set_property(TEST verbs.cm_devices APPEND PROPERTY ENVIRONMENT MRC_CONFIG=${CMAKE_CURRENT_SOURCE_DIR}/two_devices.toml)
  if(NOT MRC_SANITIZE)
    mrc_verbs_test(cm_programs_nobody 300 ${program_nobody} $<TARGET_FILE:cm_programs_test>)
  endif()
endif()
if(NOT MRC_SANITIZE)
  set(stock_cm ${CMAKE_CURRENT_SOURCE_DIR}/stock_cm.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  foreach(case rping rping_own_address rping_ipv6 rping_ipv6_loopback ucmatose ucmatose_migrate udaddy mckey mckey_ipv6 cmtime
      rdma_client two_devices broken_device write_bw write_bw_qps write_bw_both_qps write_lat send_bw send_bw_srq send_bw_ud send_lat
      send_lat_events send_lat_ud read_bw read_lat atomic_bw atomic_lat rstream riostream rcopy
      silent_rping silent_ucmatose silent_rstream silent_riostream silent_rcopy)
    mrc_verbs_test(stock_cm_${case} 120 ${stock_cm} ${case})
  endforeach()
  foreach(case rping rping_ipv6_loopback ucmatose ucmatose_migrate udaddy mckey cmtime rdma_client two_devices write_bw send_bw_srq
      send_lat_ud read_bw atomic_lat riostream silent_rping)
    mrc_verbs_test(stock_cm_${case}_nobody 120 ${stock_cm} ${case} as-nobody)
  endforeach()
  # Each waits for a minute, and others run meanwhile.
  foreach(case rping rping_nobody ucmatose rstream riostream rcopy)
    set_tests_properties(verbs.stock_cm_silent_${case} PROPERTIES COST 80)
  endforeach()
endif()
