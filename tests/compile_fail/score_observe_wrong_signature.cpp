// SPDX-License-Identifier: MIT
// expect: a score's observe() takes (backend, cache_shape, state, observation<signals>)
#include "../concepts/archetypes.hpp"

struct score : epikv_test::minimal_score {
#ifdef EPIKV_EXPECT_FAIL
  template <epikv::Backend B>
  void observe(B&, state<B>&, const epikv::observation<signals>&) const noexcept {}
#else
  template <epikv::Backend B>
  void observe(B&, const epikv::cache_shape&, state<B>&,
               const epikv::observation<signals>&) const noexcept {}
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<score, epikv::top_k, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
