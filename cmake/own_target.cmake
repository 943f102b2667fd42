# SPDX-License-Identifier: MIT
# Flags of the project's own executables and of the static libraries they are made of. None of this
# reaches epikv::epikv or epikv::cpu: how a consumer compiles is the consumer's business.

include(CheckCXXCompilerFlag)

set(EPIKV_STRICT_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(EPIKV_WARNINGS_AS_ERRORS)
  list(APPEND EPIKV_STRICT_WARNINGS -Werror)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports an overlap in std::string's own operator+ (GCC bug 105329).
  list(APPEND EPIKV_STRICT_WARNINGS -Wno-restrict)
endif()

set(EPIKV_LANGUAGE_FLAGS "")
if(NOT EPIKV_EXCEPTIONS)
  list(APPEND EPIKV_LANGUAGE_FLAGS -fno-exceptions -fno-rtti)
endif()

set(EPIKV_SANITIZE_FLAGS "")
if(EPIKV_SANITIZE)
  list(APPEND EPIKV_SANITIZE_FLAGS "-fsanitize=${EPIKV_SANITIZE}" -fno-sanitize-recover=all
       -fno-omit-frame-pointer)
endif()

set(EPIKV_NATIVE_FLAGS "")
if(EPIKV_NATIVE)
  check_cxx_compiler_flag(-march=native EPIKV_COMPILER_HAS_MARCH_NATIVE)
  if(EPIKV_COMPILER_HAS_MARCH_NATIVE)
    list(APPEND EPIKV_NATIVE_FLAGS -march=native)
  endif()
endif()

if(EPIKV_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(EPIKV_CCACHE ccache)
  mark_as_advanced(EPIKV_CCACHE)
  if(EPIKV_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${EPIKV_CCACHE}")
    if(EPIKV_NATIVE_FLAGS)
      # ccache takes -march=native for the same flag on every machine. What it stands for here is
      # written to a file that ccache hashes with each source.
      set(_epikv_macros "${PROJECT_BINARY_DIR}/native_macros.h")
      execute_process(
        COMMAND "${CMAKE_CXX_COMPILER}" ${EPIKV_NATIVE_FLAGS} -dM -E -x c++ /dev/null
        OUTPUT_FILE "${_epikv_macros}" ERROR_QUIET)
      list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
           "CCACHE_EXTRAFILES=${_epikv_macros}")
    endif()
  endif()
endif()

# epikv_own_target(TARGET): strict warnings, sanitizers, -march=native, exceptions on or off.
function(epikv_own_target target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(
    ${target} PRIVATE ${EPIKV_STRICT_WARNINGS} ${EPIKV_LANGUAGE_FLAGS} ${EPIKV_SANITIZE_FLAGS}
                      ${EPIKV_NATIVE_FLAGS})
  target_link_options(${target} PRIVATE ${EPIKV_SANITIZE_FLAGS})
endfunction()
