// SPDX-License-Identifier: MIT

// Does the page hold the trace, safely, and are traces that make no sense refused? What the page
// does with it is tested in a browser.

#include "report/viewer.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/text.hpp"
#include "report/viewer_data.hpp"
#include "sample_pages.hpp"
#include "scratch.hpp"

namespace {

using report_test::contains;

std::string page_of(const report::retention_trace& trace) {
  const auto page = report::to_html(trace);
  REQUIRE_MESSAGE(bool(page), page.error());
  return *page;
}

nlohmann::json data_of(const report::retention_trace& trace) {
  const std::string page = page_of(trace);
  const std::string_view open = "id=\"data\">";
  const std::size_t from = page.find(open) + open.size();
  auto out =
      nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from), nullptr, false);
  REQUIRE(!out.is_discarded());
  return out;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++out;
  return out;
}

TEST_CASE("codes of floats keep order, value and what is not finite") {
  using report::detail::float_code;
  using report::detail::float_of;
  const float infinity = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  const std::array<float, 13> ascending{-infinity, -most, -1.5F, -1.0F, -1e-3F, -1e-30F, 0.0F,
                                        1e-30F,    1e-3F, 1.0F,  1.5F,  most,   infinity};
  std::uint32_t last = 0;
  for (const float value : ascending) {
    CAPTURE(value);
    const std::uint32_t code = float_code(value);
    CHECK(code > last);
    CHECK(code < (1U << 24));
    last = code;
    const float back = float_of(code);
    CHECK(std::isinf(back) == std::isinf(value));
    if (std::isfinite(value)) CHECK(std::fabs(back - value) <= std::fabs(value) / 50000);
  }
  CHECK(float_of(float_code(infinity)) == infinity);
  CHECK(float_of(float_code(-infinity)) == -infinity);
  CHECK(float_of(float_code(0)) == 0);
  CHECK(float_code(-0.0F) == float_code(0.0F));
  CHECK(float_code(std::nanf("")) == 0);
  CHECK(std::isnan(float_of(0)));
}

TEST_CASE("base 64 as in RFC 4648") {
  const auto encoded = [](std::string_view text) {
    return report::detail::base64({text.begin(), text.end()});
  };
  CHECK(encoded("") == "");
  CHECK(encoded("f") == "Zg==");
  CHECK(encoded("fo") == "Zm8=");
  CHECK(encoded("foo") == "Zm9v");
  CHECK(encoded("foob") == "Zm9vYg==");
  CHECK(encoded("\xFB\xFF\xBF") == "+/+/");
}

TEST_CASE("the page holds all tokens and steps") {
  const report::retention_trace trace = report_test::sample_trace(30, 60, 40, 10, 2);
  const auto data = data_of(trace);
  CHECK(data["budget"] == 40);
  CHECK(data["parts"] == nlohmann::json({"a", "b", "z"}));
  CHECK(data["runs"] == nlohmann::json({30, 60}));
  REQUIRE(data["texts"].size() == 90);
  for (std::size_t i = 0; i < 90; ++i) {
    CHECK(data["texts"][i] == report::valid_utf8(trace.tokens[i].text));
    CHECK(data["positions"][i] == trace.tokens[i].position);
  }
  REQUIRE(data["groups"].size() == 2);
  CHECK(data["groups"][1]["name"] == "layer 0, head 1");
  REQUIRE(data["groups"][0]["steps"].size() == 7);
  CHECK(data["groups"][0]["steps"][6]["n"] == 60);
  CHECK(data["groups"][0]["steps"][6]["seen"] == 90);
}

TEST_CASE("nothing in a trace ends the element it stands in") {
  report::retention_trace trace = report_test::sample_trace(4, 0, 10, 10, 1);
  const std::string hostile = "</script><!--<script>{{data}}{{js}}</title></style>\"'&\xFF\n";
  const std::size_t scripts = count(page_of(trace), "<script");
  const std::size_t ends = count(page_of(trace), "</script>");
  CHECK(scripts == 3);
  CHECK(ends == 3);
  trace.title = hostile;
  trace.preset = hostile;
  trace.options = hostile;
  trace.part_names = {hostile, hostile, hostile};
  trace.groups[0].name = hostile;
  for (auto& token : trace.tokens) token.text = hostile;
  const std::string page = page_of(trace);
  CHECK(count(page, "<script") == scripts);
  CHECK(count(page, "</script>") == ends);
  CHECK(count(page, "</style>") == 1);
  CHECK(count(page, "</title>") == 1);
  CHECK(!contains(page, "<!--<"));
  CHECK(count(page, "\"use strict\"") == 2);  // no field was taken for a name
  CHECK(report::valid_utf8(page) == page);
  CHECK(data_of(trace)["texts"][0] == report::valid_utf8(hostile));
}

TEST_CASE("the page needs nothing from elsewhere") {
  const std::string page = page_of(report_test::sample_trace(4, 4, 10, 4, 1));
  CHECK(count(page, "://") == 1);  // the namespace of SVG
  CHECK(!contains(page, "src="));
  CHECK(!contains(page, "@import"));
  CHECK(contains(page, "default-src 'none'"));
  CHECK(contains(page, "name=\"viewport\""));
}

TEST_CASE("an empty trace is a page") {
  CHECK(contains(page_of({}), "<title>Retention</title>"));
  CHECK(data_of({})["groups"].empty());
}

TEST_CASE("traces that make no sense are refused, with group and step") {
  const auto refusal = [](auto change) {
    report::retention_trace trace = report_test::sample_trace(20, 40, 30, 10, 2);
    change(trace, trace.groups[1].steps[3]);
    const auto page = report::to_html(trace);
    return page ? std::string("accepted") : page.error();
  };
  using trace_type = report::retention_trace;
  using step_type = report::selection_step;
  CHECK(refusal([](trace_type&, step_type&) {}) == "accepted");
  const std::string where = "group 'layer 0, head 1', step 30: ";
  const std::string sizes = refusal([](trace_type&, step_type& s) { s.scores.pop_back(); });
  CHECK(contains(sizes, where + "40 positions, but 39 scores"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.slots.pop_back(); }), "39 slots"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.parts.pop_back(); }), "119 parts"));
  CHECK(refusal([](trace_type&, step_type& s) { s.slots.clear(); }) == "accepted");
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.step = 20; }), "steps must ascend"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.tokens_seen = 61; }),
                 "61 tokens seen, expected 40 to 60"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.positions[0] = 55; }),
                 "scored position 55 is not among the tokens seen"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.evicted[0] = -1; }),
                 "evicted position -1 is not among the tokens seen"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.evicted[0] = s.evicted[1]; }), "twice"));
  CHECK(contains(refusal([](trace_type&, step_type& s) { s.positions[0] = s.positions[1]; }),
                 "twice"));
  CHECK(contains(
      refusal([](trace_type& t, step_type& s) { s.evicted[0] = t.groups[1].steps[2].evicted[0]; }),
      "was evicted before"));
  CHECK(contains(refusal([](trace_type& t, step_type&) { t.tokens[5].position = 4; }),
                 "token 5: positions must ascend"));
}

TEST_CASE("a long trace is compact") {
  const report::retention_trace trace = report_test::sample_trace(500, 4000, 1024, 40, 1);
  std::size_t values = 0;
  for (const auto& step : trace.groups[0].steps) values += step.scores.size() + step.parts.size();
  const std::size_t bytes = page_of(trace).size();
  CHECK(values > 400'000);
  CHECK(bytes < 3 * values);
}

}  // namespace
