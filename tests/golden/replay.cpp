// SPDX-License-Identifier: MIT

// Does the library select what the methods' authors select? Every golden case whose method is
// built is replayed through the public API, in this process and by the program epikv-replay.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "golden_cases.hpp"

namespace {

using golden_test::golden_files;
using golden_test::golden_folder;
using golden_test::replayed;
using golden_test::text_of;
using json = nlohmann::json;

// The cases that must replay; the rest of the folder waits for its methods.
const std::set<std::string> built{"attention_hs_sum",
                                  "band_adaptive",
                                  "epikv_flat_value_reserve",
                                  "epikv_flat_w64",
                                  "epikv_flat_w8",
                                  "epikv_q_add",
                                  "epikv_q_fill",
                                  "epikv_q_no_fill",
                                  "epikv_q_reserve",
                                  "epikv_seg_every_step",
                                  "epikv_seg_fill",
                                  "epikv_seg_tau16",
                                  "epikv_seg_value_reserve",
                                  "h2o_sink4",
                                  "h2o_tight",
                                  "hs_variance_w16",
                                  "kv_key_w64",
                                  "kv_val_w8",
                                  "lag_kv_c16",
                                  "lag_kv_c24_gqa",
                                  "lag_kv_key_c16",
                                  "longflow",
                                  "r_kv_b16"};

struct process_result {
  int exit_status = -1;
  std::string output;
};

process_result run_program(const std::string& arguments) {
  process_result out;
  FILE* const pipe = popen(("'" EPIKV_REPLAY_EXECUTABLE "' " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char chunk[4096];
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) {
    out.output.append(chunk, n);
  }
  out.exit_status = pclose(pipe) / 256;
  return out;
}

// Scores are differences of z that cross zero, computed by the authors in f32: 1e-5 of the score
// or, below 1, of the z scale. The relevance is positive and compared to 1e-5 of itself.
void check_numbers(const json& got, const json& expected, double scale) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = expected[i].get<double>();
    const double have = got[i].get<double>();
    CHECK_MESSAGE(std::abs(have - want) <= 1e-5 * std::max(std::abs(want), scale), "entry ", i,
                  ": got ", have, ", expected ", want);
  }
}

void check_against(const json& got, const json& golden) {
  for (const char* field : {"evicted_logical_positions_per_step", "cache_length_after_step",
                            "final_kept_logical_positions"}) {
    CHECK_MESSAGE(got.at(field) == golden.at(field), field);
  }
  // Differences of z cross zero; the others are positive, and compared to 1e-5 of themselves.
  const std::pair<const char*, double> numbers[] = {
      {"newest_token_score_per_step", 1.0},
      {"relevance_of_decode_slots_at_last_eviction", 0.0},
      {"final_scores_per_cached_slot", 0.0},
      {"final_cumulative_attention_per_cached_slot", 0.0}};
  for (const auto& number : numbers) {
    const char* const field = number.first;
    if (!golden.contains(field)) continue;
    CAPTURE(std::string{field});
    REQUIRE(got.contains(field));
    check_numbers(got.at(field), golden.at(field), number.second);
  }
}

}  // namespace

TEST_CASE("every case of a built method selects exactly what is expected") {
  std::set<std::string> seen;
  for (const std::filesystem::path& file : golden_files()) {
    const std::string name = file.stem().string();
    if (built.count(name) == 0) continue;
    CAPTURE(name);
    seen.insert(name);
    const std::string text = text_of(file);
    const json golden = json::parse(text, nullptr, false);
    REQUIRE(golden.is_object());

    replay::replay_case c;
    REQUIRE(replay::parse_case(text, c) == "");
    replay::method_preset method;
    REQUIRE(replay::preset_of(c, method));
    const replay::outcome found = replayed(c, method);

    json got{{"evicted_logical_positions_per_step", found.evicted_per_step},
             {"cache_length_after_step", found.length_after_step},
             {"final_kept_logical_positions", found.final_kept}};
    if (method.final_scores_field.empty()) {
      got["newest_token_score_per_step"] = found.newest_score_per_step;
    } else {
      got[method.final_scores_field] = found.final_scores;
    }
    if (method.reports_relevance) {
      got["relevance_of_decode_slots_at_last_eviction"] = found.last_relevance;
    }
    check_against(got, golden);
    // The budget holds after every step that evicted.
    for (std::size_t t = 0; t < found.evicted_per_step.size(); ++t) {
      if (!found.evicted_per_step[t].empty()) CHECK(found.length_after_step[t] <= c.budget);
    }
  }
  CHECK(seen == built);
}

