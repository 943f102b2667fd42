// SPDX-License-Identifier: MIT

// Are charts well-formed XML that shows what it was given, whatever that is?

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/heat_map.hpp"
#include "report/line_chart.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"
#include "sample_pages.hpp"
#include "scratch.hpp"
#include "xml_check.hpp"

namespace {

using report_test::contains;
using report_test::xml_problem;

const double nan = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();
const std::string hostile = "</text><script>&\"'\x01\xFF\xE2\x80\xAE]]>";

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++out;
  }
  return out;
}

void check_document(const std::string& svg) {
  CHECK_MESSAGE(xml_problem(svg).empty(), xml_problem(svg));
  CHECK(report::valid_utf8(svg) == svg);
  CHECK(contains(svg, "prefers-color-scheme"));
  CHECK(count(svg, "<title id=") == 1);
  CHECK(count(svg, "<desc id=") == 1);
  CHECK(count(svg, "://") == 1);  // the namespace
  CHECK(!contains(svg, "href"));
  // Outside of texts.
  CHECK(!contains(svg, "=\"nan"));
  CHECK(!contains(svg, "=\"inf"));
  CHECK(!contains(svg, "e-05"));
}

TEST_CASE("the checker itself finds what is not well-formed") {
  CHECK(xml_problem("<a b=\"c\"><d/>&amp;</a>\n").empty());
  for (const std::string bad :
       {"", "<a>", "<a></b>", "<a/><b/>", "x<a/>", "<a>&x;</a>", "<a b=\"<\"/>",
        "<a b=\"1\" b=\"2\"/>", "<a>\x01</a>", "<a b/>", "<a></a", "< a/>"}) {
    CHECK_MESSAGE(!xml_problem(bad).empty(), bad);
  }
}

TEST_CASE("ticks are round, inside, and about as many as asked for") {
  for (const double low : {0.0, 0.137, -5.0, 1e6}) {
    for (const double span : {1e-6, 0.3, 1.0, 7.7, 1e5}) {
      const std::vector<double> t = report::svg::ticks(low, low + span, 5);
      CAPTURE(low);
      CAPTURE(span);
      REQUIRE(t.size() >= 2);
      CHECK(t.size() <= 11);
      CHECK(t.front() >= low - 1e-9 * span - 1e-9);
      CHECK(t.back() <= low + span + 1e-9 * span + 1e-9);
      const double step = t[1] - t[0];
      const double lead = step / std::pow(10.0, std::floor(std::log10(step * 1.0001)));
      CHECK(
          (std::fabs(lead - 1) < 1e-3 || std::fabs(lead - 2) < 1e-3 || std::fabs(lead - 5) < 1e-3));
    }
  }
  CHECK(report::svg::ticks(1, 0, 5).empty());
  CHECK(report::svg::ticks(nan, 1, 5).empty());
  CHECK(report::svg::ticks(2, 2, 5).size() == 1);
  CHECK(report::svg::decimals_for(0.05) == 2);
  CHECK(report::svg::decimals_for(0.1) == 1);
  CHECK(report::svg::decimals_for(20) == 0);
  CHECK(report::svg::number(-0.001) == "0");
  CHECK(report::svg::number(12.5) == "12.5");
  CHECK(report::svg::number(100) == "100");
  CHECK(report::svg::number(infinity) == "0");
}

TEST_CASE("the accuracy chart has a line for each preset and a bar for each point") {
  const auto records = report_test::sample_records(60);
  const report::summary s = report::summarize(records);
  const report::line_chart chart = report::budget_chart(s, s.tasks().front());
  REQUIRE(chart.series.size() == 5);
  REQUIRE(chart.reference.has_value());
  CHECK(chart.reference->y == s.arms[0].accuracy());
  CHECK(chart.series[0].points.size() == 5);
  CHECK(chart.series[0].points[0].x == 512);
  CHECK(chart.series[0].points[0].y == s.arms[1].accuracy());
  CHECK(chart.series[0].points[0].error.low == s.arms[1].accuracy_95.low);
  const std::string svg = to_svg(chart);
  check_document(svg);
  CHECK(count(svg, "<path class=\"line") == 2 * 5);  // and its key
  CHECK(count(svg, "class=\"mark") == 25 + 5);
  CHECK(count(svg, "<path class=\"bar") == 5);
  CHECK(count(svg, "<path class=\"reference\"") == 2);
  for (const std::string part : {">epikv-q<", ">full cache<", ">512<", ">32<", "(logarithmic)",
                                 ">accuracy<", "60 problems"}) {
    CHECK_MESSAGE(contains(svg, part), part);
  }
}

