// SPDX-License-Identifier: MIT
// expect: a score's observe() must be noexcept
#include "../concepts/archetypes.hpp"

#ifdef EPIKV_EXPECT_FAIL
#define MAYBE_NOEXCEPT
#else
#define MAYBE_NOEXCEPT noexcept
#endif

struct score : epikv_test::minimal_score {
  template <epikv::Backend B>
  void observe(B&, const epikv::cache_shape&, state<B>&,
               const epikv::observation<signals>&) const MAYBE_NOEXCEPT {}
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<score, epikv::top_k, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
