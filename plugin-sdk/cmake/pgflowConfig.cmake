# find_package(pgflow): the same as find_package(PgflowSDK), for who looks for the project's name.
set(_pgflow_quiet "")
if(pgflow_FIND_QUIETLY)
  set(_pgflow_quiet QUIET)
endif()
find_package(PgflowSDK ${pgflow_FIND_VERSION} ${_pgflow_quiet} COMPONENTS ${pgflow_FIND_COMPONENTS}
             PATHS "${CMAKE_CURRENT_LIST_DIR}" NO_DEFAULT_PATH)
set(pgflow_FOUND ${PgflowSDK_FOUND})
if(NOT PgflowSDK_FOUND)
  set(pgflow_NOT_FOUND_MESSAGE "${PgflowSDK_NOT_FOUND_MESSAGE}")
endif()
unset(_pgflow_quiet)
