# The blocks of sql/rollout as C: cmake -DSQL_DIR=... -DOUT_C=... -P rollout_texts.cmake
cmake_minimum_required(VERSION 3.25)

file(GLOB files LIST_DIRECTORIES false "${SQL_DIR}/rollout/*.sql")
list(SORT files)
set(rows "")
foreach(path IN LISTS files)
  cmake_path(GET path STEM name)
  file(READ "${path}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  string(APPEND rows "    {\"${name}\",\n     \"${text}\"},\n")
endforeach()
file(WRITE "${OUT_C}" "/* Generated from sql/rollout. */
#include \"sql/rollout_texts.h\"

const struct rollout_text rollout_texts[] = {
${rows}};

const size_t rollout_texts_count = sizeof rollout_texts / sizeof rollout_texts[0];
")
