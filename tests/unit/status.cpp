// SPDX-License-Identifier: MIT
// A status says what was wrong in one sentence, survives copies, and holds its text inline.
#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "epikv/status.hpp"
#include "epikv/tensor_view.hpp"

using namespace epikv;

namespace {

status wrong_layer() noexcept {
  return {errc::invalid_argument, "layer", detail::short_text{40}, detail::short_text{"0 to ", 31}};
}

status fails_when(bool fail) noexcept {
  EPIKV_RETURN_IF_ERROR(fail ? wrong_layer() : status{});
  return {errc::unsupported, "after", "the call went on", "the error came back first"};
}

// Neither throws nor allocates: the type says so, and tests/allocation counts.
static_assert(std::is_nothrow_copy_constructible_v<status>);
static_assert(std::is_nothrow_copy_assignable_v<status>);
static_assert(std::is_nothrow_default_constructible_v<status>);
static_assert(noexcept(status{errc::unsupported, "a", "b", "c"}));
static_assert(!std::is_convertible_v<status, bool>);  // explicit: no arithmetic on outcomes

TEST_CASE("success is ok, and nothing is at fault") {
  const status outcome;
  CHECK(outcome.ok());
  CHECK(static_cast<bool>(outcome));
  CHECK(outcome.code() == errc::ok);
  CHECK(outcome.argument().empty());
  CHECK(outcome.got().empty());
  CHECK(outcome.expected().empty());
  CHECK(outcome.message() == "ok");
}

TEST_CASE("an error names the argument, what was got and what was expected") {
  const status fixed{errc::missing_signal, "keys", "nothing", "the rows of layer 3"};
  CHECK_FALSE(fixed.ok());
  CHECK_FALSE(static_cast<bool>(fixed));
  CHECK(fixed.code() == errc::missing_signal);
  CHECK(fixed.argument() == "keys");
  CHECK(fixed.got() == "nothing");
  CHECK(fixed.expected() == "the rows of layer 3");
  CHECK(fixed.message() == "missing_signal: keys: got nothing, expected the rows of layer 3");

  CHECK(wrong_layer().message() == "invalid_argument: layer: got 40, expected 0 to 31");
}

TEST_CASE("copies and assignments carry the whole message, in every direction") {
  const status ok;
  const status composed = wrong_layer();
  const status fixed{errc::missing_signal, "keys", "nothing", "the rows"};
  const std::vector<const status*> all{&ok, &composed, &fixed};
  for (const status* from : all) {
    const status copy{*from};
    CHECK(copy.message() == from->message());
    CHECK(copy.argument() == from->argument());
    for (const status* before : all) {
      status target{*before};
      target = *from;
      CHECK(target.code() == from->code());
      CHECK(target.message() == from->message());
      // Also the parts: an error that was overwritten by success must leave no trace.
      CHECK(target.argument() == from->argument());
      CHECK(target.got() == from->got());
      CHECK(target.expected() == from->expected());
    }
  }
  status self = wrong_layer();
  const status& alias = self;
  self = alias;
  CHECK(self.message() == composed.message());
}

TEST_CASE("texts that do not fit are cut and say so") {
  const std::string longer(500, 'x');
  const status outcome{errc::unknown_name, "name", longer, "a name"};
  CHECK(outcome.got() == std::string(117, 'x') + "...");
  // A fixed expectation is a view: it has no limit.
  const std::string list(500, 'y');
  const status listed{errc::unknown_name, "name", "z", list};
  CHECK(listed.expected() == list);
  CHECK(listed.message().size() ==
        std::string{"unknown_name: name: got z, expected "}.size() + 500);
}

TEST_CASE("every code has a name of its own") {
  std::vector<std::string_view> seen;
  for (int code = 0; code <= static_cast<int>(errc::unsupported); ++code) {
    const std::string_view name = to_string(static_cast<errc>(code));
    CHECK(name != "unknown");
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    for (const std::string_view other : seen) CHECK(name != other);
    seen.push_back(name);
  }
  CHECK(to_string(static_cast<errc>(200)) == "unknown");
}

TEST_CASE("the return macro hands on an error and passes success") {
  CHECK(fails_when(true).message() == wrong_layer().message());
  CHECK(fails_when(false).argument() == "after");
}

TEST_CASE("a result holds a value or the status that explains its absence") {
  const result<int> value{7};
  REQUIRE(value.ok());
  CHECK(static_cast<bool>(value));
  CHECK(*value == 7);
  CHECK(value.status().ok());

  const result<int> error{wrong_layer()};
  CHECK_FALSE(error.ok());
  CHECK(error.status().message() == wrong_layer().message());

  result<std::string> text{std::string(100, 'a')};
  CHECK(text->size() == 100);
  *text = "b";
  CHECK(*text == "b");
  const std::string moved = *std::move(text);
  CHECK(moved == "b");

  result<int> copy{value};
  copy = error;
  CHECK(copy.status().message() == error.status().message());
  CHECK_FALSE(copy.ok());
}

TEST_CASE("a result of something that can only be moved hands it out") {
  struct only_moved {
    explicit only_moved(int v) noexcept : value{v} {}
    only_moved(only_moved&& other) noexcept : value{std::exchange(other.value, 0)} {}
    only_moved& operator=(only_moved&&) = delete;
    int value;
  };
  result<only_moved> held{only_moved{5}};
  REQUIRE(held.ok());
  const only_moved out = *std::move(held);
  CHECK(out.value == 5);
}

}  // namespace
