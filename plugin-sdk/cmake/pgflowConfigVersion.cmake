include("${CMAKE_CURRENT_LIST_DIR}/PgflowSDKConfigVersion.cmake")