TEST_CASE("where nothing is graded the chart shows the first number") {
  auto records = report_test::sample_records(60);
  for (report::record& r : records) r.graded = false;
  const report::summary s = report::summarize(records);
  const report::line_chart chart = report::budget_chart(s, s.tasks().front());
  const auto& nll = s.arms[1].numbers[0].second;
  CHECK(chart.y_label == "nll");
  CHECK_FALSE(chart.y_is_share);
  CHECK(chart.reference->y == s.arms[0].numbers[0].second.mean);
  CHECK(chart.series[0].points[0].y == nll.mean);
  CHECK(chart.series[0].points[0].error.high ==
        doctest::Approx(nll.mean + 1.96 * nll.standard_error).epsilon(1e-4));
  check_document(to_svg(chart));
}

TEST_CASE("presets with several options are several lines") {
  auto records = report_test::sample_records(4);
  for (report::record& r : records) {
    if (r.preset == "h2o" && r.budget == 64) r.options = "tau=1";
  }
  const report::summary s = report::summarize(records);
  const report::line_chart chart = report::budget_chart(s, s.tasks().front());
  REQUIRE(chart.series.size() == 6);
  CHECK(chart.series[2].name == "h2o (tau=16)");
  CHECK(chart.series[3].name == "h2o (tau=1)");
  CHECK(report::budget_chart(s, "no such task").series.empty());
}

TEST_CASE("any line chart is a document") {
  report::line_chart chart;
  check_document(to_svg(chart));
  CHECK(contains(to_svg(chart), "no data"));

  chart.title = hostile;
  chart.subtitle = hostile;
  chart.x_label = hostile;
  chart.y_label = hostile;
  chart.reference = report::chart_reference{hostile, 0.5, {0.4, 0.6}};
  check_document(to_svg(chart));
  chart.reference->y = nan;
  check_document(to_svg(chart));
  for (const report::chart_point& p :
       {report::chart_point{0, 0, {0, 0}}, report::chart_point{-5, 1, {1, 1}},
        report::chart_point{1e9, 0.5, {0.1, infinity}}, report::chart_point{nan, 0.5, {}},
        report::chart_point{3, nan, {}}, report::chart_point{64, 0.25, {nan, nan}}}) {
    report::line_chart one = chart;
    one.series = {{hostile, {p}}};
    check_document(to_svg(one));
    one.reference.reset();
    check_document(to_svg(one));
    one.y_is_share = false;
    check_document(to_svg(one));
    chart.series.push_back({hostile + std::string(200, 'w'), {p, p}});
    check_document(to_svg(chart));
  }
}

TEST_CASE("points are where they belong") {
  report::line_chart chart;
  chart.series = {{"a", {{10, 0.0, {0, 0}}, {20, 1.0, {1, 1}}, {15, 0.5, {0.5, 0.5}}}}};
  const std::string svg = to_svg(chart);
  // One series is not shifted: ascending x, y downwards, the middle in the middle.
  CHECK(contains(svg, "d=\"M96 400L402 240L708 80\""));
}

TEST_CASE("the heat map has every value, marks the best and hatches what is missing") {
  report::heat_map map;
  map.title = "bands";
  map.row_label = "a";
  map.column_label = "b";
  map.value_label = "accuracy";
  map.rows = {"1", "2"};
  map.columns = {"3", "4", "5"};
  map.values = {0.25, std::nullopt, 0.75, nan, 0.5};
  map.percent = true;
  map.decimals = 1;
  CHECK(report::best_cell(map) == 2);
  const std::string svg = to_svg(map);
  check_document(svg);
  for (const std::string part :
       {">25.0%<", ">75.0%<", ">50.0%<", "<title>a 1, b 5: 75.0%</title>",
        "<title>a 1, b 4: missing</title>", "<title>a 2, b 3: missing</title>",
        "<title>a 2, b 5: missing</title>"}) {
    CHECK_MESSAGE(contains(svg, part), part);
  }
  CHECK(count(svg, "fill=\"url(#") == 3 + 1);  // and the key
  CHECK(count(svg, "class=\"best-inner\"") == 1);

  map.higher_is_better = false;
  CHECK(report::best_cell(map) == 0);
  map.values[4] = 0.25;
  CHECK(report::best_cell(map) == 0);
  CHECK(count(to_svg(map), "class=\"best-inner\"") == 2);
  map.values.clear();
  CHECK(!report::best_cell(map).has_value());
  check_document(to_svg(map));
}

TEST_CASE("any heat map is a document") {
  check_document(to_svg(report::heat_map{}));
  for (const std::size_t size : std::vector<std::size_t>{1, 2, 15, 40, 90}) {
    report::heat_map map = report_test::sample_map(size, size);
    check_document(to_svg(map));
    map.title = hostile;
    map.subtitle = hostile;
    map.row_label = hostile;
    map.column_label = hostile;
    map.value_label = hostile;
    for (std::string& each : map.rows) each += hostile;
    for (std::string& each : map.columns) each += hostile;
    check_document(to_svg(map));
  }
  report::heat_map equal = report_test::sample_map(3, 1);
  equal.values.assign(3, 7.0);
  check_document(to_svg(equal));
  equal.values = {infinity, -infinity, nan};
  check_document(to_svg(equal));
}

}  // namespace
