# The version of the SDK is the version of the ABI, read from the header itself.

set(_pgflow_include "${CMAKE_CURRENT_LIST_DIR}/../include")
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/PgflowSDKPaths.cmake")
  include("${CMAKE_CURRENT_LIST_DIR}/PgflowSDKPaths.cmake")
  set(_pgflow_include "${PgflowSDK_INCLUDE_DIR}")
endif()
file(STRINGS "${_pgflow_include}/pgflow/module.h" _pgflow_version
     REGEX "^#define PGF_ABI_(MAJOR|MINOR) ")
string(REGEX REPLACE "[^0-9;]*([0-9]+)u[^;]*" "\\1" _pgflow_version "${_pgflow_version}")
list(GET _pgflow_version 0 _pgflow_major)
list(JOIN _pgflow_version "." PACKAGE_VERSION)

if(PACKAGE_FIND_VERSION_MAJOR EQUAL _pgflow_major
   AND PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
unset(_pgflow_include)
unset(_pgflow_major)
unset(_pgflow_version)
