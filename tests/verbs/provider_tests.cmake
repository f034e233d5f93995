# SPDX-License-Identifier: BSD-2-Clause
# The provider through libibverbs, within one process. Built here, so it can also load a sanitized provider.
add_executable(provider_test provider_objects_test.cc provider_data_test.cc provider_operations_test.cc
  provider_datagram_test.cc provider_srq_test.cc provider_qp_ex_test.cc provider_memory_test.cc
  provider_threads_test.cc provider_port_test.cc)
target_link_libraries(provider_test PRIVATE ibverbs GTest::gtest_main)
mrc_verbs_test(provider 300 ${program} $<TARGET_FILE:provider_test>)
if(NOT MRC_SANITIZE)  # as with the stock programs
  mrc_verbs_test(provider_nobody 300 ${program_nobody} $<TARGET_FILE:provider_test>)
  mrc_verbs_test(mrcrun 60 ${CMAKE_CURRENT_SOURCE_DIR}/provider_mrcrun.sh ${CMAKE_BINARY_DIR})
endif()
