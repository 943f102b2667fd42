# SPDX-License-Identifier: MIT

# epikv_embed(OUTPUT NAMESPACE NAME FILE [NAME FILE]...): writes a source file that defines the text
# of each FILE as `const std::string_view NAME` in NAMESPACE. Runs at configure time, and again when
# a FILE has changed.
function(epikv_embed output namespace)
  set(source "// Written by embed.cmake.\n#include <string_view>\n\nnamespace ${namespace} {\n")
  while(ARGN)
    list(POP_FRONT ARGN name file)
    get_filename_component(file "${file}" ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    if(text MATCHES "[^\t\n -~]" OR text MATCHES "\\)embedded\"")
      message(FATAL_ERROR "${file}: only ASCII, without the delimiter of the literal, is embedded")
    endif()
    # Several literals in a row: compilers need not take long ones.
    string(LENGTH "${text}" length)
    set(literals "")
    set(from 0)
    while(from LESS length)
      string(SUBSTRING "${text}" ${from} 8000 piece)
      string(APPEND literals "\n    R\"embedded(${piece})embedded\"")
      math(EXPR from "${from} + 8000")
    endwhile()
    string(APPEND source "\nextern const std::string_view ${name};\n"
                         "const std::string_view ${name} =${literals};\n")
  endwhile()
  string(APPEND source "\n}  // namespace ${namespace}\n")
  set(old "")
  if(EXISTS "${output}")
    file(READ "${output}" old)
  endif()
  if(NOT old STREQUAL source)
    file(WRITE "${output}" "${source}")
  endif()
endfunction()
