# SPDX-License-Identifier: MIT
# epikv_report_pages(): pages and charts of made-up data, read as XML by Python where there is one
# and opened in a browser where there is one too.
function(epikv_report_pages)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/report/browser")
  set(pages "${CMAKE_CURRENT_BINARY_DIR}/report-pages")
  file(MAKE_DIRECTORY "${pages}")
  add_executable(epikv-report-pages "${folder}/pages.cpp")
  epikv_own_target(epikv-report-pages)
  target_include_directories(epikv-report-pages PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/report")
  target_link_libraries(epikv-report-pages PRIVATE epikv-report-lib)
  add_test(NAME report.pages COMMAND epikv-report-pages "${pages}")
  set_tests_properties(report.pages PROPERTIES LABELS report FIXTURES_SETUP epikv-report-pages)

  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT Python3_Interpreter_FOUND)
    message(STATUS "EpiKV: no Python 3, so no test reads the report's charts and pages")
    return()
  endif()
  add_test(NAME report.charts_are_xml COMMAND "${Python3_EXECUTABLE}" "${folder}/check_xml.py"
                                              "${pages}")
  set(tests report.charts_are_xml)
  find_program(EPIKV_CHROMIUM NAMES chromium chromium-browser google-chrome)
  mark_as_advanced(EPIKV_CHROMIUM)
  if(EPIKV_CHROMIUM AND UNIX)
    add_test(NAME report.browser COMMAND "${Python3_EXECUTABLE}" "${folder}/check_pages.py"
                                         "${EPIKV_CHROMIUM}" "${pages}")
    list(APPEND tests report.browser)
  else()
    message(STATUS "EpiKV: no Chromium, so no test opens the report's pages in a browser")
  endif()
  set_tests_properties(${tests} PROPERTIES LABELS report FIXTURES_REQUIRED epikv-report-pages
                                           TIMEOUT 180)
endfunction()

if(TARGET epikv-report-lib)
  epikv_test_folder(report epikv-report-lib)
  epikv_report_pages()
endif()
