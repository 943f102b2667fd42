# SPDX-License-Identifier: MIT
# One case per call: cmake -DCASE=<name> -DWORK=<scratch> -DSOURCE= -DBINARY= -DVERSION=
#   -DGENERATOR= -DCOMPILER= -DLANGUAGE_FLAGS=<a|b> -DSTANDARD_FLAG= [-DEigen3_DIR=] -P check.cmake
cmake_minimum_required(VERSION 3.22)

set(prefix "${WORK}/prefix")
set(scratch "${WORK}/${CASE}")
set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")
file(REMOVE_RECURSE "${scratch}")
file(MAKE_DIRECTORY "${scratch}")
string(REPLACE "|" ";" language_flags "${LANGUAGE_FLAGS}")
list(JOIN language_flags " " language_flags)

# run(WHAT COMMAND...): stops with the whole output unless COMMAND succeeds.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(NOTICE "${output}") # as it is; FATAL_ERROR would wrap it
    message(FATAL_ERROR "${CASE}: ${what} failed (${result})")
  endif()
endfunction()

set(configure "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${consumer}" -B "${scratch}/build"
              "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${language_flags}"
              "-DEXPECTED_VERSION=${VERSION}")
set(with_eigen "-DEigen3_DIR=${Eigen3_DIR}")
set(without_eigen -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON -DFETCHCONTENT_FULLY_DISCONNECTED=ON)

# consume(ARGUMENTS...): configure with the arguments, build, run.
function(consume)
  run("configuring" ${configure} ${ARGN})
  run("building" "${CMAKE_COMMAND}" --build "${scratch}/build")
  run("running" "${scratch}/build/consumer")
endfunction()

# refused(SENTENCE ARGUMENTS...): configuring fails and says SENTENCE.
function(refused sentence)
  execute_process(COMMAND ${configure} ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "${CASE}: must be refused with '${sentence}', but was accepted")
  endif()
  string(REGEX REPLACE "[ \n]+" " " flat "${output}") # CMake wraps long messages
  string(FIND "${flat}" "${sentence}" at)
  if(at EQUAL -1)
    message(NOTICE "${output}")
    message(FATAL_ERROR "${CASE}: refused, but without saying '${sentence}'")
  endif()
endfunction()

function(install_to dir)
  run("installing" "${CMAKE_COMMAND}" --install "${BINARY}" --prefix "${dir}")
endfunction()

if(CASE STREQUAL "plain_compiler")
  # Without the build system at all.
  string(REPLACE " " ";" flags "${language_flags}")
  run("compiling" "${COMPILER}" "${STANDARD_FLAG}" ${flags} -I "${SOURCE}/include"
      "${consumer}/core.cpp" -o "${scratch}/consumer")
  run("running" "${scratch}/consumer")

elseif(CASE STREQUAL "subdirectory_core")
  # Neither our tests nor a dependency come along.
  consume(-DHOW=subdirectory "-DEPIKV_DIR=${SOURCE}" ${without_eigen}
          -DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)

elseif(CASE STREQUAL "subdirectory_cpu")
  consume(-DHOW=subdirectory "-DEPIKV_DIR=${SOURCE}" -DUSE_CPU=ON "${with_eigen}")

elseif(CASE STREQUAL "fetch_content_core")
  # An archive of what a consumer needs, fetched like a release.
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E tar czf "${scratch}/epikv.tar.gz" CMakeLists.txt LICENSE cmake
            include backends
    WORKING_DIRECTORY "${SOURCE}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${CASE}: packing the sources failed")
  endif()
  consume(-DHOW=fetch "-DEPIKV_DIR=${scratch}/epikv.tar.gz"
          -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)

elseif(CASE STREQUAL "install")
  file(REMOVE_RECURSE "${prefix}")
  install_to("${prefix}")

elseif(CASE STREQUAL "installed_core")
  consume(-DHOW=package "-DCMAKE_PREFIX_PATH=${prefix}" ${without_eigen})

elseif(CASE STREQUAL "installed_cpu")
  consume(-DHOW=package "-DCMAKE_PREFIX_PATH=${prefix}" -DUSE_CPU=ON "${with_eigen}")

elseif(CASE STREQUAL "installed_component_missing_dependency")
  refused("needs Eigen 3.4, which was not found" -DHOW=package "-DCMAKE_PREFIX_PATH=${prefix}"
          -DUSE_CPU=ON ${without_eigen})

elseif(CASE STREQUAL "installed_component_unknown")
  refused("it has no component 'tpu', only 'cpu'" -DHOW=package "-DCMAKE_PREFIX_PATH=${prefix}"
          -DASK_COMPONENT=tpu)

elseif(CASE STREQUAL "installed_version_too_new")
  refused("compatible with requested version \"99.0\"" -DHOW=package
          "-DCMAKE_PREFIX_PATH=${prefix}" -DASK_VERSION=99.0)

elseif(CASE STREQUAL "installed_version_other_minor")
  # Before 1.0 a program written for another minor version is refused, in both directions.
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" ignored "${VERSION}")
  math(EXPR newer "${CMAKE_MATCH_2} + 1")
  set(asked "${CMAKE_MATCH_1}.${newer}")
  refused("compatible with requested version \"${asked}\"" -DHOW=package
          "-DCMAKE_PREFIX_PATH=${prefix}" "-DASK_VERSION=${asked}")

elseif(CASE STREQUAL "installed_moved_prefix")
  install_to("${scratch}/before")
  file(RENAME "${scratch}/before" "${scratch}/moved here")
  file(GLOB_RECURSE files "${scratch}/moved here/*.cmake")
  if(NOT files)
    message(FATAL_ERROR "${CASE}: no package files were installed")
  endif()
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    foreach(path "${scratch}" "${SOURCE}" "${BINARY}")
      string(FIND "${text}" "${path}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${CASE}: ${file} contains the path ${path}")
      endif()
    endforeach()
  endforeach()
  consume(-DHOW=package "-DCMAKE_PREFIX_PATH=${scratch}/moved here")

else()
  message(FATAL_ERROR "no case '${CASE}'")
endif()
