// SPDX-License-Identifier: MIT
#pragma once

// A small llama engine that shows what a host of EpiKV has to offer; it knows nothing of EpiKV.
// Needs C++20 and Eigen. To read it, follow a model from its file to its answer:

// clang-format off
#include "result.hpp"       // errors as values
#include "types.hpp"        // tokens, positions, matrices
#include "byte_reader.hpp"  // bounds-checked little-endian numbers
#include "gguf_value.hpp"   // the values in a model file
#include "tensor_type.hpp"  // how its numbers may be stored
#include "gguf.hpp"         // the model file
#include "config.hpp"       // the sizes of the model
#include "weights.hpp"      // its matrices
#include "tokenizer.hpp"    // characters to tokens and back
#include "kv_cache.hpp"     // what the model remembers
#include "numerics.hpp"     // the arithmetic
#include "decoder.hpp"      // the forward pass
#include "generate.hpp"     // greedy decoding
#include "ledger.hpp"       // the task the shipped weights solve
#include "reference.hpp"    // the forward pass again, as an oracle
// clang-format on
