// SPDX-License-Identifier: Apache-2.0
#include "expr/source.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/text.h"

namespace wgk::expr {
namespace {

bool is_block_mark(char c) { return c == '#' || c == '%' || c == '-'; }

// The last byte of a line terminator, or of some other character.
bool may_end_line(char c) { return c == '\n' || c == '\r' || c == '\xa8' || c == '\xa9'; }

// Bytes of the line terminator that ends before `at` (LF, CR, U+2028, U+2029).
bool is_line_start(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  if (before == '\n' || before == '\r') return true;
  const bool separator = (before == '\xa8' || before == '\xa9') && at >= 3;
  return separator && text[at - 2] == '\x80' && text[at - 3] == '\xe2';
}

struct Tag {
  std::size_t end;  // behind "%}"
  bool strip_before;
  bool strip_after;
};

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t space = space_length(text, at);
    if (space == 0) break;
    at += space;
  }
  return at;
}

// A tag {% generation %} or {% endgeneration %}, with or without dashes, at "{%".
std::optional<Tag> generation_tag(std::string_view text, std::size_t at) {
  Tag tag{};
  at += 2;
  tag.strip_before = at < text.size() && text[at] == '-';
  if (tag.strip_before) ++at;
  at = skip_space(text, at);
  if (text.substr(at).starts_with("end")) at += 3;
  if (!text.substr(at).starts_with("generation")) return std::nullopt;
  at = skip_space(text, at + 10);
  tag.strip_after = at < text.size() && text[at] == '-';
  if (tag.strip_after) ++at;
  if (!text.substr(at).starts_with("%}")) return std::nullopt;
  tag.end = at + 2;
  return tag;
}

}  // namespace

Source::Source(std::string_view original) {
  strip_blocks(original);
  if (text_.find("generation") != std::string::npos) remove_generation_tags();
}

void Source::strip_blocks(std::string_view original) {
  if (original.ends_with('\n')) original.remove_suffix(1);
  text_.reserve(original.size());
  std::size_t at = 0;
  while (at < original.size()) {
    if (is_line_start(original, at)) {
      std::size_t mark = at;
      while (mark < original.size() && (original[mark] == ' ' || original[mark] == '\t')) ++mark;
      const bool block =
          mark + 1 < original.size() && original[mark] == '{' && is_block_mark(original[mark + 1]);
      if (block && mark > at) {
        block_cuts_.push_back({text_.size(), mark - at});
        at = mark;
      }
    }
    // Nothing happens inside of a line.
    std::size_t end = at;
    while (end < original.size() && !may_end_line(original[end])) ++end;
    text_.append(original, at, end - at);
    at = end;
    if (at == original.size()) break;
    const bool after_block = original[at] == '\n' && at >= 2 && original[at - 1] == '}' &&
                             is_block_mark(original[at - 2]);
    if (after_block) {
      block_cuts_.push_back({text_.size(), 1});
    } else {
      text_ += original[at];
    }
    ++at;
  }
}

void Source::remove_generation_tags() {
  const std::string text = std::move(text_);
  text_.clear();
  std::size_t copied = 0;  // everything before it is copied or dropped
  std::size_t used = 0;    // a match cannot begin before it
  std::size_t at = text.find("{%");
  while (at != std::string::npos) {
    const std::optional<Tag> tag = generation_tag(text, at);
    if (!tag) {
      at = text.find("{%", at + 1);
      continue;
    }
    const std::string_view before = std::string_view(text).substr(used, at - used);
    const std::size_t keep = tag->strip_before ? used + trim_end(before).size() : at;
    text_.append(text, copied, keep - copied);
    const std::size_t after = skip_space(text, tag->end);
    copied = tag->strip_after ? after : tag->end;
    tag_cuts_.push_back({text_.size(), copied - keep});
    used = after;
    at = text.find("{%", after);
  }
  text_.append(text, copied);
}

std::size_t Source::original_offset(std::size_t offset) const {
  for (const std::vector<Cut>* cuts : {&tag_cuts_, &block_cuts_}) {
    std::size_t removed = 0;
    for (const Cut& cut : *cuts) {
      if (cut.at > offset) break;
      removed += cut.removed;
    }
    offset += removed;
  }
  return offset;
}

}  // namespace wgk::expr
