# Included into the project by the test: the SDK by the project's name.
find_package(pgflow 1.0 REQUIRED COMPONENTS json)
if(NOT TARGET PgflowSDK::json OR NOT COMMAND pgflow_add_module)
  message(FATAL_ERROR "find_package(pgflow) does not give the SDK")
endif()
