// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace report_test {

/// Why `text` is not a well-formed XML document; empty if it is. Knows what charts use: elements,
/// attributes, text and the five named and the decimal references.
inline std::string xml_problem(std::string_view text) {
  std::vector<std::string> open;
  bool root_seen = false;
  std::size_t at = 0;
  const auto name_at = [&text](std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && (std::string_view("-:_.").find(text[end]) != std::string::npos ||
                                 (text[end] >= '0' && text[end] <= '9') ||
                                 ((text[end] | 0x20) >= 'a' && (text[end] | 0x20) <= 'z'))) {
      ++end;
    }
    return std::string(text.substr(from, end - from));
  };
  const auto bad_reference = [&text](std::size_t from) {
    for (const std::string_view each : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (text.substr(from, each.size()) == each) return false;
    }
    return true;
  };
  while (at < text.size()) {
    const auto here = [&at](const std::string& what) { return what + " at " + std::to_string(at); };
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') return here("a control character");
    if (text[at] == '&' && bad_reference(at)) return here("a reference");
    if (text[at] != '<') {
      if (open.empty() && byte != '\n') return here("text outside of the root");
      ++at;
      continue;
    }
    if (text.substr(at, 2) == "</") {
      const std::string name = name_at(at + 2);
      if (open.empty() || open.back() != name) return here("an end of " + name);
      open.pop_back();
      at += 2 + name.size();
      if (text.substr(at, 1) != ">") return here("an end tag that does not end");
      ++at;
      continue;
    }
    const std::string name = name_at(at + 1);
    if (name.empty()) return here("an element without a name");
    if (open.empty() && root_seen) return here("a second root");
    root_seen = true;
    at += 1 + name.size();
    std::vector<std::string> attributes;
    while (text.substr(at, 1) == " ") {
      const std::string attribute = name_at(++at);
      for (const std::string& each : attributes) {
        if (each == attribute) return here("the attribute " + attribute + " again");
      }
      attributes.push_back(attribute);
      at += attribute.size();
      if (attribute.empty() || text.substr(at, 2) != "=\"") return here("an attribute");
      at += 2;
      while (at < text.size() && text[at] != '"') {
        if (text[at] == '<' || (text[at] == '&' && bad_reference(at))) return here("a value");
        ++at;
      }
      ++at;
    }
    if (text.substr(at, 2) == "/>") {
      at += 2;
    } else if (text.substr(at, 1) == ">") {
      ++at;
      open.push_back(name);
    } else {
      return here("a tag that does not end");
    }
  }
  if (!open.empty()) return "no end of " + open.back();
  return root_seen ? "" : "no root";
}

}  // namespace report_test
