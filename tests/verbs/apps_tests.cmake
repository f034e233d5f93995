# SPDX-License-Identifier: BSD-2-Clause
# What stands above the verbs, as Debian ships it. A program without a sanitizer cannot load a provider with one, and
# one of this machine cannot load one of another.
if(MRC_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()
find_package(MPI REQUIRED COMPONENTS C)
add_executable(mpi_check mpi_check.cc)
# The C interface from C++: the old C++ one needs a library of its own and does not compile cleanly.
target_compile_definitions(mpi_check PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(mpi_check PRIVATE MPI::MPI_C)

# Not every architecture's libgloo-dev has the ibverbs transport.
find_library(MRC_GLOO gloo)
find_path(MRC_GLOO_IBVERBS gloo/transport/ibverbs/device.h)
if(MRC_GLOO AND MRC_GLOO_IBVERBS)
  add_executable(gloo_check gloo_check.cc)
  target_link_libraries(gloo_check PRIVATE ${MRC_GLOO} ibverbs Threads::Threads)
endif()

set(apps ${CMAKE_CURRENT_SOURCE_DIR}/apps.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
foreach(case ucx_info ucx_tag_lat ucx_tag_bw ucx_put_bw ucx_put_lat ucx_get ucx_fadd ucx_cswap ucx_am_bw ucx_am_lat
    ucx_sleep ucx_threads ucx_tag_large ucx_uct_am_lat ucx_uct_put_bw ucx_uct_get
    ucx_uct_ud_am_bw ucx_stream ucx_ud_tag_lat ucx_ud_tag_bw ucx_ud_put_bw ucx_ud_get ucx_ud_fadd ucx_ud_am_bw
    ucx_ud_am_lat ucx_ud_sleep
    ucx_cm ucx_cm_am ucx_cm_ud fi_info fi_msg fi_rdm fi_dgram fio_write fio_read fio_send
    fio_notices fio_not_offered gloo_4 iser migration migration_plane_cut)
  mrc_verbs_test(apps_${case} 120 ${apps} ${case})
endforeach()
# Ranks poll, so a busy machine slows them down more than others: seconds become minutes.
foreach(case mpi_ucx_2 mpi_ucx_4 mpi_ud_4 mpi_ofi_2 mpi_ofi_4)
  mrc_verbs_test(apps_${case} 300 ${apps} ${case})
  mrc_verbs_test(apps_${case}_nobody 300 ${apps} ${case} as-nobody)
endforeach()
foreach(case ucx_info ucx_tag_lat ucx_tag_bw ucx_put_bw ucx_get ucx_fadd ucx_am_bw ucx_sleep ucx_ud_tag_bw ucx_ud_fadd
    ucx_ud_am_bw ucx_cm ucx_cm_ud fi_info fi_msg fi_rdm fi_dgram fio_write fio_read fio_send gloo_4)
  mrc_verbs_test(apps_${case}_nobody 120 ${apps} ${case} as-nobody)
endforeach()
