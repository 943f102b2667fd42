# SPDX-License-Identifier: MIT
# cmake -DCASE=<file> -DCOMPILER=<c++> -DCOMPILER_ID=<GNU|Clang> -DFLAGS=<a|b> -DINCLUDE=<a|b>
#       -DSYSTEM_INCLUDE=<a|b> -P check.cmake
# Lists are separated by | so that they pass through a command line whole.
cmake_minimum_required(VERSION 3.22)

string(REPLACE "|" ";" command "${FLAGS}")
foreach(kind INCLUDE SYSTEM_INCLUDE)
  string(REPLACE "|" ";" dirs "${${kind}}")
  foreach(dir IN LISTS dirs)
    if(kind STREQUAL "INCLUDE")
      list(APPEND command "-I${dir}")
    else()
      list(APPEND command -isystem "${dir}")
    endif()
  endforeach()
endforeach()

# Only the compiler's own words count, so it must not quote the source, where the sentence stands
# anyway; and it must not stop before it has said it.
list(APPEND command -fsyntax-only -w -fdiagnostics-color=never -fmessage-length=0)
if(COMPILER_ID MATCHES "Clang")
  list(APPEND command -fno-caret-diagnostics -ferror-limit=0)
else()
  list(APPEND command -fno-diagnostics-show-caret -fmax-errors=0)
endif()
list(PREPEND command "${COMPILER}")
list(APPEND command "${CASE}")

set(ENV{LC_ALL} C)

set(expected "")
file(READ "${CASE}" rest)
while(rest MATCHES "// expect:[ \t]*([^\r\n]*)")
  set(sentence "${CMAKE_MATCH_1}")
  string(STRIP "${sentence}" sentence)
  if(sentence STREQUAL "")
    message(FATAL_ERROR "${CASE}: an empty '// expect:' line")
  endif()
  string(REPLACE ";" "\\;" sentence "${sentence}")
  list(APPEND expected "${sentence}")
  string(FIND "${rest}" "// expect:" at)
  math(EXPR at "${at} + 10")
  string(SUBSTRING "${rest}" ${at} -1 rest)
endwhile()
if(expected STREQUAL "")
  message(FATAL_ERROR "${CASE}: no '// expect: <sentence>' line")
endif()

execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(NOTICE "${output}") # as it is; FATAL_ERROR would wrap it
  message(FATAL_ERROR "${CASE}: the twin without EPIKV_EXPECT_FAIL must compile, but does not")
endif()

execute_process(COMMAND ${command} -DEPIKV_EXPECT_FAIL RESULT_VARIABLE result
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${CASE}: compiles with EPIKV_EXPECT_FAIL, but must not")
endif()
set(errors "")
string(REPLACE ";" "," lines "${output}")
string(REPLACE "[" "(" lines "${lines}")
string(REPLACE "]" ")" lines "${lines}")
string(REPLACE "\n" ";" lines "${lines}")
foreach(line IN LISTS lines)
  if(line MATCHES "error: ")
    string(APPEND errors "${line}\n")
  endif()
endforeach()
foreach(sentence IN LISTS expected)
  # The same three replacements, so that both sides compare equal.
  string(REPLACE ";" "," wanted "${sentence}")
  string(REPLACE "[" "(" wanted "${wanted}")
  string(REPLACE "]" ")" wanted "${wanted}")
  string(FIND "${errors}" "${wanted}" at)
  if(at EQUAL -1)
    message(NOTICE "${output}")
    message(FATAL_ERROR "${CASE}: no error says: ${sentence}")
  endif()
endforeach()
