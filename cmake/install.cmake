# SPDX-License-Identifier: MIT
# The package: find_package(epikv) gives epikv::epikv, find_package(epikv COMPONENTS cpu) also
# epikv::cpu. Nothing in it depends on the processor or on where the prefix lies.

include(CMakePackageConfigHelpers)

set(_epikv_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/epikv")

install(TARGETS epikv EXPORT epikv-core)
install(EXPORT epikv-core NAMESPACE epikv:: FILE epikvTargets.cmake
        DESTINATION "${_epikv_package_dir}")
install(DIRECTORY include/epikv DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING
        PATTERN "*.hpp")

if(EPIKV_HAS_CPU)
  install(TARGETS epikv_cpu EXPORT epikv-cpu)
  install(EXPORT epikv-cpu NAMESPACE epikv:: FILE epikvCpuTargets.cmake
          DESTINATION "${_epikv_package_dir}")
  install(DIRECTORY backends/cpu/epikv DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING
          PATTERN "*.hpp")
endif()

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/epikvConfig.cmake.in" "${PROJECT_BINARY_DIR}/epikvConfig.cmake"
  INSTALL_DESTINATION "${_epikv_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/epikvConfigVersion.cmake" COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/epikvConfig.cmake"
              "${PROJECT_BINARY_DIR}/epikvConfigVersion.cmake"
        DESTINATION "${_epikv_package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/epikv")
