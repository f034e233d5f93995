# SPDX-License-Identifier: BSD-2-Clause
# The provider through libibverbs, within one process. Built here, so it can also load a sanitized provider.
add_executable(provider_test provider_objects_test.cc provider_data_test.cc provider_operations_test.cc
  provider_datagram_test.cc provider_srq_test.cc provider_qp_ex_test.cc provider_memory_test.cc
  provider_threads_test.cc provider_port_test.cc)
target_link_libraries(provider_test PRIVATE ibverbs GTest::gtest_main)
mrc_verbs_test(provider 300 ${program} $<TARGET_FILE:provider_test>)
if(NOT MRC_SANITIZE)  # as with the stock programs
  mrc_verbs_test(provider_nobody 300 ${program_nobody} $<TARGET_FILE:provider_test>)
  # Faults that are injected on purpose.
  add_executable(device_fault_test fault_test.cc)
  target_link_libraries(device_fault_test PRIVATE mrc ibverbs GTest::gtest Threads::Threads)
  mrc_verbs_test(faults 120 ${program} $<TARGET_FILE:device_fault_test> $<TARGET_FILE:mrcctl>)
  mrc_verbs_test(fault_commands 120 ${CMAKE_CURRENT_SOURCE_DIR}/fault_commands.sh ${CMAKE_BINARY_DIR})
  mrc_verbs_test(controller_commands 120 ${CMAKE_CURRENT_SOURCE_DIR}/controller_commands.sh ${CMAKE_BINARY_DIR})
  mrc_verbs_test(disorder 120 ${CMAKE_CURRENT_SOURCE_DIR}/disorder.sh ${CMAKE_BINARY_DIR})
  add_executable(two_devices two_devices.cc)
  target_link_libraries(two_devices PRIVATE ibverbs)
  mrc_verbs_test(two_devices 120 ${CMAKE_CURRENT_SOURCE_DIR}/two_devices.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  mrc_verbs_test(mrcrun 60 ${CMAKE_CURRENT_SOURCE_DIR}/provider_mrcrun.sh ${CMAKE_BINARY_DIR})
endif()
