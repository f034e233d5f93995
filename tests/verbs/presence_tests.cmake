# SPDX-License-Identifier: BSD-2-Clause
# The ways by which programs find the device. They look for a provider without a sanitizer.
if(NOT MRC_SANITIZE)
  set(presence ${CMAKE_CURRENT_SOURCE_DIR}/presence.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  foreach(case sysfs_path view launcher doctor install uninstall)
    mrc_verbs_test(presence_${case} 120 ${presence} ${case})
  endforeach()
  foreach(case view launcher)
    mrc_verbs_test(presence_${case}_nobody 120 ${presence} ${case} as-nobody)
  endforeach()
endif()
