// SPDX-License-Identifier: MIT
#pragma once

#define EPIKV_VERSION_MAJOR 0
#define EPIKV_VERSION_MINOR 1
#define EPIKV_VERSION_PATCH 0
