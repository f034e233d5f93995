# SPDX-License-Identifier: BSD-2-Clause
# Packets of running programs, seen from another process. Debian's programs cannot load a sanitized provider.
if(NOT MRC_SANITIZE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  foreach(case file filters ring whole sniffer tcpdump devices)
    add_test(NAME capture.${case}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/capture_test.py ${CMAKE_BINARY_DIR} ${case})
    set_tests_properties(capture.${case} PROPERTIES TIMEOUT 240 SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  endforeach()
endif()
