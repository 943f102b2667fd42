// SPDX-License-Identifier: MIT

// Does the library select what other groups' public implementations select? Every peer case whose
// method is built, by the program epikv-replay: keep-sets exactly, numbers to 1e-5 of themselves.

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "golden_cases.hpp"
#include "replay/peer_case.hpp"

namespace {

using json = nlohmann::json;

const std::filesystem::path folder =
    std::filesystem::path{EPIKV_SOURCE_DIR} / "tests" / "golden_peers";
const std::set<std::string> waiting{"adakv_snapkv", "pyramid"};

void check_numbers(const json& got, const json& golden) {
  REQUIRE(got.size() == golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    if (golden[i].is_array()) {
      check_numbers(got[i], golden[i]);
      continue;
    }
    const double want = golden[i].get<double>();
    REQUIRE(got[i].is_number());
    CHECK(std::abs(got[i].get<double>() - want) <= 1e-5 * std::abs(want) + 1e-7);
  }
}

}  // namespace

TEST_CASE("other groups' cases: the same keep-sets and scores") {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.path().extension() != ".json") continue;
    const json golden = json::parse(golden_test::text_of(entry.path()), nullptr, false);
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    replay::peer_case c;
    replay::peer_method method;
    if (waiting.count(golden.at("method").get<std::string>()) > 0) continue;
    REQUIRE(replay::parse_peer_case(golden, c) == "");
    REQUIRE(replay::peer_method_of(c, method));
    replay::peer_outcome found;
    const epikv::status done = replay::run_peer_case(c, method, found);
    REQUIRE_MESSAGE(done.ok(), done.message());
    const json got = replay::fields_of(c, found);
    for (const char* field : {"kept", "length_per_head"}) {
      if (golden.contains(field)) CHECK_MESSAGE(got.at(field) == golden.at(field), field);
    }
    for (const char* field : {"scores", "importance", "redundancy", "first_chunk_scores"}) {
      if (!golden.contains(field)) continue;
      CAPTURE(std::string{field});
      check_numbers(got.at(field), golden.at(field));
    }
    ++checked;
  }
  CHECK(checked == 13);
}
