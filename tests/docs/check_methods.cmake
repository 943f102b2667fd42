# SPDX-License-Identifier: MIT
# cmake -DPROGRAM=<epikv-methods> -DPAGE=<docs/methods.md> -P check_methods.cmake
# The page is what the program prints.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ "${PAGE}" page)
if(NOT printed STREQUAL page)
  message(FATAL_ERROR "${PAGE} is not what ${PROGRAM} prints: write its output there")
endif()
