// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "epikv/primitives.hpp"
#include "epikv/status.hpp"

namespace epikv::inline v0 {

/// @concept Backend
/// Purpose: a device's way to carry out the primitives. CPU and CUDA are provided; a host may bring
/// a third by implementing this list.
///
/// Syntax (equal to the requires clause):
///  (1) tag alias `epikv_backend`;
///  (2) `device()`: the kind of memory it works on;
///  (3) `supports(dtype)`: ok, or the status a host is to see;
///  (4) `allocate(bytes)` (null on failure), `deallocate(p, bytes)`, `clear(p, bytes)`,
///      `copy(to, from, bytes)`;
///  (5) `scratch_bytes(length)`: scratch that selection primitives need for `length` slots;
///  (6) `run(job)` for every job of primitives.hpp up to `blend_job`: signals and numbers;
///  (7) `run(job)` for the selection jobs and `compact_job`.
///
/// Semantics: (1) every job computes what primitives.hpp says, to the bit; (2) results do not
/// depend on the batch, the number of threads or tuning; (3) jobs take effect in call order;
/// (4) allocated memory is aligned to 64 bytes; (5) `run` neither allocates nor waits for a device.
/// Complexity: per job as stated there. Threads: one evictor's calls come from one thread at a
/// time; a backend object shared by evictors on different threads must be stateless or locked. Not
/// required: that the host can read the memory; that an unsupported dtype works. Smallest model:
/// tests/concepts/archetypes.hpp, minimal_backend.
template <class B>
concept Backend =
    requires(B& b, const B& cb, std::size_t bytes, void* to, const void* from, dtype type,
             std::int32_t length) {
      typename B::epikv_backend;                                           // (1)
      { cb.device() } noexcept -> std::same_as<device_kind>;               // (2)
      { cb.supports(type) } noexcept -> std::same_as<status>;              // (3)
      { b.allocate(bytes) } noexcept -> std::same_as<void*>;               // (4)
      { b.deallocate(to, bytes) } noexcept;                                // (4)
      { b.clear(to, bytes) } noexcept;                                     // (4)
      { b.copy(to, from, bytes) } noexcept;                                // (4)
      { cb.scratch_bytes(length) } noexcept -> std::same_as<std::size_t>;  // (5)
    } &&
    requires(B& b, const distance_job& distance, const store_job& store,
             const statistic_job& statistic, const rolling_job& rolling, const mean_job& mean,
             const unscored_job& unscored, const relevance_job& relevance,
             const blend_job& blend) {  // (6)
      { b.run(distance) } noexcept;
      { b.run(store) } noexcept;
      { b.run(statistic) } noexcept;
      { b.run(rolling) } noexcept;
      { b.run(mean) } noexcept;
      { b.run(unscored) } noexcept;
      { b.run(relevance, static_cast<std::byte*>(nullptr)) } noexcept;
      { b.run(blend) } noexcept;
    } &&
    requires(B& b, const draw_job& draw, const resolve_job& resolve, const keep_best_job& best,
             const tiered_job& tiered, const exchange_job& exchange, split_job& split,
             const compact_job& compact) {  // (7)
      { b.run(draw) } noexcept;
      { b.run(resolve) } noexcept;
      { b.run(best) } noexcept;
      { b.run(tiered) } noexcept;
      { b.run(exchange) } noexcept;
      { b.run(split) } noexcept;
      { b.run(compact) } noexcept;
    };

}  // namespace epikv::inline v0