TEST_CASE("epikv-replay prints the same and refuses methods that are not built with status 3") {
  for (const std::filesystem::path& file : golden_files()) {
    const std::string name = file.stem().string();
    CAPTURE(name);
    const process_result ran = run_program("'" + file.string() + "'");
    if (built.count(name) == 0) {
      CHECK(ran.exit_status == 3);
      CHECK(ran.output.find("not built yet") != std::string::npos);
      continue;
    }
    REQUIRE(ran.exit_status == 0);
    const json got = json::parse(ran.output, nullptr, false);
    REQUIRE(got.is_object());
    check_against(got, json::parse(text_of(file), nullptr, false));
  }
}

TEST_CASE("epikv-replay needs the configuration alone") {
  for (const char* name : {"epikv_q_add", "band_adaptive", "kv_val_w8", "h2o_tight", "r_kv_b16"}) {
    CAPTURE(name);
    const json golden =
        json::parse(text_of(golden_folder / (std::string{name} + ".json")), nullptr, false);
    json configuration = golden;
    for (const char* field : {"evicted_logical_positions_per_step", "cache_length_after_step",
                              "final_kept_logical_positions", "newest_token_score_per_step",
                              "relevance_of_decode_slots_at_last_eviction",
                              "final_cumulative_attention_per_cached_slot", "name"}) {
      configuration.erase(field);
    }
    const auto file = std::filesystem::temp_directory_path() /
                      (std::string{"epikv_configuration_"} + name + ".json");
    std::ofstream{file} << configuration.dump();
    const process_result ran = run_program("'" + file.string() + "'");
    std::filesystem::remove(file);
    REQUIRE(ran.exit_status == 0);
    check_against(json::parse(ran.output, nullptr, false), golden);
  }
}

TEST_CASE("epikv-replay says what is wrong with a file it cannot use") {
  const auto expect = [](const std::string& text, const std::string& complaint) {
    CAPTURE(text);
    const auto file = std::filesystem::temp_directory_path() / "epikv_bad_case.json";
    std::ofstream{file} << text;
    const process_result ran = run_program("'" + file.string() + "'");
    std::filesystem::remove(file);
    CHECK(ran.exit_status == 2);
    CHECK_MESSAGE(ran.output.find(complaint) != std::string::npos, ran.output);
  };
  const json good = json::parse(text_of(golden_folder / "epikv_flat_w8.json"), nullptr, false);
  const auto with = [&](const char* field, const json& value) {
    json changed = good;
    changed[field] = value;
    return changed.dump();
  };
  json without_budget = good;
  without_budget.erase("budget");

  expect("", "not a JSON text");
  expect("[1]", "expected one JSON object");
  expect(without_budget.dump(), "field budget: expected the field to be there");
  expect(with("layers", "four"), "field layers: expected an integer");
  expect(with("layers", 64), "field layers: expected an integer from 1 to 63");
  expect(with("steps", -1), "field steps: expected an integer");
  expect(with("seed", -5), "field seed: expected an integer of 0 or more");
  expect(with("band_a_layer", 9), "band_a: got layer 9, expected layers 0 to 3");
  expect(with("value_stat", "median"), "value_stat: got median");
  CHECK(run_program("/nonexistent/case.json").exit_status == 2);
  CHECK(run_program("").exit_status == 2);
}
