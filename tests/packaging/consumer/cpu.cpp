// SPDX-License-Identifier: MIT
#include <epikv/cpu.hpp>

static_assert(sizeof(epikv::cpu_backend) > 0);
