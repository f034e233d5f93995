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
if(EXISTS ${CMAKE_SOURCE_DIR}/include)
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endif()

# --- programs ---
set(MRC_PROGRAMS mrcrun mrcctl mrc_top mrc_bench mrc_lab)
install(TARGETS ${MRC_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(TARGETS mrcd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT programs)
install(CODE "${when_installed}
  configure_file(\"\${sources}/mrcd.service.in\" \"\${generated}/mrcd.service\" @ONLY)
  file(INSTALL \"\${generated}/mrcd.service\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")"
  COMPONENT programs)

# bash-completion looks for a file with the program's name.
set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES cmake/install/completion.bash DESTINATION ${completions} RENAME mrcctl COMPONENT programs)
foreach(program mrcrun mrcd mrc_top mrc_bench mrc_lab)
  file(CREATE_LINK mrcctl ${generated}/completions/${program} SYMBOLIC)
  install(FILES ${generated}/completions/${program} DESTINATION ${completions} COMPONENT programs)
endforeach()

# mrc_gzip(SOURCE NAME): SOURCE with the version filled in, packed as NAME.gz, always to the same bytes.
find_program(MRC_GZIP gzip REQUIRED)
function(mrc_gzip source name)
  configure_file(${source} ${generated}/${name} @ONLY)
  execute_process(COMMAND ${MRC_GZIP} -9nf ${generated}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(page mrcrun.1 mrcctl.1 mrc_top.1 mrc_bench.1 mrc_lab.1 mrc.7 mrcd.8)
  string(REGEX REPLACE ".*\\." "" section ${page})
  mrc_gzip(docs/man/${page} ${page})
  install(FILES ${generated}/${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT programs)
endforeach()
