// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "mini_model/loaded_model.hpp"
#include "runner.hpp"
#include "task.hpp"

namespace eval {

/// The model that ships with the project, its preset file, and settings that fit its short answers.
struct shipped_model {
  std::string weights;
  std::string preset_file;
  std::string settings;
};
[[nodiscard]] shipped_model shipped();

/// The arms that the command line asks for, the full cache first. Two arms of one name are an
/// error.
[[nodiscard]] mini::expected<std::vector<arm>> plan_arms(const arguments& asked,
                                                         const epikv::model_shape& shape);

/// The tasks that the command line asks for.
[[nodiscard]] mini::expected<std::vector<std::unique_ptr<task>>> plan_tasks(
    const arguments& asked, const mini::loaded_model& model);

/// The prompt whose continuation --view shows: that of the first passage.
[[nodiscard]] mini::expected<std::vector<mini::token>> plan_viewed_prompt(
    const arguments& asked, const mini::loaded_model& model);

}  // namespace eval
