// SPDX-License-Identifier: MIT
// expect: a score reads only the signals it declares
#include "../concepts/archetypes.hpp"

struct score : epikv_test::minimal_score {
#ifdef EPIKV_EXPECT_FAIL
  using read = epikv::signals::keys;
#else
  using read = epikv::signals::hidden_out;
#endif
  template <epikv::Backend B>
  void observe(B&, const epikv::cache_shape&, state<B>&,
               const epikv::observation<signals>& seen) const noexcept {
    static_cast<void>(seen.template view<read>());
  }
};

// What observe() does is looked at where an evictor calls it, not where one is named.
bool show(epikv::evictor<score, epikv::top_k, epikv::cpu_backend>& evictor,
          const epikv::layer_signals& given) {
  return evictor.observe(0, given).ok();
}
