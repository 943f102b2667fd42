// SPDX-License-Identifier: MIT
#include <cmath>
#include <nlohmann/json.hpp>

#include "summary.hpp"
#include "text.hpp"

namespace report {

namespace {

using nlohmann::ordered_json;

ordered_json finite(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

ordered_json to_json(const mean_estimate& e) {
  return {
      {"count", e.count}, {"mean", finite(e.mean)}, {"standard_error", finite(e.standard_error)}};
}

ordered_json to_json(const comparison& c) {
  return {{"wins", c.wins},
          {"losses", c.losses},
          {"ties", c.ties},
          {"unpaired", c.unpaired},
          {"p", finite(c.p)}};
}

ordered_json to_json(const arm& a) {
  ordered_json numbers = ordered_json::object();
  for (const auto& number : a.numbers) numbers[valid_utf8(number.first)] = to_json(number.second);
  ordered_json out = {{"task", valid_utf8(a.task)},
                      {"preset", valid_utf8(a.preset)},
                      {"options", valid_utf8(a.options)},
                      {"budget", a.budget},
                      {"is_reference", a.is_reference},
                      {"problems", a.problems},
                      {"graded", a.graded},
                      {"right", a.right},
                      {"accuracy", finite(a.accuracy())},
                      {"accuracy_95", {a.accuracy_95.low, a.accuracy_95.high}},
                      {"capped", a.capped},
                      {"cap_rate", finite(a.cap_rate())},
                      {"prompt_tokens", a.prompt_tokens},
                      {"generated", a.generated},
                      {"peak_tokens", a.peak_tokens},
                      {"peak_bytes", a.peak_bytes},
                      {"seconds", finite(a.seconds)},
                      {"tokens_per_second", finite(a.tokens_per_second())}};
  out["numbers"] = std::move(numbers);
  out["against_reference"] =
      a.against_reference ? to_json(*a.against_reference) : ordered_json(nullptr);
  return out;
}

}  // namespace

std::string to_json(const summary& s, const configuration& settings) {
  ordered_json out;
  out["schema"] = "epikv-summary";
  out["version"] = 1;
  out["fingerprint"] = fingerprint(settings);
  ordered_json& listed = out["configuration"] = ordered_json::object();
  for (const auto& each : settings) listed[valid_utf8(each.first)] = valid_utf8(each.second);
  out["reference"] = valid_utf8(s.reference_preset);
  ordered_json& arms = out["arms"] = ordered_json::array();
  for (const arm& each : s.arms) arms.push_back(to_json(each));
  return out.dump(2) + "\n";
}

}  // namespace report
