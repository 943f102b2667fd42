// SPDX-License-Identifier: MIT

// epikv-replay CASE.json: runs the case through the public API and prints what it found.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "peer_case.hpp"
#include "replay.hpp"

namespace {

constexpr int exit_ok = 0;
constexpr int exit_bad_input = 2;
constexpr int exit_not_built = 3;

int complain(const std::string& file, const std::string& what) {
  std::fprintf(stderr, "epikv-replay: %s: %s\n", file.c_str(), what.c_str());
  return exit_bad_input;
}

void print(const nlohmann::ordered_json& json) {
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int not_built(const std::string& file, const std::string& method) {
  std::fprintf(stderr, "epikv-replay: %s: method %s is not built yet\n", file.c_str(),
               method.c_str());
  return exit_not_built;
}

int run_peer(const std::string& file, const nlohmann::json& object) {
  replay::peer_case c;
  if (object.contains("method") && object["method"].is_string()) c.method = object["method"];
  replay::peer_method method;
  if (!c.method.empty() && !replay::peer_method_of(c, method)) return not_built(file, c.method);
  if (const std::string wrong = replay::parse_peer_case(object, c); !wrong.empty()) {
    return complain(file, wrong);
  }
  if (!replay::peer_method_of(c, method)) return not_built(file, c.method);
  replay::peer_outcome found;
  if (const epikv::status done = replay::run_peer_case(c, method, found); !done) {
    return complain(file, done.message());
  }
  print(replay::fields_of(c, found));
  return exit_ok;
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

  const auto object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (replay::is_peer_case(object)) return run_peer(file, object);
  replay::replay_case c;
  if (const std::string wrong = replay::parse_case(text, c); !wrong.empty()) {
    return complain(file, wrong);
  }
  replay::method_preset method;
  if (!replay::preset_of(c, method)) {
    return not_built(file, c.method);
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
  if (method.final_scores_field.empty()) {
    json["newest_token_score_per_step"] = found.newest_score_per_step;
  } else {
    json[method.final_scores_field] = found.final_scores;
  }
  if (method.reports_relevance) {
    json["relevance_of_decode_slots_at_last_eviction"] = found.last_relevance;
  }
  print(json);
  return exit_ok;
}
