# SPDX-License-Identifier: BSD-2-Clause
# In which folders of a prefix things are installed, and how programs find the provider from theirs.

# Debian keeps the libraries of each architecture in a folder of its own, below every prefix.
if(EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Folder of the libraries")
endif()
include(GNUInstallDirs)

# libibverbs has one folder of providers, wherever we are installed: there a driver file may give a bare name.
pkg_get_variable(MRC_VERBS_LIBDIR libibverbs libdir)
set(MRC_VERBS_PROVIDER_DIR ${MRC_VERBS_LIBDIR}/libibverbs)
set(MRC_PROVIDER_DIR ${CMAKE_INSTALL_LIBDIR}/libibverbs)
file(RELATIVE_PATH MRC_PROVIDER_FROM_PROGRAMS /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${MRC_PROVIDER_DIR})
