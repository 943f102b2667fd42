# SPDX-License-Identifier: MIT
# cmake -DROOT=<dir> -P check_includes.cmake
# Each #include below ROOT names a header below ROOT or a header of the C++ standard library (no
# dot, no slash) or one of the compiler's vector intrinsics.
cmake_minimum_required(VERSION 3.22)

set(compiler_headers immintrin.h arm_neon.h arm_sve.h)
file(GLOB_RECURSE headers "${ROOT}/*.hpp")
set(failed FALSE)
foreach(header IN LISTS headers)
  get_filename_component(folder "${header}" DIRECTORY)
  file(STRINGS "${header}" lines REGEX "^[ \t]*#[ \t]*include")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "include[ \t]*[<\"]([^>\"]+)[>\"]")
      set(name "${line}")
    else()
      set(name "${CMAKE_MATCH_1}")
      if(name MATCHES "^[a-z_0-9]+$" OR name IN_LIST compiler_headers OR EXISTS "${ROOT}/${name}"
         OR (line MATCHES "\"" AND EXISTS "${folder}/${name}"))
        continue()
      endif()
    endif()
    file(RELATIVE_PATH shown "${ROOT}" "${header}")
    message(NOTICE "${shown} includes ${name}: the core needs only a C++20 compiler")
    set(failed TRUE)
  endforeach()
endforeach()
if(NOT headers)
  message(FATAL_ERROR "no headers below ${ROOT}")
endif()
if(failed)
  message(FATAL_ERROR "the core includes what it may not")
endif()
