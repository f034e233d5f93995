# SPDX-License-Identifier: BSD-2-Clause
# Read by cpack before it starts: packages of another version do not stay beside the new ones.
file(GLOB old ${CPACK_OUTPUT_FILE_PREFIX}/*.deb)
if(old)
  file(REMOVE ${old})
endif()
