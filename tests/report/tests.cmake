# SPDX-License-Identifier: MIT
if(TARGET epikv-report-lib)
  epikv_test_folder(report epikv-report-lib)
endif()
