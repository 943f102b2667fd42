// SPDX-License-Identifier: MIT
#pragma once

// Programs to run and files to give them.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace mini_test {

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

/// A folder that exists as long as the object does. Tests run side by side, so its name holds the
/// process.
class scratch_folder {
 public:
  explicit scratch_folder(const std::string& name)
      : path_{(std::filesystem::temp_directory_path() /
               ("epikv-" + name + "-" + std::to_string(getpid())))
                  .string()} {
    std::error_code problem;
    std::filesystem::create_directories(path_, problem);
    REQUIRE_MESSAGE(!problem, path_, ": ", problem.message());
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const void* data, std::size_t size) const {
    std::string path = file(name);
    std::ofstream out(path, std::ios::binary);
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    out.close();
    REQUIRE_MESSAGE(static_cast<bool>(out), path);
    return path;
  }

 private:
  std::string path_;
};

struct program_result {
  int exit_status = -1;  // -1: it was killed or never ran
  std::string out;
  std::string err;
};

/// Runs a program with arguments and reads what it prints.
inline program_result run_program(const std::string& program,
                                  const std::vector<std::string>& arguments) {
  const auto quoted = [](const std::string& word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    return text + "'";
  };
  const scratch_folder folder{"program"};
  std::string command = quoted(program);
  for (const std::string& each : arguments) command += " " + quoted(each);
  command += " 2>" + quoted(folder.file("err")) + " </dev/null";

  program_result result;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char chunk[4096];
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) {
    result.out.append(chunk, n);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  result.err = text_of(folder.file("err"));
  return result;
}

}  // namespace mini_test
