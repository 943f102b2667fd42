# SPDX-License-Identifier: MIT
# Compares every C++ block of a page that names its source with that source:
#
#   <!-- snippet: examples/quickstart/main.cpp host -->
#   ```cpp
#   the lines between "// snippet: host" and "// end snippet", to the letter
#   ```
#
# cmake -DROOT=... -DPAGE=... -P check_snippets.cmake. A C++ block without a source is an error: it
# is compiled by nobody.

file(READ "${ROOT}/${PAGE}" page)
# CMake lists split at semicolons and treat brackets and backslashes as syntax.
function(protect text out)
  string(REPLACE "\\" "@B@" text "${text}")
  string(REPLACE ";" "@S@" text "${text}")
  string(REPLACE "[" "@O@" text "${text}")
  string(REPLACE "]" "@C@" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
protect("${page}" page)

string(REGEX MATCHALL "```cpp\n" blocks "${page}")
list(LENGTH blocks block_count)
string(REGEX MATCHALL "<!-- snippet: [^ \n]+ [^ \n]+ -->\n```cpp\n[^`]*```" snippets "${page}")
list(LENGTH snippets snippet_count)
if(NOT block_count EQUAL snippet_count)
  message(FATAL_ERROR "${PAGE}: ${block_count} C++ blocks, but only ${snippet_count} name a source")
endif()

foreach(snippet IN LISTS snippets)
  string(REGEX MATCH "^<!-- snippet: ([^ \n]+) ([^ \n]+) -->\n```cpp\n([^`]*)```" unused "${snippet}")
  set(source "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")
  set(shown "${CMAKE_MATCH_3}")
  file(READ "${ROOT}/${source}" code)
  protect("${code}" code)
  string(FIND "${code}" "// snippet: ${name}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${PAGE}: ${source} has no snippet ${name}")
  endif()
  string(LENGTH "// snippet: ${name}\n" marker)
  math(EXPR begin "${begin} + ${marker}")
  string(SUBSTRING "${code}" ${begin} -1 code)
  string(FIND "${code}" "// end snippet" end)
  string(SUBSTRING "${code}" 0 ${end} code)
  if(NOT code STREQUAL shown)
    message(FATAL_ERROR "${PAGE}: the block from ${source} ${name} is not what the source says:\n"
                        "${shown}\n-- the source:\n${code}")
  endif()
endforeach()
message(STATUS "${PAGE}: ${snippet_count} snippets are as their sources")
