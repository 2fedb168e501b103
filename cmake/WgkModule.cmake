# SPDX-License-Identifier: Apache-2.0
# wgk_module(<name> [DEPENDS <module>...] [LINK <library>...])
#
# One folder src/<name> is one module: its *.cpp become the static library wgk_<name>, its *_test.cpp the program
# <name>_test (one CTest entry per GoogleTest case), its main.cpp (if any) the program that CMakeLists.txt beside it names.
# A module without sources yet is skipped, a module that only has headers becomes an INTERFACE library.

# maybe-uninitialized: false alarms on std::variant from -O2 on; the sanitizer builds look for the real thing.
add_library(wgk_warnings INTERFACE)
target_compile_options(wgk_warnings INTERFACE
  -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers
  $<$<BOOL:${WGK_WARNINGS_AS_ERRORS}>:-Werror>)
# What the optimizer of a release build believes to see changes from one version of the compiler to the next: shown, no error.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(warning array-bounds dangling-pointer free-nonheap-object restrict stringop-overflow stringop-overread use-after-free)
    target_compile_options(wgk_warnings INTERFACE $<$<CONFIG:Release>:-Wno-error=${warning}>)
  endforeach()
endif()

function(wgk_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  set(dir "${CMAKE_CURRENT_SOURCE_DIR}/src/${name}")
  file(GLOB sources CONFIGURE_DEPENDS "${dir}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|/main)\\.cpp$")
  set(links)
  foreach(module IN LISTS ARG_DEPENDS)
    if(TARGET wgk_${module})
      list(APPEND links wgk_${module})
    endif()
  endforeach()

  if(sources)
    add_library(wgk_${name} STATIC ${sources})
    target_include_directories(wgk_${name} PUBLIC
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
    target_link_libraries(wgk_${name} PUBLIC ${links} ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:wgk_warnings>)
    set_target_properties(wgk_${name} PROPERTIES UNITY_BUILD ${WGK_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  else()
    add_library(wgk_${name} INTERFACE)
    target_include_directories(wgk_${name} INTERFACE
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
    target_link_libraries(wgk_${name} INTERFACE ${links} ${ARG_LINK})
  endif()

  if(WGK_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE wgk_${name} wgk_warnings GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE WGK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS unit)
  endif()

  # Its *_bench.cpp become the program <name>_bench (Google Benchmark).
  file(GLOB benchmarks CONFIGURE_DEPENDS "${dir}/*_bench.cpp")
  if(WGK_BENCHMARKS AND benchmarks)
    find_package(benchmark REQUIRED)
    add_executable(${name}_bench ${benchmarks})
    target_link_libraries(${name}_bench PRIVATE wgk_${name} wgk_warnings benchmark::benchmark)
    target_compile_definitions(${name}_bench PRIVATE WGK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()

  file(GLOB fuzzers CONFIGURE_DEPENDS "${dir}/*_fuzz.cpp")
  foreach(fuzzer IN LISTS fuzzers)
    wgk_fuzz_target("${fuzzer}" wgk_${name})
  endforeach()

  if(EXISTS "${dir}/CMakeLists.txt")
    add_subdirectory("${dir}")
  endif()
endfunction()

# wgk_fuzz_target(<x_fuzz.cpp> <library>...): with WGK_FUZZ the libFuzzer program x_fuzz; else the program x_fuzz_replay, which
# runs the same function over the inputs of tests/fuzz/corpus/x_fuzz, and its test with the label fuzz.
function(wgk_fuzz_target source)
  get_filename_component(target "${source}" NAME_WE)
  if(WGK_FUZZ)
    add_executable(${target} "${source}")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${target} PRIVATE ${ARGN})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzzers")
  elseif(WGK_TESTS)
    add_executable(${target}_replay "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp")
    target_link_libraries(${target}_replay PRIVATE ${ARGN} wgk_warnings)
    add_test(NAME ${target} COMMAND ${target}_replay "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target}")
    set_tests_properties(${target} PROPERTIES LABELS fuzz)
  endif()
endfunction()
