// SPDX-License-Identifier: MIT
#include "json_lines.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "text.hpp"

namespace report {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t version = 1;
constexpr std::string_view version_name = "epikv_results";

ordered_json number_to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

bool read(const ordered_json& value, std::string& out) {
  if (!value.is_string()) return false;
  out = value.get<std::string>();
  return true;
}

bool read(const ordered_json& value, bool& out) {
  if (!value.is_boolean()) return false;
  out = value.get<bool>();
  return true;
}

bool read(const ordered_json& value, double& out) {
  if (value.is_number()) {
    out = value.get<double>();
    return true;
  }
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else if (text == "inf" || text == "-inf") {
    out = (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  } else {
    return false;
  }
  return true;
}

template <class Integer>
bool read_integer(const ordered_json& value, Integer& out) {
  if (!value.is_number_integer()) return false;
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > most) return false;
  const auto number = value.get<std::int64_t>();
  if (!std::in_range<Integer>(number)) return false;
  out = static_cast<Integer>(number);
  return true;
}

bool read(const ordered_json& value, std::int32_t& out) { return read_integer(value, out); }
bool read(const ordered_json& value, std::int64_t& out) { return read_integer(value, out); }

bool read(const ordered_json& value, std::vector<named_number>& out) {
  if (!value.is_object()) return false;
  out.clear();
  for (const auto& item : value.items()) {
    double number = 0;
    if (!read(item.value(), number)) return false;
    out.emplace_back(item.key(), number);
  }
  return true;
}

// Calls use(name, member) for every field; the same list writes and reads.
template <class Record, class Use>
void for_each_field(Record& r, const Use& use) {
  use("task", r.task);
  use("preset", r.preset);
  use("options", r.options);
  use("budget", r.budget);
  use("problem", r.problem);
  use("graded", r.graded);
  use("right", r.right);
  use("capped", r.capped);
  use("numbers", r.numbers);
  use("prompt_tokens", r.prompt_tokens);
  use("generated", r.generated);
  use("peak_tokens", r.peak_tokens);
  use("peak_bytes", r.peak_bytes);
  use("seconds", r.seconds);
}

// An object, and no name twice in it or below: the parser would keep the last one unasked.
mini::expected<ordered_json> parse_object(std::string_view line) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto watch = [&open, &twice](int, ordered_json::parse_event_t event, ordered_json& parsed) {
    if (event == ordered_json::parse_event_t::object_start) open.emplace_back();
    if (event == ordered_json::parse_event_t::object_end) open.pop_back();
    if (event == ordered_json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!open.back().insert(name).second) twice = name;
    }
    return true;
  };
  ordered_json value = ordered_json::parse(line, watch, false);
  if (value.is_discarded()) return mini::fail("is not JSON");
  if (!value.is_object()) return mini::fail("is not a JSON object");
  if (!twice.empty()) return mini::fail("has ", mini::in_quotes(twice), " twice");
  return value;
}

}  // namespace

std::string to_json_line(const record& r) {
  ordered_json out;
  for_each_field(r, [&out](const char* name, const auto& value) {
    using type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<type, double>) {
      out[name] = number_to_json(value);
    } else if constexpr (std::is_same_v<type, std::vector<named_number>>) {
      ordered_json& numbers = out[name] = ordered_json::object();
      for (const named_number& each : value) {
        numbers[valid_utf8(each.first)] = number_to_json(each.second);
      }
    } else if constexpr (std::is_same_v<type, std::string>) {
      out[name] = valid_utf8(value);
    } else {
      out[name] = value;
    }
  });
  return out.dump();
}

mini::expected<record> parse_record(std::string_view line) {
  mini::expected<ordered_json> parsed = parse_object(line);
  if (!parsed) return parsed.reason();
  record out;
  std::string wrong;
  std::size_t known = 0;
  for_each_field(out, [&](const char* name, auto& value) {
    const auto found = parsed->find(name);
    if (found == parsed->end()) {
      if (wrong.empty()) wrong = "has no '" + std::string(name) + "'";
      return;
    }
    ++known;
    if (!read(*found, value) && wrong.empty()) {
      wrong = "has an unfit value for '" + std::string(name) + "'";
    }
  });
  if (!wrong.empty()) return mini::failure{wrong};
  // What this version does not know it cannot have understood.
  if (known != parsed->size()) return mini::fail("has a field that no record has");
  return out;
}

std::string header_line(const configuration& settings) {
  ordered_json out;
  out[std::string(version_name)] = version;
  out["fingerprint"] = fingerprint(settings);
  ordered_json& listed = out["configuration"] = ordered_json::object();
  for (const auto& [name, value] : settings) listed[valid_utf8(name)] = valid_utf8(value);
  return out.dump();
}

mini::expected<configuration> parse_header(std::string_view line) {
  mini::expected<ordered_json> parsed = parse_object(line);
  if (!parsed) return parsed.reason();
  const auto number = parsed->find(version_name);
  std::int64_t found = 0;
  if (number == parsed->end() || !read(*number, found)) {
    return mini::fail("is not the header of a results file");
  }
  if (found != version) {
    return mini::fail("is the header of version ", found, "; this program reads version ", version);
  }
  const auto listed = parsed->find("configuration");
  const auto print = parsed->find("fingerprint");
  if (listed == parsed->end() || !listed->is_object() || print == parsed->end()) {
    return mini::fail("has no configuration or no fingerprint");
  }
  configuration out;
  for (const auto& item : listed->items()) {
    std::string value;
    if (!read(item.value(), value)) {
      return mini::fail("has an unfit value for ", mini::in_quotes(item.key()));
    }
    out.emplace_back(item.key(), std::move(value));
  }
  std::string written;
  if (!read(*print, written) || written != fingerprint(out)) {
    return mini::fail("has a fingerprint that is not that of its configuration");
  }
  return out;
}

}  // namespace report
