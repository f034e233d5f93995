/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions of the application's interface of MRC (mrc.h). A program may say which one it was written for by
 * defining MRC_API_VER_USED, and MRC_VENDOR_API_VER_USED, before it includes anything of this. */
#ifndef MRC_API_VER_H
#define MRC_API_VER_H

#define MRC_API_VER_MAJOR_OFFSET 24
#define MRC_API_VER_MINOR_OFFSET 16
#define MRC_API_VER_SUBMINOR_OFFSET 0
#define MRC_API_VER(major, minor, subminor)                                        \
  (((major) << MRC_API_VER_MAJOR_OFFSET) | ((minor) << MRC_API_VER_MINOR_OFFSET) | \
   ((subminor) << MRC_API_VER_SUBMINOR_OFFSET))

/* Whatever is newest, here and in every later header. */
#define MRC_API_VER_LATEST MRC_API_VER(0xFFU, 0xFFU, 0xFFFFU)

#define MRC_API_CURRENT_VERSION MRC_API_VER(1U, 0U, 1U)
#define MRC_API_LAST_SUPPORTED_VERSION MRC_API_VER(0U, 0U, 0U)
#define MRC_VENDOR_API_CURRENT_VERSION MRC_API_VER(1U, 0U, 0U)
#define MRC_VENDOR_API_LAST_SUPPORTED_VERSION MRC_API_VER(0U, 0U, 0U)

#ifndef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#elif MRC_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#endif
#if MRC_API_VER_USED > MRC_API_CURRENT_VERSION
#error "MRC_API_VER_USED is newer than these headers"
#elif MRC_API_VER_USED < MRC_API_LAST_SUPPORTED_VERSION
#error "MRC_API_VER_USED is no longer supported"
#elif MRC_API_VER_USED == MRC_API_LAST_SUPPORTED_VERSION
#warning "MRC_API_VER_USED is the oldest version that is supported"
#endif

#ifndef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#elif MRC_VENDOR_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#endif
#if MRC_VENDOR_API_VER_USED > MRC_VENDOR_API_CURRENT_VERSION
#error "MRC_VENDOR_API_VER_USED is newer than these headers"
#elif MRC_VENDOR_API_VER_USED < MRC_VENDOR_API_LAST_SUPPORTED_VERSION
#error "MRC_VENDOR_API_VER_USED is no longer supported"
#elif MRC_VENDOR_API_VER_USED == MRC_VENDOR_API_LAST_SUPPORTED_VERSION
#warning "MRC_VENDOR_API_VER_USED is the oldest version that is supported"
#endif

#endif
