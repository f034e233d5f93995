# SPDX-License-Identifier: BSD-2-Clause
# The command file by each of its back ends: what libibverbs does by itself, forks and ends, and Debian's programs.
if(MRC_SANITIZE STREQUAL thread)  # as with the conformance program
  return()
endif()
foreach(backend got fuse broker)
  set(with ${CMAKE_CURRENT_SOURCE_DIR}/command_file.sh ${CMAKE_BINARY_DIR} ${backend})
  set(cases gid. context. fork. channel. process. close. thread.contexts)
  mrc_verbs_test(command_file_${backend} 120 ${with} ${program} $<TARGET_FILE:conformance> ${cases})
  if(NOT MRC_SANITIZE)
    foreach(case devinfo rc_pingpong_events)
      mrc_verbs_test(command_file_${backend}_${case} 120 ${with} ${stock} ${case})
    endforeach()
  endif()
  # An ordinary user cannot mount, so not FUSE by himself. The broker is root's.
  if(NOT MRC_SANITIZE AND NOT backend STREQUAL fuse)
    mrc_verbs_test(command_file_${backend}_nobody 120 ${with} ${program_nobody} $<TARGET_FILE:conformance> ${cases})
    foreach(case devinfo rc_pingpong_events)
      mrc_verbs_test(command_file_${backend}_${case}_nobody 120 ${with} ${stock} ${case} as-nobody)
    endforeach()
  endif()
endforeach()

if(NOT MRC_SANITIZE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  mrc_verbs_test(mrcd 60 ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/mrcd_test.py $<TARGET_FILE:mrcd>)
endif()
