# SPDX-License-Identifier: MIT
# Third-party libraries: an installed package when there is one, else the pinned release. Each is
# looked for only by the part of the tree that needs it; the core needs none. See
# docs/dependencies.md. CMAKE_DISABLE_FIND_PACKAGE_<Name>=ON forces the download, and
# FETCHCONTENT_SOURCE_DIR_<NAME> replaces the download by a local source tree.

include(FetchContent)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)
endif()

# Only the headers of a fetched header-only library are of interest, not its CMakeLists.txt: an
# imported target hands them on as system headers and needs no place in our export set.
macro(epikv_imported_headers target include_dir)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${include_dir}")
endmacro()

# Downloads without running the fetched project: SOURCE_SUBDIR names a folder it does not have.
macro(epikv_fetch_headers name)
  message(STATUS "EpiKV: no ${name} package found, using the pinned release")
  FetchContent_Declare(${name} ${ARGN} SOURCE_SUBDIR epikv-runs-no-foreign-build)
  FetchContent_MakeAvailable(${name})
endmacro()

macro(epikv_fetch_project name)
  message(STATUS "EpiKV: no ${name} package found, using the pinned release")
  FetchContent_Declare(${name} ${ARGN})
  FetchContent_MakeAvailable(${name})
endmacro()

# Marks the headers of a fetched project's target as system headers.
function(epikv_system_headers target)
  get_target_property(_aliased ${target} ALIASED_TARGET)
  if(_aliased)
    set(target ${_aliased})
  endif()
  get_target_property(_dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(_dirs)
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_dirs}")
  endif()
endfunction()

# Sets up Eigen3::Eigen from an installed package, or not at all.
macro(epikv_find_eigen)
  if(NOT TARGET Eigen3::Eigen)
    find_package(Eigen3 3.4 QUIET NO_MODULE)
    if(TARGET Eigen3::Eigen)
      # A project that adds EpiKV as a subdirectory links epikv::cpu from outside this scope.
      set_target_properties(Eigen3::Eigen PROPERTIES IMPORTED_GLOBAL TRUE)
    endif()
  endif()
endmacro()

macro(epikv_require_eigen)
  epikv_find_eigen()
  if(NOT TARGET Eigen3::Eigen)
    epikv_fetch_headers(
      eigen
      URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
      URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72)
    epikv_imported_headers(Eigen3::Eigen "${eigen_SOURCE_DIR}")
  endif()
endmacro()

macro(epikv_require_fmt)
  if(NOT TARGET fmt::fmt)
    find_package(fmt 9 QUIET NO_MODULE)
    if(NOT TARGET fmt::fmt)
      epikv_fetch_project(
        fmt
        URL https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
        URL_HASH SHA256=5dea48d1fcddc3ec571ce2058e13910a0d4a6bab4cc09a809d8b1dd1c88ae6f2)
      epikv_system_headers(fmt::fmt)
    endif()
  endif()
endmacro()

macro(epikv_require_nlohmann_json)
  if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json 3.11 QUIET NO_MODULE)
    if(NOT TARGET nlohmann_json::nlohmann_json)
      epikv_fetch_headers(
        nlohmann_json
        URL https://github.com/nlohmann/json/releases/download/v3.11.2/json.tar.xz
        URL_HASH SHA256=8c4b26bf4b422252e13f332bc5e388ec0ab5c3443d24399acb675e68278d341f)
      epikv_imported_headers(nlohmann_json::nlohmann_json "${nlohmann_json_SOURCE_DIR}/include")
    endif()
  endif()
endmacro()

macro(epikv_require_doctest)
  if(NOT TARGET doctest::doctest)
    find_package(doctest 2.4.9 QUIET NO_MODULE)
    if(NOT TARGET doctest::doctest)
      epikv_fetch_headers(
        doctest
        URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.9.tar.gz
        URL_HASH SHA256=19b2df757f2f3703a5e63cee553d85596875f06d91a3333acd80a969ef210856)
      epikv_imported_headers(doctest::doctest "${doctest_SOURCE_DIR}")
    endif()
  endif()
endmacro()

macro(epikv_require_benchmark)
  if(NOT TARGET benchmark::benchmark)
    find_package(benchmark 1.7 QUIET NO_MODULE)
    if(NOT TARGET benchmark::benchmark)
      set(BENCHMARK_ENABLE_TESTING OFF CACHE INTERNAL "")
      set(BENCHMARK_ENABLE_GTEST_TESTS OFF CACHE INTERNAL "")
      set(BENCHMARK_ENABLE_WERROR OFF CACHE INTERNAL "")
      set(BENCHMARK_ENABLE_INSTALL OFF CACHE INTERNAL "")
      set(BENCHMARK_INSTALL_DOCS OFF CACHE INTERNAL "")
      epikv_fetch_project(
        benchmark
        URL https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz
        URL_HASH SHA256=6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7)
      epikv_system_headers(benchmark::benchmark)
    endif()
  endif()
endmacro()
