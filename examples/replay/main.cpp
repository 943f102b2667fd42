// SPDX-License-Identifier: MIT

// epikv-replay CASE.json: runs the case through the public API and prints what it found.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "replay.hpp"

namespace {

constexpr int exit_ok = 0;
constexpr int exit_bad_input = 2;
constexpr int exit_not_built = 3;

int complain(const std::string& file, const std::string& what) {
  std::fprintf(stderr, "epikv-replay: %s: %s\n", file.c_str(), what.c_str());
  return exit_bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argc == 2 ? argv[1] : "";
  if (file.empty() || file == "-h" || file == "--help") {
    std::fputs(
        "usage: epikv-replay CASE.json\n\n"
        "Regenerates the inputs of a golden case, runs its method and prints one JSON object.\n"
        "Exit status: 0 done; 2 the file or its configuration is not usable; 3 the method is not\n"
        "built yet.\n",
        file.empty() ? stderr : stdout);
    return file.empty() ? exit_bad_input : exit_ok;
  }
  // A folder can be opened like a file, and fails later.
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return complain(file, "is a folder");
  std::ifstream stream{file, std::ios::binary};
  if (!stream) return complain(file, "cannot be opened");
  const std::string text{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
  if (stream.bad()) return complain(file, "cannot be read");

  replay::replay_case c;
  if (const std::string wrong = replay::parse_case(text, c); !wrong.empty()) {
    return complain(file, wrong);
  }
  replay::method_preset method;
  if (!replay::preset_of(c, method)) {
    std::fprintf(stderr, "epikv-replay: %s: method %s is not built yet\n", file.c_str(),
                 c.method.c_str());
    return exit_not_built;
  }
  replay::outcome found;
  const epikv::status done = replay::run_case(
      c, method,
      [](const std::string& name, const epikv::model_shape& shape, const std::string& settings) {
        return epikv::make_evictor(name, shape, settings);
      },
      found);
  if (!done) return complain(file, done.message());

  nlohmann::ordered_json json;
  json["name"] = c.name;
  json["method"] = c.method;
  json["evicted_logical_positions_per_step"] = found.evicted_per_step;
  json["cache_length_after_step"] = found.length_after_step;
  json["final_kept_logical_positions"] = found.final_kept;
  json["newest_token_score_per_step"] = found.newest_score_per_step;
  if (method.reports_relevance) {
    json["relevance_of_decode_slots_at_last_eviction"] = found.last_relevance;
  }
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return exit_ok;
}
