# How every target of this project is compiled, and the two functions that the
# folders use to declare a library and a unit test.

option(PGFLOW_ASAN "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(PGFLOW_COVERAGE "Build with coverage counters" OFF)
option(PGFLOW_FUZZ "Build the fuzzers (clang) in place of the tests" OFF)
option(PGFLOW_TESTS "Build the tests" ON)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_package(PkgConfig REQUIRED)

# Flags for everything we write; third-party headers come in as SYSTEM.
add_library(pgflow_flags INTERFACE)
target_compile_definitions(pgflow_flags INTERFACE _GNU_SOURCE
                           PGFLOW_VERSION="${PROJECT_VERSION}")
target_compile_options(pgflow_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion
                       -Werror -fno-strict-aliasing)
# "base/buf.h" is of lib/, "worker/task.h" of host/, "ctl/query.h" and "runner/call.h" of the top.
target_include_directories(pgflow_flags INTERFACE "${PROJECT_SOURCE_DIR}/lib"
                           "${PROJECT_SOURCE_DIR}/host" "${PROJECT_SOURCE_DIR}"
                           "${PROJECT_SOURCE_DIR}/plugin-sdk/include")
if(PGFLOW_ASAN)
  add_compile_definitions(PGFLOW_SANITIZED)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PGFLOW_FUZZ)
  add_compile_definitions(PGFLOW_SANITIZED)
  add_compile_options(-O1 -fsanitize=fuzzer-no-link,address,undefined
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
else()
  target_compile_options(pgflow_flags INTERFACE -fstack-protector-strong)
  target_compile_definitions(pgflow_flags INTERFACE
                             $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
  # Nothing in the tables of a running program is left to be written to.
  target_link_options(pgflow_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(PGFLOW_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
  # Our programs leave by _exit, which would drop what they counted.
  add_library(pgflow_coverage_exit STATIC "${PROJECT_SOURCE_DIR}/tests/support/coverage_exit.c")
  target_link_libraries(pgflow_flags INTERFACE pgflow_coverage_exit)
  target_link_options(pgflow_flags INTERFACE -Wl,--wrap=_exit)
endif()

# pgflow_library(NAME SOURCES a.c b.c LINKS other ...)
function(pgflow_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC pgflow_flags ${arg_LINKS})
endfunction()

# pgflow_program(NAME SOURCES main.c LINKS library ...)
function(pgflow_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE pgflow_flags ${arg_LINKS})
endfunction()

# pgflow_unit_test(NAME SOURCES a_test.c LINKS library ...): one Criterion
# program and one ctest entry, unit.NAME. With POSTGRES it runs against a
# private cluster, one test at a time.
function(pgflow_unit_test name)
  cmake_parse_arguments(arg "POSTGRES" "" "SOURCES;LINKS" ${ARGN})
  pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
  add_executable(unit_${name} ${arg_SOURCES})
  target_link_libraries(unit_${name} PRIVATE pgflow_flags ${arg_LINKS} PkgConfig::CRITERION)
  # Criterion's macros convert; the flag must come after those of pgflow_flags.
  set_source_files_properties(${arg_SOURCES} PROPERTIES COMPILE_OPTIONS -Wno-conversion)
  set_target_properties(unit_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        "${CMAKE_BINARY_DIR}/tests/unit")
  if(arg_POSTGRES)
    add_test(NAME unit.${name} COMMAND "${PROJECT_SOURCE_DIR}/tests/support/with-postgres"
             $<TARGET_FILE:unit_${name}> --jobs 1)
  else()
    add_test(NAME unit.${name} COMMAND unit_${name})
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
