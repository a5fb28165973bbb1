# Text for assemble.cmake. It goes through string(CONCAT) and quoted arguments only:
# a list would split it at its semicolons.

function(four_digits out number)
  string(LENGTH "${number}" digits)
  math(EXPR missing "4 - ${digits}")
  string(REPEAT "0" ${missing} zeros)
  set(${out} "${zeros}${number}" PARENT_SCOPE)
endfunction()

function(replace_once out text placeholder value)
  string(FIND "${text}" "${placeholder}" at)
  if(at LESS 0)
    message(FATAL_ERROR "no ${placeholder} in the template")
  endif()
  string(LENGTH "${placeholder}" width)
  string(SUBSTRING "${text}" 0 ${at} before)
  math(EXPR rest "${at} + ${width}")
  string(SUBSTRING "${text}" ${rest} -1 after)
  string(CONCAT whole "${before}" "${value}" "${after}")
  set(${out} "${whole}" PARENT_SCOPE)
endfunction()

# The settings of a block of planner settings, sql/planner/<name>.sql without its comment.
function(planner_block out name shown)
  set(path "${SQL_DIR}/planner/${name}.sql")
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "${shown}: there is no block of planner settings ${name}; see sql/planner")
  endif()
  file(READ "${path}" block)
  without_head(block "${block}")
  set(${out} "${block}" PARENT_SCOPE)
endfunction()

# A source file as it is installed, with a block of planner settings in place of each line `-- planner: <name>`.
function(read_source out path)
  file(READ "${path}" content)
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${SQL_DIR}" OUTPUT_VARIABLE shown)
  while(content MATCHES "\n-- planner: *([^\n]*)\n")
    set(name "${CMAKE_MATCH_1}")
    planner_block(block "${name}" "${shown}")
    replace_once(content "${content}" "-- planner: ${name}\n" "${block}")
  endwhile()
  set(${out} "${content}" PARENT_SCOPE)
endfunction()

# A file without the comment at its head, which is not part of the function.
function(without_head out content)
  set(text "${content}")
  while(text MATCHES "^--")
    string(FIND "${text}" "\n" end)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${text}" ${end} -1 text)
  endwhile()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# What a source file is called, wherever it lies and whatever its number is: core/30_runs/02_table_step_tasks.sql is
# core_table_step_tasks. Files keep their names from version to version; areas and numbers may change.
function(name_of out shown)
  string(REGEX REPLACE "/.*" "" top "${shown}")
  cmake_path(GET shown STEM stem)
  string(REGEX REPLACE "^[0-9]+_" "" stem "${stem}")
  set(${out} "${top}_${stem}" PARENT_SCOPE)
endfunction()

# One EXECUTE per source file, so that an error shows that file and the line in it;
# the tag must not occur in the file.
function(wrap_text out indent shown content)
  if(content MATCHES "\\$pgflow_(file|migration)\\$")
    message(FATAL_ERROR "${shown}: must not contain the tags $pgflow_file$ and $pgflow_migration$")
  endif()
  string(CONCAT text "${indent}-- ${shown}\n"
         "${indent}execute $pgflow_file$-- ${shown}\n" "${content}" "$pgflow_file$;\n")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(wrap_files out indent)
  set(text "")
  foreach(path IN LISTS ARGN)
    read_source(content "${path}")
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${SQL_DIR}" OUTPUT_VARIABLE shown)
    wrap_text(wrapped "${indent}" "${shown}" "${content}")
    string(CONCAT text "${text}" "${wrapped}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(fill_template out template body)
  file(READ "${SQL_DIR}/migrations/${template}" text)
  string(REPLACE "@VERSION@" "${VERSION}" text "${text}")
  string(REPLACE "@BASE@" "${BASE}" text "${text}")
  string(REPLACE "@NAME@" "${NAME}" text "${text}")
  string(REPLACE "@OLDEST_HOST@" "${OLDEST_HOST}" text "${text}")
  replace_once(text "${text}" "@BODY@\n" "${body}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Appends a C byte array of that name to a variable.
function(c_text out symbol text)
  file(WRITE "${OUT_DIR}/c_text.tmp" "${text}")
  file(READ "${OUT_DIR}/c_text.tmp" hex HEX)
  file(REMOVE "${OUT_DIR}/c_text.tmp")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
         "\\1\n" bytes "${bytes}")
  string(CONCAT whole "${${out}}" "static const char ${symbol}[] = {\n${bytes}0x00};\n")
  set(${out} "${whole}" PARENT_SCOPE)
endfunction()
