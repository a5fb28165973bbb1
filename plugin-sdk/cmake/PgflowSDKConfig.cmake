# find_package(PgflowSDK): the ABI header as the target PgflowSDK::headers, and
# pgflow_add_module(). Works from this folder (the source tree), from the build
# tree, which includes this file, and installed, where PgflowSDKPaths.cmake says
# how far away the headers are.

set(PgflowSDK_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include")
include("${CMAKE_CURRENT_LIST_DIR}/PgflowSDKPaths.cmake" OPTIONAL)
get_filename_component(PgflowSDK_INCLUDE_DIR "${PgflowSDK_INCLUDE_DIR}" ABSOLUTE)

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

include("${CMAKE_CURRENT_LIST_DIR}/PgflowModule.cmake")
