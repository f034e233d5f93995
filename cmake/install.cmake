# SPDX-License-Identifier: BSD-2-Clause
# What is installed where. Three components, which are also the packages: library, development, programs.

# --- library ---
# The provider is the library under a name that libibverbs looks for.
install(TARGETS mrc COMPONENT library
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development)
set(generated ${CMAKE_BINARY_DIR}/install)
file(MAKE_DIRECTORY ${generated}/completions)
file(CREATE_LINK ../libmrc.so.1 ${generated}/libmrc-rdmav34.so SYMBOLIC)
install(FILES ${generated}/libmrc-rdmav34.so DESTINATION ${MRC_PROVIDER_DIR} COMPONENT library)

# Files that name the prefix are written when it is known. In libibverbs' own folder the provider's name is enough,
# and /etc is where libibverbs looks; from any other prefix 'mrcctl install' leads there.
set(when_installed "
  set(generated \"${generated}\")
  set(sources \"${CMAKE_SOURCE_DIR}/cmake/install\")
  set(SBINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SBINDIR}\")
  set(provider_dir \"\${CMAKE_INSTALL_PREFIX}/${MRC_PROVIDER_DIR}\")
  set(verbs_provider_dir \"${MRC_VERBS_PROVIDER_DIR}\")
  set(etc \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR}\")")
install(CODE "${when_installed}
  set(DRIVER \"\${provider_dir}/libmrc\")
  if(provider_dir STREQUAL verbs_provider_dir)
    set(DRIVER mrc)
    set(etc /etc)
  endif()
  configure_file(\"\${sources}/mrc.driver.in\" \"\${generated}/mrc.driver\" @ONLY)
  file(INSTALL \"\${generated}/mrc.driver\" DESTINATION \"\${etc}/libibverbs.d\")"
  COMPONENT library)

# --- development ---
file(RELATIVE_PATH MRC_PREFIX_FROM_PKGCONFIG /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/install/mrc.pc.in ${generated}/mrc.pc @ONLY)
install(FILES ${generated}/mrc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# find_package(mrc)
set(MRC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mrc)
file(RELATIVE_PATH MRC_PREFIX_FROM_CMAKE /prefix/${MRC_CMAKE_DIR} /prefix)
include(CMakePackageConfigHelpers)
configure_file(cmake/install/mrcConfig.cmake.in ${generated}/mrcConfig.cmake @ONLY)
write_basic_package_version_file(${generated}/mrcConfigVersion.cmake VERSION ${MRC_LIBRARY_VERSION}
  COMPATIBILITY SameMajorVersion)
install(FILES ${generated}/mrcConfig.cmake ${generated}/mrcConfigVersion.cmake DESTINATION ${MRC_CMAKE_DIR}
  COMPONENT development)

# A folder as programs for MRC NICs want it, who call it MRC_HOME: headers in include/, and libraries below
# lib/<architecture>/ under the names that those programs link.
set(triplet ${CMAKE_LIBRARY_ARCHITECTURE})
if(NOT triplet)
  set(triplet ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
endif()
set(home lib/mrc)
file(RELATIVE_PATH headers_from_home /prefix/${home} /prefix/${CMAKE_INSTALL_INCLUDEDIR}/mrc)
file(RELATIVE_PATH library_from_home /prefix/${home}/lib/${triplet} /prefix/${CMAKE_INSTALL_LIBDIR}/libmrc.so.1)
file(MAKE_DIRECTORY ${generated}/home)
file(CREATE_LINK ${headers_from_home} ${generated}/home/include SYMBOLIC)
install(FILES ${generated}/home/include DESTINATION ${home} COMPONENT development)
foreach(name lib_mrc.so libnv_mrc.so libmrc.so)
  file(CREATE_LINK ${library_from_home} ${generated}/home/${name} SYMBOLIC)
  install(FILES ${generated}/home/${name} DESTINATION ${home}/lib/${triplet} COMPONENT development)
endforeach()

# --- programs ---
set(MRC_PROGRAMS mrcrun mrcctl mrc_top mrc_bench mrc_lab mrc_perf)
install(TARGETS ${MRC_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
# They find libmrc from their own place; where the system looks anyway they need not say so.
foreach(program mrcctl mrc_perf)
  install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}/usr/${CMAKE_INSTALL_BINDIR}/${program}\")
    endif()" COMPONENT programs)
endforeach()
install(TARGETS mrcd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT programs)
install(CODE "${when_installed}
  configure_file(\"\${sources}/mrcd.service.in\" \"\${generated}/mrcd.service\" @ONLY)
  file(INSTALL \"\${generated}/mrcd.service\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")"
  COMPONENT programs)

# bash-completion looks for a file with the program's name.
set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES cmake/install/completion.bash DESTINATION ${completions} RENAME mrcctl COMPONENT programs)
foreach(program mrcrun mrcd mrc_top mrc_bench mrc_lab mrc_perf)
  file(CREATE_LINK mrcctl ${generated}/completions/${program} SYMBOLIC)
  install(FILES ${generated}/completions/${program} DESTINATION ${completions} COMPONENT programs)
endforeach()

# For Wireshark and tshark, which load it when they are told to (mrc(7)).
install(FILES examples/wireshark/mrc.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/mrc/wireshark COMPONENT programs)

# For Grafana, which imports it.
install(FILES examples/grafana/mrc.json DESTINATION ${CMAKE_INSTALL_DATADIR}/mrc/grafana COMPONENT programs)

# mrc_gzip(SOURCE NAME): SOURCE with the version filled in, packed as NAME.gz, always to the same bytes.
find_program(MRC_GZIP gzip REQUIRED)
function(mrc_gzip source name)
  configure_file(${source} ${generated}/${name} @ONLY)
  execute_process(COMMAND ${MRC_GZIP} -9nf ${generated}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(page mrcrun.1 mrcctl.1 mrc_top.1 mrc_bench.1 mrc_lab.1 mrc_perf.1 mrc.7 mrcd.8)
  string(REGEX REPLACE ".*\\." "" section ${page})
  mrc_gzip(docs/man/${page} ${page})
  install(FILES ${generated}/${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT programs)
endforeach()

# A page for every function of the library: a family shares one, and the others lead to it.
set(families
  mrc_query_device:mrc_query_device_ex,mrc_query_version
  mrc_create_context:mrc_destroy_context
  mrc_create_cq:mrc_destroy_cq,mrc_poll_cq,mrc_req_notify_cq,mrc_get_cq_event,mrc_ack_cq_events,mrc_create_comp_channel,mrc_destroy_comp_channel,mrc_get_comp_channel_fd
  mrc_create_qp_hint:mrc_destroy_qp_hint,mrc_query_qp_hint,mrc_modify_qp_hint
  mrc_create_qp:mrc_destroy_qp,mrc_modify_qp,mrc_query_qp,mrc_get_qpn
  mrc_post_send:mrc_post_recv
  mrc_get_async_event:mrc_ack_async_event
  mrc_ctl_query_device:mrc_ctl_query_device_ex,mrc_ctl_query_version
  mrc_ctl_modify_port:mrc_ctl_query_port
  mrc_ctl_modify_ev_fmt_profile:mrc_ctl_query_ev_fmt_profile
  mrc_ctl_modify_ev_profile:mrc_ctl_query_ev_profile
  mrc_ctl_modify_cc_profile:mrc_ctl_query_cc_profile
  mrc_ctl_create_ev_event_cq:mrc_ctl_poll_ev_event
  mrc_ctl_ep_batch_send_wait:
  mrcdv_create_qp:mrcdv_modify_qp,mrcdv_query_qp,mrcdv_query_paths,mrcdv_query_spray,mrcdv_is_supported,mrcdv_query_device
  mrcdv_add_fault:mrcdv_remove_fault,mrcdv_query_faults
  mrcdv_modify_denied_links:mrcdv_query_denied_links,mrcdv_query_profiles)
foreach(family ${families})
  string(REGEX MATCHALL "[a-z_]+" names ${family})
  list(POP_FRONT names page)
  mrc_gzip(docs/man/${page}.3 ${page}.3)
  install(FILES ${generated}/${page}.3.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
  foreach(name ${names})
    file(CREATE_LINK ${page}.3.gz ${generated}/${name}.3.gz SYMBOLIC)
    install(FILES ${generated}/${name}.3.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
  endforeach()
endforeach()
