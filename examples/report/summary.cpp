// SPDX-License-Identifier: MIT
#include "summary.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace report {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Numbers the names in the order in which they come.
class order_of_names {
 public:
  std::size_t operator()(const std::string& name) {
    return places_.emplace(name, places_.size()).first->second;
  }

 private:
  std::map<std::string, std::size_t> places_;
};

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::vector<outcome> outcomes(std::span<const record* const> records) {
  std::vector<outcome> out;
  for (const record* r : records) out.push_back({r->problem, r->right});
  return out;
}

arm make_arm(std::span<const record* const> records) {
  arm out;
  const record& first = *records.front();
  out.task = first.task;
  out.preset = first.preset;
  out.options = first.options;
  out.budget = first.budget;
  std::vector<std::string> names;
  for (const record* r : records) {
    ++out.problems;
    out.graded = out.graded || r->graded;
    out.right += r->right ? 1 : 0;
    out.capped += r->capped ? 1 : 0;
    out.prompt_tokens += r->prompt_tokens;
    out.generated += r->generated;
    out.peak_tokens = std::max(out.peak_tokens, r->peak_tokens);
    out.peak_bytes = std::max(out.peak_bytes, r->peak_bytes);
    out.seconds += r->seconds;
    for (const named_number& each : r->numbers) add_name(names, each.first);
  }
  out.accuracy_95 = wilson(out.right, out.problems);
  for (const std::string& name : names) {
    std::vector<double> values;
    for (const record* r : records) {
      if (const auto value = number_of(*r, name)) values.push_back(*value);
    }
    out.numbers.emplace_back(name, estimate_mean(values));
  }
  return out;
}

}  // namespace

double arm::accuracy() const noexcept {
  return problems > 0 ? static_cast<double>(right) / static_cast<double>(problems) : nan;
}

double arm::cap_rate() const noexcept {
  return problems > 0 ? static_cast<double>(capped) / static_cast<double>(problems) : nan;
}

double arm::tokens_per_second() const noexcept {
  return seconds > 0 ? static_cast<double>(generated) / seconds : nan;
}

std::vector<std::string> summary::tasks() const {
  std::vector<std::string> out;
  for (const arm& each : arms) add_name(out, each.task);
  return out;
}

std::vector<std::string> summary::number_names(const std::string& task) const {
  std::vector<std::string> out;
  for (const arm& each : arms) {
    if (each.task != task) continue;
    for (const auto& number : each.numbers) add_name(out, number.first);
  }
  return out;
}

summary summarize(std::span<const record> records, std::string reference_preset) {
  summary out;
  out.reference_preset = std::move(reference_preset);

  // The place of an arm in the output; the reference, of which a task has one, comes first.
  using place = std::tuple<std::size_t, int, std::size_t, std::size_t, std::int64_t>;
  using arm_name = std::tuple<std::string, std::int32_t>;  // of a reference: options, budget
  order_of_names task_order;
  order_of_names preset_order;
  order_of_names options_order;
  std::map<std::string, arm_name> reference_of;
  std::map<place, std::vector<const record*>> groups;
  for (const record& r : records) {
    bool reference = r.preset == out.reference_preset;
    if (reference) {
      const arm_name name{r.options, r.budget};
      reference = reference_of.emplace(r.task, name).first->second == name;
    }
    groups[{task_order(r.task), reference ? 0 : 1, preset_order(r.preset), options_order(r.options),
            -std::int64_t{r.budget}}]
        .push_back(&r);
  }

  std::vector<outcome> reference;
  std::string reference_task;
  bool has_reference = false;
  for (const auto& group : groups) {
    arm each = make_arm(group.second);
    each.is_reference = std::get<1>(group.first) == 0;
    if (each.is_reference) {
      reference = outcomes(group.second);
      reference_task = each.task;
      has_reference = true;
    } else if (has_reference && reference_task == each.task) {
      each.against_reference = compare(outcomes(group.second), reference);
    }
    out.arms.push_back(std::move(each));
  }
  return out;
}

}  // namespace report
