// SPDX-License-Identifier: MIT
#include <epikv/epikv.hpp>

#ifdef EXPECTED_VERSION  // the header's version is the package's version
constexpr int expected[] = {EXPECTED_VERSION};
static_assert(expected[0] == EPIKV_VERSION_MAJOR);
static_assert(expected[1] == EPIKV_VERSION_MINOR);
static_assert(expected[2] == EPIKV_VERSION_PATCH);
#endif

using namespace epikv;

int main() { return 0; }
