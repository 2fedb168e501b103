# SPDX-License-Identifier: Apache-2.0
# What is installed: three libraries made of the modules, headers, the packages, the program, CMake and pkg-config files.
#
#   wgkernels::core       static, pure: planning without a device
#   wgkernels::runtime    static: core plus the executor (needs Dawn)
#   wgkernels::c          shared, versioned, exports wgk_* alone
#   wgkernels::c_static   the same API, static
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# wgk_merge(<target> <name> <module>...): one archive of several modules.
function(wgk_merge target name)
  add_library(${target} STATIC)
  foreach(module IN LISTS ARGN)
    get_target_property(type wgk_${module} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      target_sources(${target} PRIVATE "$<TARGET_OBJECTS:wgk_${module}>")
    endif()
  endforeach()
  add_library(wgkernels::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_23)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
endfunction()

wgk_merge(wgkernels_core core base json expr jinja package plan)
set(WGK_EXPORTED wgkernels_core)

if(WGK_RUNTIME)
  set(runtime_modules io store gpu runtime)
  if(TARGET wgk_hub)
    list(APPEND runtime_modules hub)
  endif()
  wgk_merge(wgkernels_runtime runtime ${runtime_modules})
  target_link_libraries(wgkernels_runtime PUBLIC wgkernels_core dawn::webgpu_dawn OpenSSL::Crypto)
  if(TARGET wgk_hub)
    find_package(CURL REQUIRED)
    target_link_libraries(wgkernels_runtime PUBLIC CURL::libcurl)
  endif()

  if(WGK_TESTS)
    target_compile_options(wgk_capi PRIVATE -g)  # the baseline of the ABI holds types too
  endif()
  wgk_merge(wgkernels_c_static c_static capi)
  target_link_libraries(wgkernels_c_static PUBLIC wgkernels_runtime)

  add_library(wgkernels_c SHARED "$<TARGET_OBJECTS:wgk_capi>")
  add_library(wgkernels::c ALIAS wgkernels_c)
  target_link_libraries(wgkernels_c PRIVATE wgkernels_runtime)
  target_include_directories(wgkernels_c PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set(version_script "${CMAKE_CURRENT_LIST_DIR}/wgkernels.map")
  target_link_options(wgkernels_c PRIVATE "LINKER:--version-script=${version_script}" "LINKER:--no-undefined")
  set_target_properties(wgkernels_c PROPERTIES EXPORT_NAME c OUTPUT_NAME wgkernels LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS "${version_script}")
  list(APPEND WGK_EXPORTED wgkernels_runtime wgkernels_c wgkernels_c_static)
endif()

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

install(TARGETS ${WGK_EXPORTED} EXPORT wgkernelsTargets)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY kernels/ DESTINATION ${CMAKE_INSTALL_DATADIR}/wgkernels/kernels PATTERN "common" EXCLUDE)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET wgk)
  install(TARGETS wgk)
endif()
install(EXPORT wgkernelsTargets NAMESPACE wgkernels:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wgkernels)
configure_package_config_file(cmake/wgkernelsConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/wgkernelsConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wgkernels)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/wgkernelsConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/wgkernelsConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/wgkernelsConfigVersion.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wgkernels)
# Relative to the file itself, so that the installed tree may be moved.
file(RELATIVE_PATH WGK_PC_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" WGK_PC_UP "${WGK_PC_UP}")
foreach(file wgkernels wgkernels-cpp)
  configure_file(cmake/${file}.pc.in ${file}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${file}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(CPACK_PACKAGE_NAME wgkernels)
set(CPACK_PACKAGE_VENDOR wgkernels)
set(CPACK_PACKAGE_CONTACT "wgkernels maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "wgkernels maintainers <maintainers@wgkernels.invalid>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# The static libraries need these headers and libraries at hand, the shared one at run time.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libwebgpu-dawn-dev, libssl-dev")
include(CPack)
