# pgflow_add_module(NAME SOURCES a.c b.cpp ...)
#
# Declares NAME.so, a flow module in C or C++. NAME is an ordinary target
# afterwards: add definitions, libraries and so on. Libraries are best static
# (their symbols stay inside); a shared one of your own belongs beside the module,
# with INSTALL_RPATH "$ORIGIN".
#
# What the flags are for:
#   hidden visibility, version script,
#   --exclude-libs                       one exported symbol, whatever is linked in
#   -Bsymbolic                           calls inside the module stay inside
#   -z defs                              a missing symbol is an error of the build
#   -z now, -z relro                     and the tables are read-only once loaded
#   --build-id                           the host's banner and logs name the build
#   -fno-gnu-unique (g++)                no process-wide C++ statics
#   no RPATH of the build tree           the module is the same wherever it lies
function(pgflow_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pgflow_add_module(${name}): write pgflow_add_module(NAME SOURCES file...)")
  endif()
  set(map "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pgflow-module.map")

  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE PgflowSDK::headers)
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    BUILD_WITH_INSTALL_RPATH ON
    LINK_DEPENDS "${map}")
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  target_link_options(${name} PRIVATE
    "LINKER:--version-script=${map}" LINKER:-Bsymbolic LINKER:--exclude-libs,ALL
    LINKER:-z,defs LINKER:-z,now LINKER:-z,relro LINKER:--build-id=sha1)
  # A host takes no file that a group can write, whatever the umask of who built it.
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND chmod go-w "$<TARGET_FILE:${name}>" "$<TARGET_FILE_DIR:${name}>")
endfunction()
