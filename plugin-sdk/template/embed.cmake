# The files of the template folders as C:
# cmake -DTEMPLATE_DIR=... -DOUT_C=... -P embed.cmake
cmake_minimum_required(VERSION 3.25)

set(rows "")
foreach(lang c c++ rust)
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE "${TEMPLATE_DIR}/${lang}"
       "${TEMPLATE_DIR}/${lang}/*")
  list(SORT files)
  foreach(path IN LISTS files)
    file(READ "${TEMPLATE_DIR}/${lang}/${path}" bytes HEX)
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
    string(APPEND rows "    {\"${lang}\", \"${path}\",\n     \"${bytes}\"},\n")
  endforeach()
endforeach()
file(WRITE "${OUT_C}" "/* Generated from plugin-sdk/template. */
#include \"template_files.h\"

const struct template_file template_files[] = {
${rows}};

const size_t template_files_count = sizeof template_files / sizeof template_files[0];
")
