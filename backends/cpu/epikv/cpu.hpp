// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "epikv/cpu/attention.hpp"
#include "epikv/cpu/compact.hpp"
#include "epikv/cpu/keys.hpp"
#include "epikv/cpu/numbers.hpp"
#include "epikv/cpu/relevance.hpp"
#include "epikv/cpu/rolling.hpp"
#include "epikv/cpu/rows.hpp"
#include "epikv/cpu/selection.hpp"
#include "epikv/detail/philox.hpp"
#include "epikv/epikv.hpp"

namespace epikv::inline v0 {

/// The backend for host memory, on Eigen. Stateless, so one object may serve evictors on different
/// threads. Reads f32, f16 and bf16 with any strides; every job computes what primitives.hpp says
/// by the canonical reductions, whatever the compiler vectorises.
class cpu_backend {
 public:
  using epikv_backend = void;

  static constexpr device_kind device() noexcept { return device_kind::cpu; }
  static status supports(dtype type) noexcept {
    if (type == dtype::f32 || type == dtype::f16 || type == dtype::bf16) return {};
    return {errc::wrong_dtype, "dtype", detail::short_text{static_cast<int>(type)},
            "f32, f16 or bf16"};
  }

  void* allocate(std::size_t bytes) noexcept { return memory_.allocate(bytes); }
  void deallocate(void* data, std::size_t bytes) noexcept { memory_.deallocate(data, bytes); }
  void clear(void* data, std::size_t bytes) noexcept { memory_.clear(data, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) noexcept {
    memory_.copy(to, from, bytes);
  }
  static constexpr std::size_t scratch_bytes(std::int32_t length) noexcept {
    return cpu::scratch_bytes(length);
  }

  static void run(const distance_job& job) noexcept {
    *job.sum += static_cast<double>(cpu::distance(job.a, job.b, job.width));
  }
  static void run(const store_job& job) noexcept { cpu::load(job.row, 0, job.width, job.out); }
  static void run(const statistic_job& job) noexcept {
    const auto width = static_cast<std::int32_t>(job.view->extent(2));
    for (std::int32_t h = 0; h < job.heads; ++h) {
      *job.sum += static_cast<double>(
          cpu::statistic(job.statistic, row_of(*job.view, job.row, job.first_head + h), width));
    }
  }
  static void run(const rolling_job& job) noexcept { cpu::rolling_score(job); }
  static void run(const mean_job& job) noexcept {
    *job.out = detail::canonical(static_cast<float>(*job.sum / job.divisor));
  }
  static void run(const unscored_job& job) noexcept {
    std::fill_n(job.out, job.count, detail::unscored());
  }
  static void run(const accumulate_job& job) noexcept { cpu::accumulate(job); }
  static void run(const cell_sum_job& job) noexcept { cpu::sum_cells(job); }
  static void run(const softmax_job& job) noexcept { cpu::softmax(job); }
  static void run(const pool_job& job) noexcept { cpu::pool(job); }
  static void run(const product_job& job) noexcept { cpu::product(job); }
  static void run(const replace_unscored_job& job) noexcept { cpu::replace_unscored(job); }
  static void run(const attention_job& job) noexcept { cpu::take_attention(job); }
  static void run(const age_job& job) noexcept { cpu::divide_by_age(job); }
  static void run(const stamp_job& job) noexcept { cpu::stamp(job); }
  static void run(const relevance_job& job) noexcept { cpu::query_relevance(job); }
  static void run(const key_difference_job& job) noexcept { cpu::key_difference(job); }
  static void run(const redundancy_job& job) noexcept { cpu::redundancy(job); }
  static void run(const lag_job& job) noexcept { cpu::lag_deviation(job); }
  static void run(const blend_job& job) noexcept { cpu::blend(job); }
  static void run(const draw_job& job) noexcept {
    for (std::int32_t s = 0; s < job.length; ++s) {
      job.out[s] = detail::uniform_draw(job.seed, job.sequence, job.round, job.group,
                                        to_int(job.positions[s]));
    }
  }
  static void run(const gumbel_job& job) noexcept {
    for (std::int32_t s = 0; s < job.length; ++s) {
      job.out[s] = detail::gumbel_key(job.scores[s], job.beta, job.draws[s]);
    }
  }
  static void run(const resolve_job& job) noexcept { cpu::resolve(job); }
  static void run(const keep_best_job& job) noexcept { cpu::keep_best(job); }
  static void run(const chunk_job& job) noexcept { cpu::keep_chunks(job); }
  static void run(const tiered_job& job) noexcept { cpu::tiered(job); }
  static void run(const exchange_job& job) noexcept { cpu::exchange(job); }
  static void run(const split_job& job) noexcept { cpu::split(job); }
  static void run(const compact_job& job) noexcept { cpu::compact_rows(job); }

 private:
  detail::host_memory memory_;
};

static_assert(Backend<cpu_backend>);

#ifdef EPIKV_EXTERN_PRESETS
// Every preset is a type of its own, and a file that calls make_evictor() compiles them all. A
// program with many such files defines this macro for each and instantiates the template in one.
extern template result<any_evictor> make_evictor<cpu_backend>(std::string_view, const model_shape&,
                                                              const option_list&,
                                                              cpu_backend) noexcept;
extern template result<any_evictor> make_evictor<cpu_backend>(const model_shape&,
                                                              const any_score<cpu_backend>&,
                                                              const any_policy<cpu_backend>&,
                                                              cpu_backend,
                                                              const evictor_options&) noexcept;
#endif

/// make_evictor() on the CPU backend.
[[nodiscard]] inline result<any_evictor> make_evictor(std::string_view name,
                                                      const model_shape& shape,
                                                      const option_list& options = {}) noexcept {
  return make_evictor(name, shape, options, cpu_backend{});
}
[[nodiscard]] inline result<any_evictor> make_evictor(const preset_file& preset,
                                                      const model_shape& shape,
                                                      const option_list& more = {}) noexcept {
  return make_evictor(preset, shape, more, cpu_backend{});
}

/// compact() on the CPU backend.
[[nodiscard]] inline status compact(const contiguous_cache& cache,
                                    const sequence_selection& chosen) noexcept {
  cpu_backend backend;
  return compact(backend, cache, chosen);
}

}  // namespace epikv::inline v0
