# SPDX-License-Identifier: BSD-2-Clause
# What the device counts, where tools look for it. Debian's programs cannot load a sanitized provider.
if(NOT MRC_SANITIZE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  foreach(case export tree node_exporter http dashboard)
    add_test(NAME metrics.${case}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/metrics_test.py ${CMAKE_BINARY_DIR} ${case})
    set_tests_properties(metrics.${case} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  endforeach()
  add_test(NAME metrics.top COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/top_test.py ${CMAKE_BINARY_DIR})
  set_tests_properties(metrics.top PROPERTIES TIMEOUT 180 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()
