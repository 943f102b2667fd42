// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/primitives/attention.hpp"
#include "epikv/primitives/keys.hpp"
#include "epikv/primitives/numbers.hpp"
#include "epikv/primitives/rows.hpp"
#include "epikv/primitives/selection.hpp"

// The jobs a backend carries out. Each is a plain description: pointers into the backend's memory,
// sizes known to the host. What each one computes is written there once; every backend does the
// same to the bit (detail/canonical.hpp holds the shared arithmetic).

namespace epikv::inline v0 {

/// Kinds of jobs, as a type.
template <class... Jobs>
struct job_list {};

/// Every job a backend runs.
using backend_jobs =
    job_list<distance_job, store_job, statistic_job, rolling_job, mean_job, unscored_job,
             accumulate_job, cell_sum_job, softmax_job, pool_job, blend_job, product_job,
             replace_unscored_job, attention_job, age_job, stamp_job, relevance_job,
             key_difference_job, redundancy_job, lag_job, draw_job, gumbel_job, resolve_job,
             keep_best_job, chunk_job, tiered_job, exchange_job, split_job, compact_job>;

}  // namespace epikv::inline v0
