# SPDX-License-Identifier: BSD-2-Clause
# Debian packages by CPack: libmrc1, libmrc-dev and mrc-utils, in packages/ of the build folder.
find_program(MRC_DPKG dpkg)
find_program(MRC_DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT MRC_DPKG OR NOT MRC_DPKG_SHLIBDEPS)
  message(STATUS "packages: no dpkg or no dpkg-shlibdeps (package dpkg-dev): none can be made here")
  return()
endif()

# What every DPDK device needs of DPDK's plug-ins; drivers are for the administrator to choose. The names of their
# packages carry DPDK's ABI number, so the machine is asked which packages they are in.
set(drivers bus_vdev mempool_ring)
pkg_get_variable(dpdk_libdir libdpdk libdir)
set(driver_packages "")
foreach(driver ${drivers})
  file(GLOB files ${dpdk_libdir}/librte_${driver}.so.[0-9]*)
  list(FILTER files EXCLUDE REGEX "\\.so\\.[0-9]+\\.")
  execute_process(COMMAND ${MRC_DPKG} -S ${files} OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([a-z0-9.+-]+):")
    list(APPEND driver_packages ${CMAKE_MATCH_1})
  else()
    message(STATUS "packages: no package is known for DPDK's driver ${driver}; libmrc1 does not depend on it")
  endif()
endforeach()
list(JOIN driver_packages ", " driver_packages)

# What every package has in its folder of documents; not part of a plain installation.
set(generated ${CMAKE_BINARY_DIR}/install)
file(READ LICENSE text)
string(REGEX REPLACE "^[^\n]*\n\nCopyright[^\n]*\n" "" text "${text}")
string(STRIP "${text}" text)
string(REPLACE "\n" "\n " text "${text}")
string(REGEX REPLACE "\n +\n" "\n .\n" MRC_LICENSE_TEXT "${text}")
configure_file(cmake/packages/copyright.in ${generated}/copyright @ONLY)
mrc_gzip(cmake/packages/changelog.in changelog)
foreach(part library:libmrc1 development:libmrc-dev programs:mrc-utils)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 component)
  list(GET part 1 package)
  install(FILES ${generated}/copyright ${generated}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/packages/only_new.cmake)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/cpack)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_SET_DESTDIR ON)  # the driver file is below /etc, not below the prefix
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Soft-MRC developers <soft-mrc@users.noreply.github.com>")
set(CPACK_COMPONENTS_ALL library development programs)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE soft-mrc)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "${driver_packages}")
# Who links with the library needs this version or a later one.
file(WRITE ${generated}/shlibs "libmrc 1 libmrc1 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${generated}/shlibs
  ${CMAKE_SOURCE_DIR}/cmake/packages/library/conffiles ${CMAKE_SOURCE_DIR}/cmake/packages/library/triggers)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "user-space RDMA device that speaks MRC
MRC (Multipath Reliable Connection) is an RDMA transport that sprays every
connection over many paths on several network planes. This is MRC in software:
a provider that libibverbs loads like any other, with no MRC network card, no
kernel module and no RDMA in the kernel. Packets travel through DPDK.
.
This package has the library and the provider. Programs find the device when
they are started by mrcrun of the package mrc-utils.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}), libibverbs-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "development files of Soft-MRC
Soft-MRC is a user-space RDMA device that speaks MRC (Multipath Reliable
Connection). Verbs programs need nothing of this package, only libibverbs.
.
This package has what is needed to link with libmrc itself.")

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
# mrcctl and mrc_perf need our own library, which is nowhere else yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}), libibverbs1")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "ibverbs-utils, perftest")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/packages/programs/postinst
  ${CMAKE_SOURCE_DIR}/cmake/packages/programs/prerm ${CMAKE_SOURCE_DIR}/cmake/packages/programs/postrm)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "programs of the user-space RDMA device Soft-MRC
Soft-MRC is a user-space RDMA device that speaks MRC (Multipath Reliable
Connection), for verbs programs as they are.
.
mrcrun starts a program with the device, mrcctl breaks and heals planes,
mrc_top shows what programs do, mrc_lab makes whole fabrics on one machine,
mrc_bench compares with the bare port, mrcd helps programs that may not mount
FUSE.")
include(CPack)
