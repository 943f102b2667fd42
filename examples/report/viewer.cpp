// SPDX-License-Identifier: MIT
#include "viewer.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "text.hpp"
#include "viewer_data.hpp"

namespace report {

namespace detail {

extern const std::string_view viewer_html;
extern const std::string_view viewer_css;
extern const std::string_view viewer_decode_js;
extern const std::string_view viewer_js;

}  // namespace detail

mini::expected<std::string> to_html(const retention_trace& trace) {
  auto data = detail::viewer_json(trace);
  if (!data) return data.reason();
  const std::string title = trace.title.empty() ? "Retention" : trace.title;
  std::string about = trace.preset;
  if (!trace.options.empty()) about += (about.empty() ? "" : " ") + trace.options;
  const std::array<std::pair<std::string_view, std::string>, 6> fields{
      {{"title", escape_xml(title)},
       {"about", escape_xml(about)},
       {"css", std::string(detail::viewer_css)},
       {"decode", std::string(detail::viewer_decode_js)},
       {"js", std::string(detail::viewer_js)},
       {"data", *std::move(data)}}};

  // One pass, so that nothing in a field is taken for the name of another one.
  std::string out;
  std::string_view rest = detail::viewer_html;
  while (true) {
    const std::size_t open = rest.find("{{");
    out += rest.substr(0, open);
    if (open == std::string_view::npos) return out;
    rest.remove_prefix(open + 2);
    const std::size_t close = rest.find("}}");
    const std::string_view name = rest.substr(0, close);
    for (const auto& field : fields) {
      if (field.first == name) out += field.second;
    }
    rest.remove_prefix(close == std::string_view::npos ? rest.size() : close + 2);
  }
}

}  // namespace report
