// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace report_test {

/// A path that is there for nobody else; what is at it goes with the object.
class scratch_path {
 public:
  explicit scratch_path(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               ("epikv-report-" + name + "-" + std::to_string(getpid())))
                  .string()) {
    remove();
  }
  scratch_path(const scratch_path&) = delete;
  scratch_path& operator=(const scratch_path&) = delete;
  ~scratch_path() { remove(); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] std::string text() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
  }

  void write(const std::string& text) const {
    std::ofstream out(path_, std::ios::binary);
    out << text;
    out.close();
    REQUIRE(static_cast<bool>(out));
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path_;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace report_test
