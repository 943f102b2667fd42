// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "epikv/primitives.hpp"
#include "epikv/status.hpp"

namespace epikv::inline v0 {

namespace detail {

template <class B, class Job>
concept runs_job = requires(B& b, const Job& job) {
  { b.run(job) } noexcept;
};
template <class B, class... Jobs>
consteval bool runs_every_job(job_list<Jobs...>) {
  return (runs_job<B, Jobs> && ...);
}

}  // namespace detail

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
///  (6) `run(job)` for every job of `backend_jobs` (primitives.hpp).
///
/// Semantics: (1) every job computes what primitives.hpp says, to the bit; (2) results do not
/// depend on the batch, the number of threads or tuning; (3) jobs take effect in call order;
/// (4) allocated memory is aligned to 64 bytes; (5) `run` neither allocates nor waits for a device.
/// Complexity: per job as stated there. Threads: one evictor's calls come from one thread at a
/// time; a backend object shared by evictors on different threads must be stateless or locked. Not
/// required: that the host can read the memory; that an unsupported dtype works. Smallest model:
/// tests/concepts/archetypes.hpp, minimal_backend.
template <class B>
concept Backend = requires(B& b, const B& cb, std::size_t bytes, void* to, const void* from,
                           dtype type, std::int32_t length) {
  typename B::epikv_backend;                                           // (1)
  { cb.device() } noexcept -> std::same_as<device_kind>;               // (2)
  { cb.supports(type) } noexcept -> std::same_as<status>;              // (3)
  { b.allocate(bytes) } noexcept -> std::same_as<void*>;               // (4)
  { b.deallocate(to, bytes) } noexcept;                                // (4)
  { b.clear(to, bytes) } noexcept;                                     // (4)
  { b.copy(to, from, bytes) } noexcept;                                // (4)
  { cb.scratch_bytes(length) } noexcept -> std::same_as<std::size_t>;  // (5)
} && detail::runs_every_job<B>(backend_jobs{});                        // (6)

}  // namespace epikv::inline v0
