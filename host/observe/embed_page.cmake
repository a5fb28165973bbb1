# cmake -DPAGE=in.html -DOUT=out.c -P embed_page.cmake: the page as C, with a policy that names
# its one script and its one style by their hashes, so that nothing else runs whatever is shown.

set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

# Base64 of the SHA-256 of a text. 32 bytes: ten groups of three, then two bytes and one "=".
function(hash_of text result)
  string(SHA256 hex "${text}")
  set(encoded "")
  foreach(group RANGE 9)
    math(EXPR at "${group} * 6")
    string(SUBSTRING "${hex}" ${at} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR place "(0x${bytes} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${place} 1 character)
      string(APPEND encoded "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${hex}" 60 4 bytes)
  foreach(shift 12 6 0)
    math(EXPR place "((0x${bytes} << 2) >> ${shift}) & 63")
    string(SUBSTRING "${alphabet}" ${place} 1 character)
    string(APPEND encoded "${character}")
  endforeach()
  set(${result} "${encoded}=" PARENT_SCOPE)
endfunction()

# What stands between the one <tag> and its </tag>.
function(content_of page tag result)
  string(FIND "${page}" "<${tag}>" from)
  string(FIND "${page}" "</${tag}>" to)
  string(LENGTH "<${tag}>" skipped)
  math(EXPR from "${from} + ${skipped}")
  math(EXPR size "${to} - ${from}")
  string(SUBSTRING "${page}" ${from} ${size} content)
  set(${result} "${content}" PARENT_SCOPE)
endfunction()

file(READ "${PAGE}" page)
content_of("${page}" style style)
content_of("${page}" script script)
hash_of("${style}" style_hash)
hash_of("${script}" script_hash)
file(READ "${PAGE}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "#include \"observe/status_page.h\"

const unsigned char status_page[] = {${bytes}};
const size_t status_page_size = sizeof status_page;
const char status_page_policy[] =
    \"default-src 'none'; script-src 'sha256-${script_hash}'; style-src 'sha256-${style_hash}'; \"
    \"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\";
")
