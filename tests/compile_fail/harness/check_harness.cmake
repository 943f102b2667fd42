# SPDX-License-Identifier: MIT
# Proves that check.cmake accepts sample.cpp and refuses each way in which a case can be wrong.
# Takes the variables of check.cmake but for CASE, and SCRATCH, a folder to write to.
cmake_minimum_required(VERSION 3.22)

file(READ "${CMAKE_CURRENT_LIST_DIR}/sample.cpp" sample)

# harness_check(NAME CONTENT REASON): REASON "" means that the case must be accepted.
function(harness_check name content reason)
  set(case "${SCRATCH}/${name}.cpp")
  file(WRITE "${case}" "${content}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" "-DCASE=${case}" "-DCOMPILER=${COMPILER}"
            "-DCOMPILER_ID=${COMPILER_ID}" "-DFLAGS=${FLAGS}" "-DINCLUDE=${INCLUDE}"
            "-DSYSTEM_INCLUDE=${SYSTEM_INCLUDE}" -P "${CMAKE_CURRENT_LIST_DIR}/../check.cmake"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(reason STREQUAL "")
    if(NOT result EQUAL 0)
      message(NOTICE "${output}")
      message(FATAL_ERROR "${name}: refused, but must be accepted")
    endif()
    return()
  endif()
  if(result EQUAL 0)
    message(FATAL_ERROR "${name}: accepted, but must be refused: ${reason}")
  endif()
  # CMake wraps long messages.
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${reason}" at)
  if(at EQUAL -1)
    message(NOTICE "${output}")
    message(FATAL_ERROR "${name}: refused, but not because '${reason}'")
  endif()
endfunction()

# harness_variant(NAME FROM TO REASON): the sample with FROM replaced by TO.
function(harness_variant name from to reason)
  string(REPLACE "${from}" "${to}" content "${sample}")
  if(content STREQUAL sample)
    message(FATAL_ERROR "${name}: sample.cpp does not contain '${from}'")
  endif()
  harness_check(${name} "${content}" "${reason}")
endfunction()

harness_check(accepted "${sample}" "")
harness_variant(wrong_sentence "// expect: a sample's size()" "// expect: a sample's length()"
                "no error says")
harness_variant(one_of_two_sentences_wrong "template <class T>"
                "// expect: and something else\ntemplate <class T>" "no error says")
harness_variant(no_sentence "// expect:" "// hope:" "no '// expect: <sentence>' line")
harness_variant(twin_does_not_compile "#else" "#else\n  int oops" "must compile, but")
harness_variant(failing_one_compiles "int size() const;" "int size() const noexcept;"
                "compiles with EPIKV_EXPECT_FAIL, but must not")
# The right sentence, but only in a line that the compiler would quote beside another error.
harness_variant(
  another_error "int size() const;"
  "int size() const noexcept;\n  absent x; // a sample's size() must be noexcept; [see the docs], please"
  "no error says")
