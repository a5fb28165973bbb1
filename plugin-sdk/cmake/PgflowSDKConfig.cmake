# find_package(PgflowSDK): the headers as the target PgflowSDK::headers, the JSON
# helpers as PgflowSDK::json, the test kit as PgflowSDK::testkit, and pgflow_add_module(). Works from this folder (the
# source tree), from the build tree, which includes this file, and installed, where
# PgflowSDKPaths.cmake says how far away the headers are. COMPONENTS json testkit asks
# for the targets of these names, and says what is missing for them.

set(PgflowSDK_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include")
set(PgflowSDK_SOURCE_DIR "${CMAKE_CURRENT_LIST_DIR}/../src")
include("${CMAKE_CURRENT_LIST_DIR}/PgflowSDKPaths.cmake" OPTIONAL)
get_filename_component(PgflowSDK_INCLUDE_DIR "${PgflowSDK_INCLUDE_DIR}" ABSOLUTE)
get_filename_component(PgflowSDK_SOURCE_DIR "${PgflowSDK_SOURCE_DIR}" ABSOLUTE)

if(NOT EXISTS "${PgflowSDK_INCLUDE_DIR}/pgflow/module.h")
  set(PgflowSDK_FOUND FALSE)
  set(PgflowSDK_NOT_FOUND_MESSAGE
      "pgflow/module.h is not in ${PgflowSDK_INCLUDE_DIR}: install the SDK as a whole")
  return()
endif()

if(NOT TARGET PgflowSDK::headers)
  add_library(PgflowSDK::headers INTERFACE IMPORTED GLOBAL)
  set_target_properties(PgflowSDK::headers PROPERTIES
                        INTERFACE_INCLUDE_DIRECTORIES "${PgflowSDK_INCLUDE_DIR}")
endif()

# pgflow/json.h: sources that are compiled into whatever links the target, and cJSON,
# static where the system has an archive of it. Only where there is cJSON, and the
# project has the language C.
get_property(_pgflow_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
find_path(PgflowSDK_CJSON_INCLUDE_DIR cjson/cJSON.h)
find_library(PgflowSDK_CJSON_LIBRARY NAMES libcjson.a cjson)
mark_as_advanced(PgflowSDK_CJSON_INCLUDE_DIR PgflowSDK_CJSON_LIBRARY)
if(NOT TARGET PgflowSDK::json AND "C" IN_LIST _pgflow_languages
   AND PgflowSDK_CJSON_INCLUDE_DIR AND PgflowSDK_CJSON_LIBRARY)
  add_library(PgflowSDK::json INTERFACE IMPORTED GLOBAL)
  target_sources(PgflowSDK::json INTERFACE "${PgflowSDK_SOURCE_DIR}/json.c"
                                           "${PgflowSDK_SOURCE_DIR}/json_parse.c")
  target_include_directories(PgflowSDK::json INTERFACE "${PgflowSDK_CJSON_INCLUDE_DIR}")
  target_link_libraries(PgflowSDK::json INTERFACE PgflowSDK::headers "${PgflowSDK_CJSON_LIBRARY}")
  if(PgflowSDK_CJSON_LIBRARY MATCHES "\\.a$")
    target_link_libraries(PgflowSDK::json INTERFACE m)
  endif()
endif()
unset(_pgflow_languages)

# pgflow/testkit.h: only where the SDK was built, not in its bare sources.
if(NOT TARGET PgflowSDK::testkit AND PgflowSDK_LIBRARY_DIR
   AND EXISTS "${PgflowSDK_LIBRARY_DIR}/libpgflow-testkit.a")
  add_library(PgflowSDK::testkit STATIC IMPORTED GLOBAL)
  get_filename_component(_pgflow_testkit "${PgflowSDK_LIBRARY_DIR}/libpgflow-testkit.a" ABSOLUTE)
  set_target_properties(PgflowSDK::testkit PROPERTIES IMPORTED_LOCATION "${_pgflow_testkit}")
  target_link_libraries(PgflowSDK::testkit INTERFACE PgflowSDK::headers ${CMAKE_DL_LIBS})
  unset(_pgflow_testkit)
endif()

include("${CMAKE_CURRENT_LIST_DIR}/PgflowModule.cmake")

set(_pgflow_json_lacks "cJSON (Debian: libcjson-dev) and a project with the language C")
set(_pgflow_testkit_lacks "an SDK that was built or installed, not its bare sources")
foreach(_pgflow_component IN LISTS PgflowSDK_FIND_COMPONENTS)
  if(TARGET PgflowSDK::${_pgflow_component})
    set(PgflowSDK_${_pgflow_component}_FOUND TRUE)
  elseif(PgflowSDK_FIND_REQUIRED_${_pgflow_component})
    set(PgflowSDK_FOUND FALSE)
    if(DEFINED _pgflow_${_pgflow_component}_lacks)
      set(PgflowSDK_NOT_FOUND_MESSAGE
          "${_pgflow_component} needs ${_pgflow_${_pgflow_component}_lacks}")
    else()
      set(PgflowSDK_NOT_FOUND_MESSAGE
          "it has no component ${_pgflow_component}; it has json and testkit")
    endif()
  endif()
endforeach()
unset(_pgflow_component)
unset(_pgflow_json_lacks)
unset(_pgflow_testkit_lacks)
