# SPDX-License-Identifier: BSD-2-Clause
# A toolchain file: builds for the other of our two architectures with Debian's cross compiler, from a folder with the
# files of that architecture's packages (tests/release/other_architecture.sh makes it), and runs what it has built under
# user-mode emulation.
#   cmake --toolchain cmake/cross.cmake -DMRC_CROSS_PROCESSOR=aarch64 -DMRC_CROSS_SYSROOT=DIR ...
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MRC_CROSS_PROCESSOR MRC_CROSS_SYSROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${MRC_CROSS_PROCESSOR})
set(CMAKE_LIBRARY_ARCHITECTURE ${MRC_CROSS_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)
set(CMAKE_SYSROOT ${MRC_CROSS_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${MRC_CROSS_PROCESSOR} -cpu max -L ${MRC_CROSS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${MRC_CROSS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MRC_CROSS_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${MRC_CROSS_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${MRC_CROSS_SYSROOT}/usr/share/pkgconfig)
