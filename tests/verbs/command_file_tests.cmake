# SPDX-License-Identifier: BSD-2-Clause
# The command file by each of its back ends: what libibverbs does by itself, forks and ends, and Debian's programs.
if(MRC_SANITIZE STREQUAL thread)  # as with the conformance program
  return()
endif()
foreach(backend got fuse broker)
  set(with ${CMAKE_CURRENT_SOURCE_DIR}/command_file.sh ${CMAKE_BINARY_DIR} ${backend})
  mrc_verbs_test(command_file_${backend} 120 ${with} ${program} $<TARGET_FILE:conformance>
    gid. context. fork. channel. process. close. thread.contexts)
  if(NOT MRC_SANITIZE)
    foreach(case devinfo rc_pingpong_events)
      mrc_verbs_test(command_file_${backend}_${case} 120 ${with} ${stock} ${case})
    endforeach()
  endif()
endforeach()
if(NOT MRC_SANITIZE)
  mrc_verbs_test(command_file_broker_rc_pingpong_events_nobody 120 ${with} ${stock} rc_pingpong_events as-nobody)
endif()
