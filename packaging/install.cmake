# Runs within `cmake --install`: the service unit and the configuration sample. A prefix of /usr
# has its configuration in /etc; any other in <prefix>/etc. DESTDIR is heeded by file(INSTALL).

if(CMAKE_INSTALL_PREFIX MATCHES "^/usr/?$")
  set(etc /etc)
else()
  set(etc "${CMAKE_INSTALL_PREFIX}/etc")
endif()

# A folder of its own for each place, so that two installations at once do not meet.
string(MD5 scratch "$ENV{DESTDIR}|${CMAKE_INSTALL_PREFIX}")
set(scratch "${PGFLOW_SCRATCH}/${scratch}")

# place(FILE FOLDER PERMISSION...): FILE with the paths of this installation.
function(place file folder)
  file(READ "${PGFLOW_PACKAGING}/${file}" text)
  string(REPLACE "/usr/bin/pgflow" "${CMAKE_INSTALL_PREFIX}/${PGFLOW_BINDIR}/pgflow" text "${text}")
  string(REPLACE "/usr/share/doc/pgflow-host" "${CMAKE_INSTALL_PREFIX}/${PGFLOW_DOCDIR}" text "${text}")
  string(REPLACE "/etc/pgflow/" "${etc}/pgflow/" text "${text}")
  get_filename_component(name "${file}" NAME)
  file(WRITE "${scratch}/${name}" "${text}")
  file(INSTALL "${scratch}/${name}" DESTINATION "${folder}" PERMISSIONS ${ARGN})
endfunction()

place(systemd/pgflow-host@.service "${CMAKE_INSTALL_PREFIX}/lib/systemd/system"
      OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

# A configuration that somebody has written stays; copies of it may hold passwords, so it is private
# from the start.
if(NOT EXISTS "$ENV{DESTDIR}${etc}/pgflow/host.conf")
  place(config/host.conf "${etc}/pgflow" OWNER_READ OWNER_WRITE)
endif()
file(REMOVE_RECURSE "${scratch}")
