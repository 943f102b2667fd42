// SPDX-License-Identifier: MIT

// Is a preset file the same as the name and the settings written in it, and is every text that is
// none refused with a sentence?

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

constexpr epikv::model_shape shape{
    .layers = 6, .query_heads = 4, .kv_heads = 2, .head_dim = 4, .hidden = 16};

constexpr std::string_view sample =
    "# Found by outcome.\r\n"
    "preset=epikv-flat layers=6\tkv_heads=2   # for this model = that one\n"
    "\n"
    "band_a=4,5 band_b=3\n"
    "#budget=7\n"
    "budget=20 tau=3";  // no line break at the end

// What a text is refused with; empty if it is read.
std::string refusal(std::string_view text) {
  const auto read = epikv::preset_file::parse(text);
  return read ? std::string{} : read.status().message();
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The positions evicted by an evictor that is shown a fixed run.
std::vector<std::int32_t> evictions(epikv::any_evictor evictor) {
  std::vector<std::int32_t> all;
  const epikv::sequence_id id{1};
  CHECK(evictor.add(id, 5).ok());
  std::uint32_t state = 1;
  for (int step = 0; step < 60; ++step) {
    const std::int32_t n = step == 0 ? 5 : 1;
    CHECK(evictor.begin_step(id, n).ok());
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      std::vector<float> hidden(static_cast<std::size_t>(n * shape.hidden));
      for (float& x : hidden) {
        state = state * 1664525U + 1013904223U;
        x = static_cast<float>(state >> 24) / 64.0F;
      }
      const epikv::tensor_view rows{hidden.data(), {n, shape.hidden}};
      CHECK(evictor.observe(layer, rows, rows).ok());
    }
    const auto chosen = evictor.select();
    CHECK(chosen.ok());
    for (const epikv::sequence_selection& each : *chosen) {
      for (const epikv::slot s : each.groups()[0].evicted()) all.push_back(to_int(s));
    }
    CHECK(evictor.commit(*chosen).ok());
  }
  return all;
}

struct scratch_file {
  std::string path = (std::filesystem::temp_directory_path() / "epikv_preset_file_test").string();
  explicit scratch_file(std::string_view text) { std::ofstream{path, std::ios::binary} << text; }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  ~scratch_file() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("a preset file is the name and the settings in it") {
  auto read = epikv::preset_file::parse(sample);
  REQUIRE_MESSAGE(read.ok(), read.status().message());
  // Views survive a move.
  const epikv::preset_file file = *std::move(read);
  CHECK(file.name() == "epikv-flat");
  REQUIRE(file.settings().size() == 4);
  CHECK(file.settings()[0].name() == "band_a");
  CHECK(file.settings()[0].word() == "4,5");
  CHECK(file.settings()[3].name() == "tau");

  auto by_file = epikv::make_evictor(file, shape);
  REQUIRE_MESSAGE(by_file.ok(), by_file.status().message());
  auto by_name = epikv::make_evictor("epikv-flat", shape, "budget=20 tau=3 band_a=4,5 band_b=3");
  REQUIRE(by_name.ok());
  const std::vector<std::int32_t> expected = evictions(*std::move(by_name));
  CHECK(expected.size() > 30);
  CHECK(evictions(*std::move(by_file)) == expected);

  auto other = epikv::make_evictor("epikv-flat", shape, "budget=20 tau=3");
  CHECK(evictions(*std::move(other)) != expected);
}

TEST_CASE("settings given beside the file win") {
  const auto file = epikv::preset_file::parse(sample);
  REQUIRE(file.ok());
  const auto evictor = epikv::make_evictor(*file, shape, {{"budget", 33}, {"window", 9}});
  REQUIRE_MESSAGE(evictor.ok(), evictor.status().message());
  CHECK(evictor->options().budget == 33);
  CHECK(evictor->options().tau == 3);
  CHECK(epikv::make_evictor(*file, shape, "budget").status().code() ==
        epikv::errc::invalid_argument);
  CHECK(epikv::make_evictor(*file, shape, "bugdet=3").status().code() ==
        epikv::errc::unknown_option);
}

TEST_CASE("a model of other sizes is refused by the size") {
  const auto file = epikv::preset_file::parse(sample);
  REQUIRE(file.ok());
  epikv::model_shape other = shape;
  other.hidden = 99;  // not named in the file
  CHECK(epikv::make_evictor(*file, other).ok());
  other.layers = 7;
  const auto made = epikv::make_evictor(*file, other);
  CHECK(made.status().code() == epikv::errc::wrong_shape);
  CHECK(made.status().message() ==
        "wrong_shape: layers: got a model of 7, expected one of 6, as the preset file says");
}

TEST_CASE("what is no preset file is refused with a sentence") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "no preset"},
      {"# preset=epikv-flat", "no preset"},
      {"budget=3", "no preset"},
      {"preset=", "preset="},
      {"preset=none preset=none", "preset=none"},
      {"preset=none budget", "got budget, expected settings of the form name=value"},
      {"preset=none =3", "got =3"},
      {"preset=none layers=0", "layers=0"},
      {"preset=none layers=six", "layers=six"},
      {"preset=none layers=6.5", "layers=6.5"},
      {"preset=none layers=6 layers=6", "layers=6"},
      {"preset=none hidden=99999999999999999999", "hidden=9"},
      {"preset = none", "got preset, expected"},
  };
  for (const auto& each : wrong) {
    CAPTURE(each.first);
    const std::string said = refusal(each.first);
    CHECK_MESSAGE(contains(said, each.second), said);
  }
  // An unknown preset or setting is known to make_evictor() alone.
  const auto unknown = epikv::preset_file::parse("preset=epikv-x");
  REQUIRE(unknown.ok());
  CHECK(epikv::make_evictor(*unknown, shape).status().code() == epikv::errc::unknown_name);
}

TEST_CASE("no text is too much for it") {
  std::string settings = "preset=none";
  for (int i = 0; i < 32; ++i) settings += " x" + std::to_string(i) + "=1";
  CHECK(refusal(settings).empty());
  CHECK(contains(refusal(settings + " y=1"), "at most 32"));

  const std::string longest = "preset=none" + std::string(epikv::preset_file::max_size - 11, ' ');
  CHECK(refusal(longest).empty());
  CHECK(contains(refusal(longest + " "), "at most 16384 bytes"));
  CHECK(contains(refusal(std::string_view{"preset=none \0", 13}), "name=value"));

  const scratch_file whole{longest};
  CHECK(epikv::preset_file::open(whole.path.c_str()).ok());
  const scratch_file larger{longest + " "};
  CHECK(contains(epikv::preset_file::open(larger.path.c_str()).status().message(), "16384"));
}

TEST_CASE("a file is read like its text") {
  const scratch_file kept{sample};
  const auto file = epikv::preset_file::open(kept.path.c_str());
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  CHECK(file->name() == "epikv-flat");
  CHECK(file->settings().size() == 4);
  CHECK(contains(epikv::preset_file::open("/no/such/file").status().message(), "/no/such/file"));
  const std::string folder = std::filesystem::temp_directory_path().string();
  CHECK_FALSE(epikv::preset_file::open(folder.c_str()).ok());
}
