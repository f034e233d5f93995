# SPDX-License-Identifier: BSD-2-Clause
# OCP's interface of MRC, linked as programs link it: the same shared object that libibverbs loads as a provider.
add_executable(mrc_api_test api_application_test.cc api_event_test.cc api_profile_test.cc api_queue_pair_test.cc)
target_link_libraries(mrc_api_test PRIVATE mrc mrc_dpdk_io ibverbs GTest::gtest Threads::Threads)
add_executable(ev_controller ev_controller.cc)
target_link_libraries(ev_controller PRIVATE mrc ibverbs)
# These pass numbers that are no value of an enum, as a program in C can; UBSan takes that for our mistake.
if(MRC_SANITIZE)
  set(left_out_of_api
    --gtest_filter=-ApiTest.CreationIsChecked:ProfileTest.FormatsGoOneByOne:ProfileTest.ExplicitProfiles:EventTest.EndpointsAnswer)
endif()
# Nor can ThreadSanitizer see the order of what a peer writes into a program's memory.
if(NOT MRC_SANITIZE STREQUAL thread)
  mrc_verbs_test(api 300 ${program} $<TARGET_FILE:mrc_api_test> ${left_out_of_api})
endif()
if(NOT MRC_SANITIZE)
  mrc_verbs_test(api_nobody 300 ${program_nobody} $<TARGET_FILE:mrc_api_test>)
  mrc_verbs_test(programs 120 ${program} ${CMAKE_CURRENT_SOURCE_DIR}/programs.sh ${CMAKE_BINARY_DIR})
  mrc_verbs_test(verbs_programs 120 ${program} ${CMAKE_CURRENT_SOURCE_DIR}/verbs_programs.sh ${CMAKE_BINARY_DIR})
  mrc_verbs_test(verbs_programs_nobody 120 ${program_nobody} ${CMAKE_CURRENT_SOURCE_DIR}/verbs_programs.sh ${CMAKE_BINARY_DIR})
  mrc_verbs_test(mrc_perf 120 ${program} ${CMAKE_CURRENT_SOURCE_DIR}/perf.sh ${CMAKE_BINARY_DIR})
  mrc_verbs_test(mrc_bench 240 ${CMAKE_CURRENT_SOURCE_DIR}/bench.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(verbs.mrc_bench PROPERTIES COST 60)
endif()
