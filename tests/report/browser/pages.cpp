// SPDX-License-Identifier: MIT

// Writes the pages and charts that the tests of tests/report/browser open: pages FOLDER [large].

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "report/heat_map.hpp"
#include "report/line_chart.hpp"
#include "report/summary.hpp"
#include "report/viewer.hpp"
#include "sample_pages.hpp"

namespace {

bool write(const std::string& path, const std::string& text) {
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, closer> file(std::fopen(path.c_str(), "wb"));
  return file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
         std::fflush(file.get()) == 0;
}

bool write_page(const std::string& path, const report::retention_trace& trace) {
  const auto page = report::to_html(trace);
  if (!page) std::fprintf(stderr, "%s\n", page.error().c_str());
  return page && write(path, *page);
}

report::line_chart many_lines() {
  report::line_chart out;
  out.title = "Many presets";
  out.x_label = "budget, tokens";
  out.y_label = "accuracy";
  for (int i = 0; i < 11; ++i) {
    report::chart_series s;
    s.name = "preset " + std::to_string(i);
    for (const double x : {100.0, 150.0, 200.0, 250.0}) {
      const double y = 0.2 + 0.05 * i + x / 2000;
      s.points.push_back({x, y, {y - 0.04, y + 0.04}});
    }
    out.series.push_back(s);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  const auto records = report_test::sample_records(200);
  const report::summary s = report::summarize(records);
  const std::string task = s.tasks().front();
  std::fputs(report::table(s).c_str(), stdout);

  bool ok = write_page(folder + "viewer.html", report_test::sample_trace(120, 400, 160, 16, 4));
  ok = ok && write_page(folder + "empty.html", {});
  ok = ok && write(folder + "accuracy.svg", to_svg(report::budget_chart(s, task)));
  ok = ok && write(folder + "many.svg", to_svg(many_lines()));
  ok = ok && write(folder + "empty.svg", to_svg(report::line_chart{}));
  report::line_chart single = many_lines();
  single.series.resize(1);
  single.series[0].points.resize(1);
  single.title = "One & <only> \"point\" '\x01\xFF";
  ok = ok && write(folder + "single.svg", to_svg(single));
  ok = ok && write(folder + "heat.svg", to_svg(report_test::sample_map(8, 8)));
  ok = ok && write(folder + "heat_large.svg", to_svg(report_test::sample_map(48, 48)));
  ok = ok && write(folder + "heat_single.svg", to_svg(report_test::sample_map(1, 1)));
  ok = ok && write(folder + "heat_empty.svg", to_svg(report::heat_map{}));
  if (argc > 2 && std::string_view(argv[2]) == "large") {
    ok = ok &&
         write_page(folder + "large.html", report_test::sample_trace(1000, 19000, 2048, 38, 1));
  }
  return ok ? 0 : 1;
}
