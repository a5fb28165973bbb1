# Two Debian packages by CPack: pgflow-host for those who run flows, pgflow-sdk-dev for those who
# write them. scripts/package makes them.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pgflow)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "pgflow-host maintainers <maintainers@pgflow-host.invalid>")
# CPack puts the project's summary before the description of each package, unless it is this.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)

# Below DESTDIR, as install.cmake wants it: /usr, and /etc beside it.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL host sdk)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_HOST_PACKAGE_NAME pgflow-host)
set(CPACK_DEBIAN_HOST_PACKAGE_SECTION database)
set(CPACK_DEBIAN_HOST_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_HOST_PACKAGE_SUGGESTS "postgresql, valgrind")
set(CPACK_DEBIAN_HOST_PACKAGE_CONTROL_EXTRA
    "${CMAKE_CURRENT_LIST_DIR}/conffiles;${CMAKE_CURRENT_LIST_DIR}/postinst;${CMAKE_CURRENT_LIST_DIR}/prerm;${CMAKE_CURRENT_LIST_DIR}/postrm")
set(CPACK_DEBIAN_HOST_DESCRIPTION
"worker that runs Postgres workflows from shared objects
pgflow-host polls one queue of a PostgreSQL database and runs the tasks of
several flows and versions side by side. Each handler runs in a process of
its own; a crash costs one attempt of one task.

With it come pgflowctl, the operator's tool, and a systemd unit for each
file in /etc/pgflow. Installing starts nothing.")

set(CPACK_DEBIAN_SDK_PACKAGE_NAME pgflow-sdk-dev)
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_SDK_PACKAGE_RECOMMENDS "pgflow-host, libcjson-dev")
set(CPACK_DEBIAN_SDK_DESCRIPTION
"headers and test kit for pgflow flow modules
The module ABI, its strict JSON helpers, the wrapper for C++17 and the test
kit, for CMake (find_package(PgflowSDK)) and pkg-config (pgflow-sdk,
pgflow-testkit).")
